package topology

import (
	"fmt"
	"strings"
)

// Generated is a name that Kafka Streams makes when the application gives
// none: a prefix and a number of ten digits, which counts all things of the
// application in the order of the calls (InternalStreamsBuilder's
// newProcessorName and newStoreName). It shifts when a call before it comes or
// goes.
type Generated struct {
	Prefix string // with the dash: "KSTREAM-AGGREGATE-STATE-STORE-"
	Number int
	Suffix string // what follows: "-store", "-repartition", "-topic", "-Buffer", the branch of a split; mostly ""
}

const storeWord = "STATE-STORE-"

// ParseGenerated takes a generated name of a node, a store or a topic without
// application id apart.
func ParseGenerated(name string) (Generated, bool) {
	if rest, ok := strings.CutPrefix(name, branch); ok && len(rest) > 10 {
		return generatedAt(name, len(branch)) // the branch's own name, or 0, 1, … follows at once
	}
	for end := len(name); end >= 11; end = strings.LastIndexByte(name[:end], '-') {
		if g, ok := generatedAt(name, end-10); ok {
			return g, true
		}
	}
	return Generated{}, false
}

// branch begins the names of what an unnamed split() makes
// (KI/BranchedKStreamImpl).
const branch = "KSTREAM-BRANCH-"

// generatedAt takes a name apart whose number begins at a place.
func generatedAt(name string, at int) (Generated, bool) {
	if name[at-1] != '-' {
		return Generated{}, false
	}
	n := 0
	for _, c := range []byte(name[at : at+10]) {
		if c < '0' || c > '9' {
			return Generated{}, false
		}
		n = 10*n + int(c-'0')
	}
	g := Generated{Prefix: name[:at], Number: n, Suffix: name[at+10:]}
	return g, g.IsStore() || g.Operator() != ""
}

// String is the name.
func (g Generated) String() string { return g.Named(g.Number) }

// Named is the name with another number.
func (g Generated) Named(number int) string {
	return fmt.Sprintf("%s%010d%s", g.Prefix, number, g.Suffix)
}

// IsStore says whether a store was given the number, not a processor: then
// naming the store takes the number away from everything behind it.
func (g Generated) IsStore() bool { return strings.HasSuffix(g.Prefix, storeWord) }

// Operator is the operator in the name, "KSTREAM-KEY-SELECT"; "" for the store
// of table(topic) and globalTable(topic), which begins with the topic.
func (g Generated) Operator() string {
	op := strings.TrimRight(strings.TrimSuffix(g.Prefix, storeWord), "-")
	for _, family := range [...]string{"KSTREAM-", "KTABLE-", "COGROUPKSTREAM-"} {
		if word, ok := strings.CutPrefix(op, family); ok && word != "" && capitals(word) {
			return op
		}
	}
	return ""
}

// capitals says whether s is of capital letters and dashes.
func capitals(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return true
}

// Topic is the topic in the name of the store of table(topic) and
// globalTable(topic), else "". Kafka 1.0 made it without a dash.
func (g Generated) Topic() string {
	if g.Suffix != "" || !g.IsStore() || g.Operator() != "" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(g.Prefix, storeWord), "-")
}
