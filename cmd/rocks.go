package cmd

import "sstool/internal/rocks"

// rocksVersion is the version of the RocksDB library linked in, "" when there
// is none.
func rocksVersion() string { return rocks.Version() }
