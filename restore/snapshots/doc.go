// Package snapshots takes state to object storage and back: it reads a state
// directory whose application does not run, or RocksDB checkpoints of stores,
// and pushes whole tasks with their offsets; and it pulls tasks into a state
// directory, from where Kafka Streams replays only the tail.
//
// How a bucket is laid out and why pushes and prunes do not hurt each other is
// in internal/snapshot.
package snapshots
