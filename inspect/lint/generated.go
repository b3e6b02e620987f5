package lint

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/topology"
)

// generated is a generated name as the rules ask it.
type generated struct{ topology.Generated }

const (
	stateStore = "-STATE-STORE-"
	fkStore    = "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"
	fkRegister = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"
)

// parseGenerated reads a generated name of a store, or of a topic without its
// application id.
func parseGenerated(name string) (generated, bool) {
	g, ok := topology.ParseGenerated(name)
	return generated{g}, ok
}

// state says whether the number is a store's own (newStoreName), not a
// processor's.
func (g generated) state() bool { return strings.HasSuffix("-"+g.Prefix, stateStore) }

// isStore says whether a store's name is generated as a whole.
func (g generated) isStore() bool {
	return g.Suffix == "" && g.state() || g.Suffix == "-store" || g.Suffix == "-Buffer"
}

func cutFamily(name string) (rest string, ok bool) {
	for _, f := range []string{"KSTREAM-", "KTABLE-", "COGROUPKSTREAM-"} {
		if rest, ok := strings.CutPrefix(name, f); ok {
			return rest, true
		}
	}
	return name, false
}

// operator is the word between family and number: "AGGREGATE", "FK-JOIN-…";
// "" for the store of table(topic).
func (g generated) operator() string {
	rest, ok := cutFamily(g.Prefix)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(rest, "-"), "-STATE-STORE")
}

// known says whether Kafka Streams 1.0 to 4.4 has such an operator.
func (g generated) known() bool {
	op := g.operator()
	if op == "" || strings.HasPrefix(op, "FK-JOIN-") {
		return true
	}
	return slices.Contains([]string{
		"SOURCE", "SINK", "FILTER", "MAP", "MAPVALUES", "FLATMAP", "FLATMAPVALUES", "KEY-SELECT", "PEEK", "FOREACH", "PROCESSOR", "PROCESSVALUES",
		"TRANSFORM", "TRANSFORMVALUES", "FLATTRANSFORM", "FLATTRANSFORMVALUES", "BRANCH", "BRANCHCHILD", "MERGE", "JOIN", "LEFTJOIN", "OUTERJOIN", "WINDOWED",
		"JOINTHIS", "JOINOTHER", "OUTERTHIS", "OUTEROTHER", "OUTERSHARED", "REDUCE", "AGGREGATE", "REPARTITION", "TOTABLE", "TABLE", "PRINTER", "SELECT", "SUPPRESS", "TOSTREAM",
	}, op)
}

// name is the name with another number.
func (g generated) name(number int) string {
	return fmt.Sprintf("%s%010d%s", g.Prefix, number, g.Suffix)
}

// base is the name without its suffix.
func (g generated) base() string { return fmt.Sprintf("%s%010d", g.Prefix, g.Number) }

// frees is how many numbers of the counter are not taken when the thing is
// named (seen on Kafka 3.9 and 4.4): an unnamed store draws one, a suppression
// one for its processor too, a repartition one; all else draws its number
// whether it is named or not (KI/NamedInternal).
func (g generated) frees() int {
	switch {
	case g.Suffix == "" && g.Prefix == fkStore:
		return 0
	case g.Suffix == "" && g.state() && g.operator() == "SUPPRESS":
		return 2
	case g.Suffix == "" && g.state():
		return 1
	case g.Suffix == repartitionSuffix && g.Prefix == "KSTREAM-REPARTITION-":
		return 1
	}
	return 0
}

// join is the number of the stream-stream join whose store this is: the two
// sides are drawn one after the other, the shared store has the first's number
// (KI/KStreamImplJoin).
func (g generated) join() (number int, ok bool) {
	if g.Suffix != "-store" {
		return 0, false
	}
	switch g.operator() {
	case "JOINTHIS", "OUTERTHIS", "OUTERSHARED":
		return g.Number, true
	case "JOINOTHER", "OUTEROTHER":
		return g.Number - 1, true
	}
	return 0, false
}
