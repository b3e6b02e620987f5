package cmd

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sstool/inspect/lint"
	"sstool/internal/op"
)

// lintConfigName is the file that is looked for.
const lintConfigName = ".sstool-lint.yaml"

// lintConfigs finds the configuration of each text, and reads each file once.
type lintConfigs struct {
	explicit string
	found    map[string]*lint.Config // by file
}

// of is the configuration for a text: the file that was named, or the nearest
// one in the text's directory or above; nil when there is none.
func (l *lintConfigs) of(path string) (*lint.Config, error) {
	if l.explicit != "" {
		return l.load(l.explicit)
	}
	dir := "."
	if path != "-" {
		dir = filepath.Dir(path)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, op.Errorf(op.Failed, "look for %s: %w", lintConfigName, err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		file := filepath.Join(at, lintConfigName)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return l.load(file)
		}
		if at == filepath.Dir(at) {
			return nil, nil
		}
	}
}

func (l *lintConfigs) load(file string) (*lint.Config, error) {
	if c, ok := l.found[file]; ok {
		return c, nil
	}
	f, err := openText("lint configuration", file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, op.Errorf(op.Failed, "lint configuration: %w", err)
	}
	c, err := parseLintConfig(relative(file), b)
	if err != nil {
		return nil, err
	}
	l.found[file] = c
	return c, nil
}

// relative is a path as seen from here, when that is shorter.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
		return filepath.ToSlash(rel)
	}
	return path
}

// lintConfigKeys are the keys of a configuration.
var lintConfigKeys = []string{"rules", "weak-names", "naming", "topology-optimization", "ignore"}

// lintConfigParser walks the YAML itself, so that every complaint has a line.
type lintConfigParser struct{ file string }

func (p lintConfigParser) bad(n *yaml.Node, format string, args ...any) error {
	e := op.Errorf(op.Usage, format, args...)
	return op.Errorf(op.Usage, "%s:%d: %s", p.file, n.Line, e.Error())
}

func parseLintConfig(file string, b []byte) (*lint.Config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, op.Errorf(op.Usage, "%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	c := &lint.Config{File: file, Severities: map[string]lint.Severity{}}
	if len(doc.Content) == 0 {
		return c, nil
	}
	p := lintConfigParser{file}
	err := eachKey(doc.Content[0], p.bad, "the configuration", func(k, v *yaml.Node) error {
		switch k.Value {
		case "rules":
			return p.rules(c, v)
		case "weak-names":
			return p.each(v, k.Value, func(n *yaml.Node) error {
				re, err := p.regexp(n)
				c.WeakNames = append(c.WeakNames, re)
				return err
			}, func() { c.WeakNames = []*regexp.Regexp{} })
		case "naming":
			return p.naming(c, v)
		case "topology-optimization":
			c.Optimization = v.Value
			if v.Value != "all" && v.Value != "none" {
				return p.bad(v, "topology-optimization is all or none, not %q", v.Value)
			}
			return nil
		case "ignore":
			return p.each(v, k.Value, func(n *yaml.Node) error { return p.ignore(c, n) }, func() {})
		}
		return p.bad(k, "unknown key %q; known: %s", k.Value, strings.Join(lintConfigKeys, ", "))
	})
	return c, err
}

// each visits the entries of a list; begin is called first, also for an empty
// one.
func (p lintConfigParser) each(v *yaml.Node, what string, fn func(*yaml.Node) error, begin func()) error {
	if v.Kind != yaml.SequenceNode {
		return p.bad(v, "%s must be a list", what)
	}
	begin()
	for _, n := range v.Content {
		if err := fn(n); err != nil {
			return err
		}
	}
	return nil
}

func (p lintConfigParser) scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", p.bad(n, "%s must be one value", what)
	}
	return n.Value, nil
}

func (p lintConfigParser) regexp(n *yaml.Node) (*regexp.Regexp, error) {
	s, err := p.scalar(n, "a regular expression")
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, p.bad(n, "%q is not a regular expression: %v", s, err)
	}
	return re, nil
}

// rule is a rule's id, from its id or its name.
func (p lintConfigParser) rule(n *yaml.Node) (string, error) {
	r, ok := lint.FindRule(n.Value)
	if !ok {
		return "", p.bad(n, "%s", unknownRule(n.Value).Error())
	}
	return r.ID, nil
}

func (p lintConfigParser) rules(c *lint.Config, v *yaml.Node) error {
	severities := []string{string(lint.Error), string(lint.Warning), string(lint.Info), string(lint.Off)}
	return eachKey(v, p.bad, "rules", func(k, v *yaml.Node) error {
		id, err := p.rule(k)
		if err != nil {
			return err
		}
		s := strings.ToLower(v.Value)
		if !slices.Contains(severities, s) {
			return p.bad(v, "%s must be one of %s, not %q", k.Value, strings.Join(severities, ", "), v.Value)
		}
		c.Severities[id] = lint.Severity(s)
		return nil
	})
}

func (p lintConfigParser) naming(c *lint.Config, v *yaml.Node) error {
	return eachKey(v, p.bad, "naming", func(k, v *yaml.Node) (err error) {
		switch k.Value {
		case "pattern":
			c.Pattern, err = p.regexp(v)
			return err
		case "prefixes":
			return p.each(v, k.Value, func(n *yaml.Node) error {
				s, err := p.scalar(n, "a prefix")
				c.Prefixes = append(c.Prefixes, s)
				return err
			}, func() {})
		}
		return p.bad(k, "unknown key %q of naming; known: pattern, prefixes", k.Value)
	})
}

func (p lintConfigParser) ignore(c *lint.Config, n *yaml.Node) error {
	ig := lint.Ignore{Line: n.Line}
	err := eachKey(n, p.bad, "an ignore", func(k, v *yaml.Node) (err error) {
		value, err := p.scalar(v, k.Value)
		if err != nil {
			return err
		}
		switch k.Value {
		case "rule":
			ig.Rule, err = p.rule(v)
		case "name":
			ig.Name = value
		case "application-id":
			ig.AppID = value
		case "reason":
			ig.Reason = strings.TrimSpace(value)
		case "expires":
			if ig.Expires, err = time.ParseInLocation(time.DateOnly, value, time.Local); err != nil {
				err = p.bad(v, "expires must be a date like 2027-01-31, not %q", value)
			}
		default:
			err = p.bad(k, "unknown key %q of an ignore; known: rule, name, application-id, reason, expires", k.Value)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case ig.Reason == "":
		return p.bad(n, "an ignore needs a reason")
	case ig.Rule == "" && ig.Name == "":
		return p.bad(n, "an ignore needs a rule or a name")
	}
	c.Ignores = append(c.Ignores, ig)
	return nil
}
