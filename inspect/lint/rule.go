package lint

import (
	"cmp"
	"slices"
	"strings"
)

// Severity is how much a finding weighs.
type Severity string

// The severities; Off is only in a configuration.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
	Off     Severity = "off"
)

// weight orders severities, the heaviest first.
func (s Severity) weight() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	case Info:
		return 2
	}
	return 3
}

// AtLeast says whether s weighs as much as o.
func (s Severity) AtLeast(o Severity) bool { return s.weight() <= o.weight() }

// Rule is one entry of the rule table.
type Rule struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"` // in words, for configuration files: "generated-name"
	Severity Severity `json:"severity"`
	Title    string   `json:"title"` // one line
	Why      string   `json:"why"`   // what happens in production
	Fix      string   `json:"fix"`   // in terms of the DSL
	Bad      string   `json:"bad"`   // an example, Java or a topology's text
	Good     string   `json:"good"`  // the same without the finding; "" when the fix says it
	Needs    string   `json:"needs"` // facts beyond the text; "" when the text is enough
}

// Rules is the rule table, in its order.
func Rules() []Rule {
	var out []Rule
	for _, part := range [][]Rule{collisionRules(), generatedRules(), namingRules(), shapeRules(), stateRules()} {
		out = append(out, part...)
	}
	slices.SortStableFunc(out, func(a, b Rule) int { return compareIDs(a.ID, b.ID) })
	return out
}

// compareIDs orders rules by letter, as the package comment lists them, then
// by number.
func compareIDs(a, b string) int {
	const letters = "CNWTPSI"
	return cmp.Or(cmp.Compare(strings.IndexByte(letters, a[0]), strings.IndexByte(letters, b[0])),
		cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// FindRule finds a rule by id or name, in any case.
func FindRule(s string) (Rule, bool) {
	for _, r := range Rules() {
		if strings.EqualFold(r.ID, s) || strings.EqualFold(r.Name, s) {
			return r, true
		}
	}
	return Rule{}, false
}

// What a rule may need beyond the text.
const (
	needsID         = "application id"
	needsSeveral    = "several applications, or a cluster"
	needsPartitions = "partition counts (--topic-partitions or a cluster)"
	needsCluster    = "a cluster"
	needsState      = "a state directory or a cluster"
	needsConfig     = "a naming convention in the configuration"
	needsSample     = "a cluster and --sample-keys"
)
