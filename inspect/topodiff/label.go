package topodiff

import (
	"slices"
	"strings"

	"sstool/internal/topology"
)

// splitName takes the counter out of a name: what is left is comparable
// between versions. number is -1 when a person gave the name.
func splitName(name string) (label string, number int) {
	g, ok := topology.ParseGenerated(name)
	if !ok {
		return name, -1
	}
	return g.Prefix + "#" + g.Suffix, g.Number
}

// operatorOf is the operator in a generated processor name, "KSTREAM-FILTER";
// "" for a name that a person gave.
func operatorOf(label string) string {
	op, rest, ok := strings.Cut(label, "-#")
	if !ok || strings.HasPrefix(rest, "-") {
		return "" // "KSTREAM-AGGREGATE-STATE-STORE-#-repartition-filter"
	}
	return op
}

// The roles of a store: what the operator that keeps it uses it for.
const (
	roleTable        = "KTABLE-SOURCE" // the rows of a topic read as a table
	roleSuppress     = "KTABLE-SUPPRESS"
	roleThis         = "JOINTHIS" // stream-stream join, left
	roleOther        = "JOINOTHER"
	roleShared       = "OUTERSHARED" // what waits for a partner in an outer join
	roleSubscription = "KTABLE-FK-JOIN-SUBSCRIPTION"
	roleBuffer       = "JOIN-BUFFER" // stream-table join with a grace period
)

// givenRoles are the suffixes that operators put behind a name a person gave
// (KI/KStreamImplJoin, KI/KTableImpl, KI/KStreamImpl).
var givenRoles = []struct{ suffix, role string }{
	{"-left-shared-join-store", roleShared},
	{"-outer-shared-join-store", roleShared},
	{"-this-join-store", roleThis},
	{"-other-join-store", roleOther},
	{"-subscription-store", roleSubscription},
	{"-Buffer", roleBuffer},
}

// storeRole tells what a store is for from its label, or from the operators of
// the processors that use it; "" when neither tells.
func storeRole(label string, number int, operators []string) string {
	for _, g := range givenRoles {
		if strings.HasSuffix(label, g.suffix) {
			return g.role
		}
	}
	if number >= 0 {
		switch prefix, rest, _ := strings.Cut(label, "-#"); {
		case rest == "-store" && (strings.HasSuffix(prefix, "JOINTHIS") || strings.HasSuffix(prefix, "OUTERTHIS")):
			return roleThis
		case rest == "-store" && (strings.HasSuffix(prefix, "JOINOTHER") || strings.HasSuffix(prefix, "OUTEROTHER")):
			return roleOther
		case rest == "-store" && strings.HasSuffix(prefix, "OUTERSHARED"):
			return roleShared
		case rest == "" && strings.HasSuffix(prefix, "-STATE-STORE"):
			op := strings.TrimSuffix(prefix, "-STATE-STORE")
			if strings.HasPrefix(op, "KSTREAM-") || strings.HasPrefix(op, "KTABLE-") || strings.HasPrefix(op, "COGROUPKSTREAM-") {
				return op
			}
			return roleTable // "<topic>-STATE-STORE-#"
		}
	}
	var role string
	for _, op := range operators {
		if op == "" || readsOnly(op) || op == role {
			continue
		}
		if role != "" {
			return ""
		}
		role = op
	}
	return role
}

// readsOnly says whether an operator looks into a store that another fills.
func readsOnly(operator string) bool {
	switch operator {
	case "KSTREAM-JOIN", "KSTREAM-LEFTJOIN", "KSTREAM-JOINTHIS", "KSTREAM-JOINOTHER", "KSTREAM-OUTERTHIS", "KSTREAM-OUTEROTHER",
		"KTABLE-JOINTHIS", "KTABLE-JOINOTHER", "KTABLE-TOSTREAM", "KSTREAM-WINDOWED":
		return true
	}
	return strings.HasPrefix(operator, "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE") || operator == "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR"
}

// joins says whether a processor with a name that a person gave looks into the
// other side of a stream-stream join.
func joins(label string) bool {
	return strings.HasSuffix(label, "-this-join") || strings.HasSuffix(label, "-other-join")
}

// keepsForm says whether records leave a node as they came: keys and values
// have the form they had.
func keepsForm(v *vertex) bool {
	if v.kind == source || v.kind == sink {
		return true
	}
	if slices.Contains([]string{"KSTREAM-FILTER", "KSTREAM-PEEK", "KSTREAM-MERGE", "KSTREAM-BRANCH", "KSTREAM-BRANCHCHILD", "KTABLE-TOSTREAM", "KTABLE-FILTER"}, v.role) {
		return true
	}
	return strings.HasSuffix(v.label, "-repartition-filter")
}

// topicRole is what an internal topic is for.
func topicRole(name string) string {
	for _, r := range []struct{ part, role string }{
		{"-repartition", "repartition"},
		{"SUBSCRIPTION-REGISTRATION-", "registration"}, {"-subscription-registration-topic", "registration"},
		{"SUBSCRIPTION-RESPONSE-", "response"}, {"-subscription-response-topic", "response"},
	} {
		if strings.Contains(name, r.part) {
			return r.role
		}
	}
	return ""
}
