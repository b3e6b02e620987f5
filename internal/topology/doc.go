// Package topology reads what Topology#describe() prints, in the forms people
// have it: straight from the program, behind log or container prefixes, in
// comments, as string pieces of a language, inside JSON, as a broker of 4.4
// describes it, or of Kafka 1.0; and prints it again.
//
// It also knows what names in it tell: which are generated, which follow from
// another (names.go, stores.go, operators.go), and which topics an application
// makes (topics.go). Rules about names are in inspect/lint.
//
// A way through: parse.go cuts a text into lines, unwrap.go takes off what is
// around them, line.go says what one line is, parser.go and nodes.go put them
// together, check.go looks for what is missing, results.go keeps what was printed last.
//
// Grammar: PI/InternalTopologyBuilder.TopologyDescription and its nested
// Subtopology, Source, Processor, Sink and GlobalStore, of Kafka 1.0 to 4.4;
// and org.apache.kafka.tools.streams.TopologyDescriptionFormatter.
package topology
