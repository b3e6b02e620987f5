package lint

import (
	"fmt"
	"strings"

	"sstool/internal/topology"
)

// generated is a generated name as the rules ask it.
type generated struct{ topology.Generated }

const (
	fkStore    = "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"
	fkRegister = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"
)

// parseGenerated reads a generated name of a store, or of a topic without its
// application id.
func parseGenerated(name string) (generated, bool) {
	g, ok := topology.ParseGenerated(name)
	return generated{g}, ok
}

// word is the operator without its family: "AGGREGATE", "FK-JOIN-…"; "" for the
// store of table(topic).
func (g generated) word() string {
	_, word, _ := strings.Cut(g.Operator(), "-")
	return word
}

// base is the name without its suffix.
func (g generated) base() string { return fmt.Sprintf("%s%010d", g.Prefix, g.Number) }

// frees is how many numbers of the counter are not taken when the thing is
// named (seen on Kafka 3.9 and 4.4): an unnamed store draws one, a suppression
// one for its processor too, a repartition one; all else draws its number
// whether it is named or not (KI/NamedInternal).
func (g generated) frees() int {
	switch {
	case g.suppression():
		return 2
	case g.Suffix == "" && g.IsStore() && g.Prefix != fkStore:
		return 1
	case g.Suffix == repartitionSuffix && g.Prefix == "KSTREAM-REPARTITION-":
		return 1
	}
	return 0
}

// suppression says whether it is the store of an unnamed suppress().
func (g generated) suppression() bool { return g.Suffix == "" && g.IsStore() && g.word() == "SUPPRESS" }

// join is the number of the stream-stream join whose store this is: the two
// sides are drawn one after the other, the shared store has the first's number
// (KI/KStreamImplJoin).
func (g generated) join() (number int, ok bool) {
	if g.Suffix != "-store" {
		return 0, false
	}
	switch g.word() {
	case "JOINTHIS", "OUTERTHIS", "OUTERSHARED":
		return g.Number, true
	case "JOINOTHER", "OUTEROTHER":
		return g.Number - 1, true
	}
	return 0, false
}
