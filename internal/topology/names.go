package topology

import (
	"strconv"
	"strings"
)

// Generated is a name that Kafka Streams makes when the application gives
// none: a prefix and a number of ten digits, which counts all unnamed things
// of the application (InternalStreamsBuilder.newProcessorName, newStoreName).
// It changes when something before it is added, removed or named.
type Generated struct {
	Prefix string // with the dash: "KSTREAM-AGGREGATE-STATE-STORE-"
	Number int
	Suffix string // what follows: "-store", "-repartition", "-topic", "-changelog"; mostly ""
}

// ParseGenerated takes a generated name of a node, store or topic apart.
func ParseGenerated(name string) (Generated, bool) {
	for end := len(name); end >= 11; {
		start := end - 10
		if name[start-1] == '-' && digits(name[start:end]) {
			n, err := strconv.Atoi(name[start:end])
			g := Generated{Prefix: name[:start], Number: n, Suffix: name[end:]}
			return g, err == nil && g.made()
		}
		end = strings.LastIndexByte(name[:end], '-')
	}
	return Generated{}, false
}

// made says whether the words around the number are Kafka Streams' own.
func (g Generated) made() bool {
	if strings.HasSuffix("-"+g.Prefix, "-STATE-STORE-") { // of a table: its topic stands before
		return true
	}
	for _, family := range [...]string{"KSTREAM-", "KTABLE-", "COGROUPKSTREAM-"} {
		if rest, ok := strings.CutPrefix(g.Prefix, family); ok && rest != "" {
			return strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
		}
	}
	return false
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// internalName says whether a topic has the name that Kafka Streams gives a
// repartition or foreign-key topic, without the application id.
func internalName(topic string) bool {
	for _, s := range [...]string{"-repartition", "-subscription-registration-topic", "-subscription-response-topic"} {
		if strings.HasSuffix(topic, s) {
			return true
		}
	}
	return strings.HasPrefix(topic, "KTABLE-FK-JOIN-SUBSCRIPTION-") && strings.HasSuffix(topic, "-topic")
}
