package demo

import (
	"fmt"
	"strings"
)

// Topology is the application's topology as Topology#describe() prints it.
func Topology() string {
	var b strings.Builder
	b.WriteString("Topologies:\n")
	for i, s := range stores() {
		source, work := fmt.Sprintf("read-%s", s.name), s.name+"-processor"
		fmt.Fprintf(&b, "   Sub-topology: %d\n    Source: %s (topics: [%s])\n      --> %s\n", i, source, topics()[i], work)
		fmt.Fprintf(&b, "    Processor: %s (stores: [%s])\n      --> none\n      <-- %s\n\n", work, s.name, source)
	}
	return b.String()
}

// topics are what the sub-topologies read.
func topics() []string {
	return []string{"payments", "orders", "card-payments", "clicks", "price-changes"}
}
