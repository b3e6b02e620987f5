// Package inspect answers questions about state without changing it: what
// stores lie on disk and in which condition (the map), what their files,
// tombstones and levels look like, and what their changelogs hold in Kafka.
//
// Find walks from any path to applications, tasks, stores and databases; every
// command that takes a PATH begins there. The results are the JSON documents.
// Nothing here takes a lock, creates a file or touches one: an application may
// run on the directory meanwhile, and what is still in its memory is not seen.
//
// What does not live here: the formats of RocksDB (lsm) and of Kafka Streams
// (streams), how a store's kind is told (spec), and anything that changes state
// (restore, migrate).
package inspect
