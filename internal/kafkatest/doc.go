// Package kafkatest runs a Kafka cluster inside the process and fills it with
// records: for the tests of other packages and for `sstool demo`.
//
// The cluster is franz-go's kfake: real TCP, real record batches, transactions,
// SASL, ACLs and fault injection, nothing on disk. Not here: anything that
// reads records, which is package kafka.
package kafkatest
