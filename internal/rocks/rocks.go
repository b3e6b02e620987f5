// Package rocks is the only cgo in sstool: it writes and opens RocksDB stores
// with the options Kafka Streams uses, and writes sorted SST files. It owns
// every native handle and frees it in Close.
//
// It knows nothing of what keys and values mean (internal/streams) and is not
// how stores are inspected (internal/lsm, which needs no cgo). Without cgo
// every function here returns an error that says so.
package rocks

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"sstool/internal/op"
)

// DefaultFamily is the column family every RocksDB has.
const DefaultFamily = "default"

// Options says how a store is opened.
type Options struct {
	// Families are the column families the caller works with; their positions
	// are the family numbers of Put, Get and the others. Families that do not
	// exist are created. Empty means "default" alone for Create and, for
	// Open, all that exist in the order RocksDB lists them.
	Families []string

	// Checksum protects the blocks of SST files; the zero value is readable by
	// every supported version.
	Checksum Checksum

	// Compression is what is written, by RocksDB's name ("kLZ4Compression");
	// "" is none, as Kafka Streams has it.
	Compression string

	// Bulk is for a store that is filled by Ingest and read by nobody here:
	// the block cache Kafka Streams gives each store is left out.
	Bulk bool

	// NoCompaction leaves the files that are there alone.
	NoCompaction bool
}

// Checksum is the kind of checksum of SST blocks.
type Checksum int

// The rocksdbjni library has no hardware CRC32c: XXH3 costs it a tenth, which
// is a third of all it takes to write a small row. Kafka Streams itself writes
// CRC32c up to 3.9 and XXH3 from 4.0 on.
const (
	CRC32C Checksum = iota // readable by every version, 3.0 the oldest here
	XXH3                   // readable by Kafka Streams 3.2 and newer (RocksDB 6.27)
)

// name is the value of RocksDB's option "checksum".
func (c Checksum) name() string {
	if c == XXH3 {
		return "kXXH3"
	}
	return "kCRC32c"
}

// Ref is one row of an arena: where its key and its value lie. An odd Order
// deletes the key; what else Group and Order say is the sorter's.
type Ref struct{ KeyOff, KeyLen, ValOff, ValLen, Group, Order uint32 }

// PutRows is w.PutSorted for another package's type of the same layout, so that
// sorted rows are handed over without copying them.
func PutRows[R ~struct{ KeyOff, KeyLen, ValOff, ValLen, Group, Order uint32 }](w *SSTWriter, arena []byte, rows []R) error {
	return w.PutSorted(arena, unsafe.Slice((*Ref)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)))
}

// SSTInfo is what Finish knows about a written file.
type SSTInfo struct {
	Path              string
	Entries           int64
	Size              int64  // bytes on disk
	Smallest, Largest []byte // keys
}

// exists says whether dir holds a RocksDB: CURRENT is written last when one is
// created and names the live MANIFEST.
func exists(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, "CURRENT"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// optionString is the store configuration of Kafka Streams
// (RocksDBStore.openDB) in RocksDB's own notation. The one source for stores
// and for SST files alike: an SST written with anything else would be rewritten
// or, worse, not be readable by the application.
//
// Kafka Streams never sets format_version or the checksum, so they follow the
// rocksdbjni it ships; format 5 is what every version from 3.0 on reads.
// Everything not named is RocksDB's default, as it is for Kafka Streams: also
// optimize_filters_for_hits, which RocksDBStore only reads.
func optionString(o Options) string {
	table := "block_size=4096;filter_policy=bloomfilter:10:false;format_version=5;checksum=" + o.Checksum.name()
	if o.Bulk {
		table += ";block_cache=1M"
	} else {
		table += ";block_cache=50M"
	}
	options := []string{
		"create_if_missing=true",
		"create_missing_column_families=true",
		"info_log_level=ERROR_LEVEL",
		"compression=" + cmp.Or(o.Compression, "kNoCompression"),
		"compaction_style=kCompactionStyleUniversal",
		"write_buffer_size=16777216",
		"max_write_buffer_number=3",
		"block_based_table_factory={" + table + "}",
	}
	if o.NoCompaction {
		options = append(options, "disable_auto_compactions=true")
	}
	return strings.Join(options, ";")
}

// merge puts the families the caller asked for first and what exists besides
// after them.
func merge(asked, existing []string) []string {
	names := append([]string(nil), asked...)
	seen := make(map[string]bool, len(asked))
	for _, n := range asked {
		seen[n] = true
	}
	// RocksDB insists on "default" being opened.
	for _, n := range append([]string{DefaultFamily}, existing...) {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// errClosed is the answer to any use after Close.
func errClosed(dir string) error {
	return &op.Error{Kind: op.Failed, What: "RocksDB " + dir, Err: errors.New("is closed")}
}
