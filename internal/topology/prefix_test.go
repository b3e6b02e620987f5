package topology

import (
	"strings"
	"testing"
)

// TestPrefixOfApplication reads kafka-streams-groups.sh --describe --topology:
// what a running application hands to its brokers has full names.
func TestPrefixOfApplication(t *testing.T) {
	text := func(topic string) string {
		return strings.ReplaceAll(`Topologies:
   Sub-topology: 0
    Source: s (topics: [orders-in])
      --> k
    Sink: k (topic: TOPIC)
      <-- s

   Sub-topology: 1
    Source: r (topics: [TOPIC])
      --> a
    Processor: a (stores: [orders-x])
      --> none
      <-- r
`, "TOPIC", topic)
	}
	for _, c := range []struct{ id, topic, want string }{
		{"orders", "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition", "KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"},
		{"orders", "orders-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"},
		{"orders", "orders-by-user-repartition", "by-user-repartition"},
		{"orders", "by-user-repartition", "by-user-repartition"},
		{"orders", "orders-passed-on", "orders-passed-on"}, // the application's own
		{"orders", "orders-repartition", "orders-repartition"},
		{"", "orders-by-user-repartition", "orders-by-user-repartition"},
	} {
		m, err := ParseText(text(c.topic), Options{ApplicationID: c.id})
		if err != nil {
			t.Fatal(err)
		}
		nodes := m.Topologies[0].Index()
		if got := nodes["k"].Topics[0]; got != c.want || nodes["r"].Topics[0] != c.want || nodes["s"].Topics[0] != "orders-in" {
			t.Errorf("%s of %q: %s, want %s", c.topic, c.id, got, c.want)
		}
	}
}
