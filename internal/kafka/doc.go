// Package kafka is everything sstool knows about talking to a Kafka cluster,
// and the only package that imports franz-go.
//
// Here: client configuration from Java client properties (properties.go,
// jaas.go, tls.go), the way to a broker and what a person should look at when
// there is none (bootstrap.go, dial.go, hints.go), facts about topics, offsets,
// groups and transactions (topics.go, groups.go, txns.go), the raw reader of one
// partition (reader.go) and the decoder of record batches (decode.go, codec.go);
// and what writes: the producer (produce*.go), topics, group offsets
// and ACLs (topicadmin.go, groupoffsets.go, acls.go).
//
// Not here: what a changelog record means to a store (package streams), and
// any policy about null keys, expired records or what to do when the log start
// moves: readers report, engines decide.
package kafka
