//go:build unix

package lint

import (
	"fmt"
	"strings"
	"testing"

	"sstool/internal/op/optest"
	"sstool/internal/topology"
)

// shape is a topology that grows, and the partitions of its topics.
type shape struct {
	text       strings.Builder
	partitions map[string]Topic
}

func (s *shape) sub(id int) { fmt.Fprintf(&s.text, "  Sub-topology: %d\n", id) }

func (s *shape) source(name string, next []string, topics ...string) {
	fmt.Fprintf(&s.text, "    Source: %s (topics: [%s])\n      --> %s\n", name, strings.Join(topics, ", "), orNone(next))
}

func (s *shape) processor(name string, stores, prev, next []string) {
	fmt.Fprintf(&s.text, "    Processor: %s (stores: [%s])\n      --> %s\n      <-- %s\n", name, strings.Join(stores, ", "), orNone(next), orNone(prev))
}

func (s *shape) sink(name, topic string, prev ...string) {
	fmt.Fprintf(&s.text, "    Sink: %s (topic: %s)\n      <-- %s\n", name, topic, orNone(prev))
}

// topic notes that a topic has so many partitions.
func (s *shape) topic(name string, partitions int) string {
	s.partitions[name], s.partitions["app-"+name] = Topic{Partitions: partitions}, Topic{Partitions: partitions}
	return name
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func numbered(op string, n int) string { return fmt.Sprintf("%s-%010d", op, n) }

// shapes are what once took the square of their size.
var shapes = map[string]func(s *shape, n int){
	// n foreign-key joins of two tables, each with its own source, or all
	// behind one.
	"foreign keys":                   func(s *shape, n int) { foreignKeys(s, n, false) },
	"foreign keys behind one source": func(s *shape, n int) { foreignKeys(s, n, true) },
	// n repartition topics that are merged one after the other.
	"merges": func(s *shape, n int) {
		s.sub(0)
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprint("K", i))
		}
		s.source("S", keys, s.topic("in", 4))
		for i, k := range keys {
			s.processor(k, nil, []string{"S"}, []string{fmt.Sprint("O", i)})
			s.sink(fmt.Sprint("O", i), s.topic(numbered("KSTREAM-KEY-SELECT", i)+"-repartition", 4+i%2), k)
		}
		s.sub(1)
		for i := range n {
			at := fmt.Sprint("M", i)
			s.source(fmt.Sprint("I", i), []string{at}, numbered("KSTREAM-KEY-SELECT", i)+"-repartition")
			prev := []string{fmt.Sprint("I", i)}
			if i > 0 {
				prev = append(prev, fmt.Sprint("M", i-1))
			}
			if i < n-1 {
				s.processor(at, nil, prev, []string{fmt.Sprint("M", i+1)})
			} else {
				s.processor(at, []string{"end"}, prev, nil)
			}
		}
	},
	// n sources, each with its aggregation, and a store that all have.
	"one store": func(s *shape, n int) {
		s.sub(0)
		for i := range n {
			at, topic := numbered("KSTREAM-AGGREGATE", 2*i+1), fmt.Sprint("in", i)
			s.source(fmt.Sprint("S", i), []string{at}, s.topic(topic, 4+i%2))
			store := numbered("KSTREAM-AGGREGATE-STATE-STORE", 2*i)
			s.topic(store+"-changelog", 4)
			s.processor(at, []string{store, "shared"}, []string{fmt.Sprint("S", i)}, nil)
		}
	},
}

func foreignKeys(s *shape, n int, one bool) {
	const join = "KTABLE-FK-JOIN-SUBSCRIPTION-"
	var left, right, first, topics []string
	for i := range n {
		left, right = append(left, fmt.Sprint("R", i)), append(right, fmt.Sprint("C", i))
		first, topics = append(first, fmt.Sprint("A", i)), append(topics, s.topic(numbered(join+"REGISTRATION", 10*i)+"-topic", 4))
	}
	s.sub(0)
	s.source("S0", []string{"T0"}, s.topic("left", 4))
	s.processor("T0", []string{"left-table"}, []string{"S0"}, left)
	for i, r := range left {
		s.processor(r, nil, []string{"T0"}, []string{"W" + r})
		s.sink("W"+r, topics[i], r)
		s.source("Q"+r, []string{"Z" + r}, s.topic(numbered(join+"RESPONSE", 10*i+1)+"-topic", 4))
		s.processor("Z"+r, []string{"left-table"}, []string{"Q" + r}, nil)
	}
	s.sub(1)
	s.source("S1", []string{"T1"}, s.topic("right", 4))
	s.processor("T1", []string{"right-table"}, []string{"S1"}, right)
	if one {
		s.source("I", first, topics...)
	}
	for i := range n {
		from := "I"
		if !one {
			from = fmt.Sprint("I", i)
			s.source(from, first[i:i+1], topics[i])
		}
		store, sink := numbered(join+"STATE-STORE", 10*i+2), fmt.Sprint("O", i)
		s.topic(store+"-changelog", 4+i%2)
		s.processor(first[i], []string{store}, []string{from}, []string{fmt.Sprint("B", i)})
		s.processor(fmt.Sprint("B", i), []string{"right-table"}, first[i:i+1], []string{sink})
		s.processor(right[i], []string{store}, []string{"T1"}, []string{sink})
		s.sink(sink, numbered(join+"RESPONSE", 10*i+1)+"-topic", fmt.Sprint("B", i), right[i])
	}
}

// TestLinear lints topologies that rules once walked through for each of their
// parts.
func TestLinear(t *testing.T) {
	for name, build := range shapes {
		t.Run(name, func(t *testing.T) {
			optest.Linear(t, 1000, func(n int) func() {
				s := shape{partitions: map[string]Topic{}}
				s.text.WriteString("Topologies:\n")
				build(&s, n)
				m, err := topology.ParseText(s.text.String(), topology.Options{})
				if err != nil {
					t.Fatal(err)
				}
				o := Options{Inputs: []Input{{AppID: "app", Topologies: m.Topologies}}, Facts: &Facts{Topics: s.partitions, From: "a test"}}
				return func() {
					if res, err := Lint(t.Context(), o); err != nil || len(res.Applications) != 1 {
						t.Fatal(res, err)
					}
				}
			})
		})
	}
}
