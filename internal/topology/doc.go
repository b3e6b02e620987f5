// Package topology reads what Topology#describe() prints, in the forms people
// have it: straight from the program, behind log or container prefixes, in
// comments, as string pieces of a language, inside JSON, or of Kafka 1.0.
//
// It knows the text and nothing of what follows from it: changelog names are
// in streams, rules about names in inspect/lint.
//
// Grammar: PI/InternalTopologyBuilder.TopologyDescription and its nested
// Subtopology, Source, Processor, Sink and GlobalStore.
package topology
