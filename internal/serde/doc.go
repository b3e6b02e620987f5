// Package serde turns the bytes of keys and values into what a person reads,
// and what a person types back into bytes, exactly as Kafka's own serializers
// write them (org.apache.kafka.common.serialization,
// org.apache.kafka.streams.kstream.{TimeWindowed,SessionWindowed}Serializer).
//
// Here: the serdes by name (Parse), JSON that is safe on a terminal
// (AppendJSON, Text), guessing where bytes make it evident (Guesser), jq
// expressions over decoded rows (Query), and the partition that Kafka's
// default partitioner gives a key (Partition).
//
// Not here: how a store lays out its rows (streams). Serdes that ask a schema
// registry can be given to Parse as a Factory.
package serde
