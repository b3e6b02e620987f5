package topodiff

import (
	"slices"
	"strings"

	"sstool/internal/topology"
)

// splitName takes the counter out of a name: what is left is comparable
// between versions. number is -1 when a person gave the name. operator is that
// of a processor without a name of its own.
func splitName(name string) (label, operator string, number int) {
	g, ok := topology.ParseGenerated(name)
	if !ok {
		return name, "", -1
	}
	if !g.IsStore() && g.Suffix == "" {
		operator = g.Operator()
	}
	return g.Prefix + "#" + g.Suffix, operator, g.Number
}

// tableSource is the role of the rows of a topic that is read as a table.
const tableSource = "KTABLE-SOURCE"

// storeRole says what a store is for: a role of its name, or the operator that
// fills it; "" when neither tells. source is the topic of a table's store.
func storeRole(name, source string, processors, operators []string) string {
	known := topology.ParseStoreName(name, processors)
	switch known.Role {
	case topology.JoinThis, topology.JoinOther, topology.JoinShared, topology.FKSubscription, topology.GraceBuffer:
		return string(known.Role)
	case topology.Suppression:
		if known.Generated { // "count-store" beside "count" need not be one
			return string(known.Role)
		}
	}
	if source != "" || slices.Contains(operators, tableSource) {
		return tableSource
	}
	var role string
	for _, op := range operators {
		if op == "" || readsOnly(op) || op == role {
			continue
		}
		if role != "" {
			role = "" // several fill it
			break
		}
		role = op
	}
	if role != "" || !known.Generated {
		return role
	}
	op, _ := topology.OperatorOf(name)
	return op.Name
}

// readsOnly says whether an operator looks into a store that another fills.
func readsOnly(operator string) bool {
	switch operator {
	case "KSTREAM-JOIN", "KSTREAM-LEFTJOIN", "KSTREAM-JOINTHIS", "KSTREAM-JOINOTHER", "KSTREAM-OUTERTHIS", "KSTREAM-OUTEROTHER",
		"KTABLE-JOINTHIS", "KTABLE-JOINOTHER", "KTABLE-TOSTREAM", "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR", "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR":
		return true
	}
	return false
}

// joins says whether a processor with a name that a person gave looks into the
// other side of a stream-stream join.
func joins(name string) bool {
	return strings.HasSuffix(name, "-this-join") || strings.HasSuffix(name, "-other-join")
}

// keepsForm says whether records leave a node as they came: keys and values
// have the form they had.
func keepsForm(v *vertex) bool {
	if v.kind == source || v.kind == sink {
		return true
	}
	return slices.Contains([]string{"KSTREAM-FILTER", "KSTREAM-PEEK", "KSTREAM-MERGE", "KSTREAM-BRANCH", "KSTREAM-BRANCHCHILD", "KTABLE-TOSTREAM", "KTABLE-FILTER"}, v.role) ||
		strings.HasSuffix(v.name, "-repartition-filter")
}

// waits says whether a role's rows are results that are still to come.
func waits(role string) bool {
	return role == string(topology.Suppression) || role == string(topology.GraceBuffer) || role == string(topology.JoinShared)
}
