//go:build !cgo

package rocks

import (
	"time"

	"sstool/internal/op"
)

// errNoCgo is the answer of every function of this file.
func errNoCgo() error {
	return op.Errorf(op.Failed, "this sstool was built without RocksDB").WithTry("build it with cgo: make build")
}

// Version is "" because no RocksDB is linked.
func Version() string { return "" }

// DB cannot be opened without cgo.
type DB struct{}

// Create fails without cgo.
func Create(string, Options) (*DB, error) { return nil, errNoCgo() }

// Open fails without cgo.
func Open(string, Options) (*DB, error) { return nil, errNoCgo() }

// Families fails without cgo; internal/lsm reads them from the MANIFEST.
func Families(string) ([]string, error) { return nil, errNoCgo() }

// Close does nothing.
func (*DB) Close() error { return nil }

// Dir is "".
func (*DB) Dir() string { return "" }

// Families is empty.
func (*DB) Families() []string { return nil }

// Flush fails without cgo.
func (*DB) Flush() error { return errNoCgo() }

// StallTime fails without cgo.
func (*DB) StallTime() (time.Duration, error) { return 0, errNoCgo() }

// CompactRange fails without cgo.
func (*DB) CompactRange() error { return errNoCgo() }

// WaitForCompact fails without cgo.
func (*DB) WaitForCompact() error { return errNoCgo() }

// Get fails without cgo.
func (*DB) Get(int, []byte) ([]byte, bool, error) { return nil, false, errNoCgo() }

// Iterate fails without cgo.
func (*DB) Iterate(int, func(key, value []byte) error) error { return errNoCgo() }

// Ingest fails without cgo.
func (*DB) Ingest(int, []string) error { return errNoCgo() }

// Batch returns an empty batch.
func (*DB) Batch() *Batch { return &Batch{} }

// Write fails without cgo.
func (*DB) Write(*Batch) error { return errNoCgo() }

// Batch holds nothing without cgo.
type Batch struct{}

// Put does nothing.
func (*Batch) Put(int, []byte, []byte) {}

// Delete does nothing.
func (*Batch) Delete(int, []byte) {}

// Count is 0.
func (*Batch) Count() int { return 0 }

// Bytes is 0.
func (*Batch) Bytes() int { return 0 }

// Close does nothing.
func (*Batch) Close() {}

// SSTWriter cannot be made without cgo.
type SSTWriter struct{}

// NewSSTWriter fails without cgo.
func NewSSTWriter(string) (*SSTWriter, error) { return nil, errNoCgo() }

// NewSSTWriterWith fails without cgo.
func NewSSTWriterWith(string, Options) (*SSTWriter, error) { return nil, errNoCgo() }

// PutSorted fails without cgo.
func (*SSTWriter) PutSorted([]byte, []Ref) error { return errNoCgo() }

// Put fails without cgo.
func (*SSTWriter) Put([]byte, []byte) error { return errNoCgo() }

// Entries is 0.
func (*SSTWriter) Entries() int64 { return 0 }

// Size is 0.
func (*SSTWriter) Size() int64 { return 0 }

// Finish fails without cgo.
func (*SSTWriter) Finish() (SSTInfo, error) { return SSTInfo{}, errNoCgo() }

// Abandon does nothing.
func (*SSTWriter) Abandon() {}
