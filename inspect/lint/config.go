package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config is a configuration file's content, read by whoever knows YAML. Nil
// and the zero value are the defaults.
type Config struct {
	File         string
	Severities   map[string]Severity // by rule id; Off disables
	WeakNames    []*regexp.Regexp    // nil: DefaultWeakNames
	Pattern      *regexp.Regexp      // of the naming convention; nil: none
	Prefixes     []string            // of the naming convention: one of them
	Optimization string              // topology.optimization: "all", "none", or "" when nobody told it
	Ignores      []Ignore
}

// Ignore accepts findings.
type Ignore struct {
	Rule    string // id; "" for any
	Name    string // of the subject, * and ? allowed; "" for any
	AppID   string // "" for any
	Reason  string
	Expires time.Time // the last day it holds; zero: for ever
	Line    int
}

// DefaultWeakNames are names that say nothing, unless weak-names says which
// are: a word for "state" with or without a number, and what looks generated.
func DefaultWeakNames() []string {
	return []string{
		`(?i)^(my|the|a|some|new|old|foo|bar|baz|test|temp|tmp|dummy|example|sample|demo|unnamed|untitled)([-_.]?(state|data|kv|key-?value|window|session))?[-_.]?(store|table|agg|aggregate|count|counts|state|topic|stream|name)?s?[-_.]?\d*$`,
		`(?i)^(state|data|kv|key-?value|window|session)?[-_.]?(store|table|agg|aggregate|count|state|cache|db)s?[-_.]?\d*$`,
		`^(KSTREAM|KTABLE|COGROUPKSTREAM)-`,
	}
}

// severity is what the configuration makes of a rule's severity.
func (c *Config) severity(rule Rule, s Severity) Severity {
	if c == nil {
		return s
	}
	if set, ok := c.Severities[rule.ID]; ok {
		return set
	}
	return s
}

func (c *Config) optimized() string {
	if c == nil {
		return ""
	}
	return c.Optimization
}

func (c *Config) weakNames() []*regexp.Regexp {
	if c != nil && c.WeakNames != nil {
		return c.WeakNames
	}
	var out []*regexp.Regexp
	for _, s := range DefaultWeakNames() {
		out = append(out, regexp.MustCompile(s))
	}
	return out
}

// follows says whether a name follows the convention; broken is what it breaks.
func (c *Config) follows(name string) (broken string, ok bool) {
	if c == nil {
		return "", true
	}
	if len(c.Prefixes) > 0 && !slices.ContainsFunc(c.Prefixes, func(p string) bool { return strings.HasPrefix(name, p) && len(name) > len(p) }) {
		return "begins with none of " + strings.Join(c.Prefixes, ", "), false
	}
	if c.Pattern != nil && !c.Pattern.MatchString(name) {
		return fmt.Sprintf("does not match %s", c.Pattern), false
	}
	return "", true
}

// expired says whether the last day is over.
func (i Ignore) expired(now time.Time) bool {
	return !i.Expires.IsZero() && !now.Before(i.Expires.AddDate(0, 0, 1))
}

func (i Ignore) matches(f *Finding) bool {
	if i.Rule != "" && i.Rule != f.Rule || i.AppID != "" && i.AppID != f.App {
		return false
	}
	if i.Name == "" {
		return true
	}
	ok, err := path.Match(i.Name, f.Subject)
	return i.Name == f.Subject || err == nil && ok
}
