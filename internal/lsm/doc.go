// Package lsm reads RocksDB databases without RocksDB: SST files, MANIFEST and
// OPTIONS, in pure Go, from disk only.
//
// It verifies (every block's checksum, every key rebuilt and in order, entry
// counts against the properties), says which files and column families are
// live, and iterates the rows of one family as RocksDB would show them. It
// never writes, never creates a file and never touches LOCK, so it may read a
// database that an application has open; what is still in that application's
// memtables it cannot see.
//
// What does not live here: the meaning of keys and values (streams, serde),
// writing (rocks), and the WAL, which Kafka Streams does not use.
//
// Formats: RocksDB's table/format.cc, table/block_based/*, db/version_edit.cc,
// db/version_builder.cc, db/log_format.h and options/options_parser.cc, format
// versions 0 to 7.
package lsm
