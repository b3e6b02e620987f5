//go:build cgo

package rocks

import (
	"github.com/linxGnu/grocksdb"

	"sstool/internal/op"
)

// Batch collects rows that are written together, as Kafka Streams writes the
// records of one poll (RocksDBStore.restoreBatch). It belongs to one goroutine
// and must be closed. It copies what it is given.
type Batch struct {
	d     *DB
	wb    *grocksdb.WriteBatch // nil when closed
	count int
	err   error // of the first row that could not be added; Write reports it
}

// Batch starts an empty batch.
func (d *DB) Batch() *Batch { return &Batch{d: d, wb: grocksdb.NewWriteBatch()} }

// Put adds a row.
func (b *Batch) Put(family int, key, value []byte) {
	if b.check(family) {
		b.wb.PutCF(b.d.cfs[family], key, value)
		b.count++
		b.d.mu.RUnlock()
	}
}

// Delete adds the deletion of a row.
func (b *Batch) Delete(family int, key []byte) {
	if b.check(family) {
		b.wb.DeleteCF(b.d.cfs[family], key)
		b.count++
		b.d.mu.RUnlock()
	}
}

// check takes the store's read lock when a row can be added.
func (b *Batch) check(family int) bool {
	switch err := b.d.family(family); {
	case b.err != nil:
		return false
	case err != nil:
		b.err = err
		return false
	case b.wb == nil:
		b.err = op.Errorf(op.Failed, "batch for RocksDB %s is closed", b.d.dir)
		return false
	}
	b.err = b.d.use()
	return b.err == nil
}

// Count is the number of rows added since the last Write.
func (b *Batch) Count() int { return b.count }

// Bytes is the size of the batch as RocksDB counts it.
func (b *Batch) Bytes() int {
	if b.wb == nil {
		return 0
	}
	return len(b.wb.Data())
}

// Close frees the batch; a second Close does nothing.
func (b *Batch) Close() {
	if b.wb != nil {
		b.wb.Destroy()
		b.wb = nil
	}
}

// Write applies the batch without the write-ahead log and empties it for the
// next rows.
func (d *DB) Write(b *Batch) error {
	if b.err != nil {
		return b.err
	}
	if b.count == 0 {
		return nil
	}
	if b.d != d || b.wb == nil {
		return op.Errorf(op.Failed, "batch does not belong to RocksDB %s or is closed", d.dir)
	}
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	if err := d.db.Write(d.write, b.wb); err != nil {
		return wrap(err, "write to RocksDB "+d.dir, d.dir)
	}
	b.wb.Clear()
	b.count = 0
	return nil
}
