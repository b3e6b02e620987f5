// Package streams holds the facts of Kafka Streams' state: which kinds of
// store there are, where their files lie, what a changelog record becomes as a
// row of RocksDB, how topics are called, where offsets are kept. Everything
// here is pure: bytes and names in, bytes and names out; the only files it
// touches are .checkpoint and .position.
//
// What does not live here: opening databases (internal/rocks, internal/lsm),
// talking to Kafka (internal/kafka), turning keys and values into something a
// person reads (internal/serde), and the decisions of a restore (restore).
//
// Facts name the class of Apache Kafka they come from; SI stands for
// org.apache.kafka.streams.state.internals, PI for
// org.apache.kafka.streams.processor.internals.
package streams
