//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/op"
)

// DB is an open store. Its methods may be called from several goroutines;
// after Close they return an error.
type DB struct {
	dir   string
	names []string

	mu    sync.RWMutex // held for reading during every native call: Close waits for them
	db    *grocksdb.DB // nil when closed
	cfs   []*grocksdb.ColumnFamilyHandle
	write *grocksdb.WriteOptions
	read  *grocksdb.ReadOptions
	flush *grocksdb.FlushOptions
	opts  *grocksdb.Options
}

// Create makes a new store in dir, which may exist but must not hold one.
func Create(dir string, o Options) (*DB, error) {
	what := "create RocksDB " + dir
	there, err := exists(dir)
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: what, Err: err}
	}
	if there {
		return nil, &op.Error{Kind: op.Precondition, What: what, Err: errors.New("there is one already")}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, wrap(err, what, dir)
	}
	return open(dir, what, o, nil)
}

// Open opens the store in dir with all the column families it has; those of
// o.Families that it lacks are created, as Kafka Streams does.
func Open(dir string, o Options) (*DB, error) {
	existing, err := Families(dir)
	if err != nil {
		return nil, err
	}
	return open(dir, "open RocksDB "+dir, o, existing)
}

// Families lists the column families of the store in dir, in the order they
// were created. It takes no lock.
func Families(dir string) ([]string, error) {
	what := "list column families of RocksDB " + dir
	there, err := exists(dir)
	if err != nil {
		return nil, wrap(err, what, dir)
	}
	if !there {
		return nil, &op.Error{Kind: op.NotFound, What: what, Err: errors.New("there is no RocksDB (no file CURRENT)")}
	}
	opts := grocksdb.NewDefaultOptions()
	defer opts.Destroy()
	names, err := grocksdb.ListColumnFamilies(opts, dir)
	return names, wrap(err, what, dir)
}

func open(dir, what string, o Options, existing []string) (*DB, error) {
	opts, err := grocksdb.GetOptionsFromString(nil, optionString(o))
	if err != nil {
		return nil, wrap(err, what, dir)
	}
	// As RocksDBStore: at least two. GOMAXPROCS follows CPU limits of a
	// container as availableProcessors does.
	opts.IncreaseParallelism(max(runtime.GOMAXPROCS(0), 2))
	names := merge(o.Families, existing)
	cfOpts := make([]*grocksdb.Options, len(names))
	for i := range cfOpts {
		cfOpts[i] = opts
	}
	db, cfs, err := grocksdb.OpenDbColumnFamilies(opts, dir, names, cfOpts)
	if err != nil {
		opts.Destroy()
		return nil, wrap(err, what, dir)
	}
	d := &DB{
		dir: dir, names: names, db: db, cfs: cfs, opts: opts,
		write: grocksdb.NewDefaultWriteOptions(),
		read:  grocksdb.NewDefaultReadOptions(),
		flush: grocksdb.NewDefaultFlushOptions(),
	}
	d.write.DisableWAL(true)
	d.flush.SetWait(true)
	return d, nil
}

// Close frees everything; what was not flushed RocksDB flushes now, and an
// error of that is not reported by it: call Flush before. A second Close does
// nothing.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	for _, cf := range d.cfs {
		cf.Destroy()
	}
	d.db.Close()
	d.opts.Destroy()
	d.write.Destroy()
	d.read.Destroy()
	d.flush.Destroy()
	d.db, d.cfs = nil, nil
	return nil
}

// use takes the read lock when the store is open.
func (d *DB) use() error {
	d.mu.RLock()
	if d.db == nil {
		d.mu.RUnlock()
		return errClosed(d.dir)
	}
	return nil
}

// Dir is the folder of the store.
func (d *DB) Dir() string { return d.dir }

// Families are the names of the column families by number.
func (d *DB) Families() []string { return slices.Clone(d.names) }

// family checks a family number: a wrong one would crash the process in C.
func (d *DB) family(n int) error {
	if n < 0 || n >= len(d.names) {
		return &op.Error{Kind: op.Failed, What: "RocksDB " + d.dir, Err: fmt.Errorf("has no column family number %d", n)}
	}
	return nil
}

// Flush writes the memtables of all column families to SST files and waits.
func (d *DB) Flush() error {
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	return wrap(d.db.FlushCFs(d.cfs, d.flush), "flush RocksDB "+d.dir, d.dir)
}

// StallTime is how long writers were delayed or stopped since the store was
// opened, in steps of a millisecond.
func (d *DB) StallTime() (time.Duration, error) {
	if err := d.use(); err != nil {
		return 0, err
	}
	defer d.mu.RUnlock()
	t, err := parseStall(d.db.GetProperty("rocksdb.dbstats"))
	return t, wrap(err, "stall time of RocksDB "+d.dir, d.dir)
}

// CompactRange compacts all column families completely and waits.
func (d *DB) CompactRange() error {
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	for _, cf := range d.cfs {
		d.db.CompactRangeCF(cf, grocksdb.Range{})
	}
	return nil
}

// WaitForCompact waits until no flush and no compaction is left to do.
func (d *DB) WaitForCompact() error {
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	o := grocksdb.NewWaitForCompactOptions()
	defer o.Destroy()
	return wrap(d.db.WaitForCompact(o), "wait for compaction of RocksDB "+d.dir, d.dir)
}

// Get returns a copy of the value of key; ok is false when there is none.
func (d *DB) Get(family int, key []byte) (value []byte, ok bool, err error) {
	if err := d.family(family); err != nil {
		return nil, false, err
	}
	if err := d.use(); err != nil {
		return nil, false, err
	}
	defer d.mu.RUnlock()
	h, err := d.db.GetPinnedCF(d.read, d.cfs[family], key)
	if err != nil {
		return nil, false, wrap(err, "read RocksDB "+d.dir, d.dir)
	}
	defer h.Destroy()
	if !h.Exists() {
		return nil, false, nil
	}
	return append([]byte{}, h.Data()...), true, nil
}

// Iterate calls fn for every row of a family in key order. The slices are
// borrowed: they live until fn returns. fn must not call Close.
func (d *DB) Iterate(family int, fn func(key, value []byte) error) error {
	if err := d.family(family); err != nil {
		return err
	}
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	ro := grocksdb.NewDefaultReadOptions()
	defer ro.Destroy()
	ro.SetFillCache(false)
	it := d.db.NewIteratorCF(ro, d.cfs[family])
	defer it.Close()
	for it.SeekToFirst(); it.Valid(); it.Next() {
		if err := fn(it.KeySlice().Data(), it.ValueSlice().Data()); err != nil {
			return err
		}
	}
	return wrap(it.Err(), fmt.Sprintf("scan column family %q of RocksDB %s", d.names[family], d.dir), d.dir)
}

// Ingest moves SST files into a family. They must lie on the same file system
// and, when there are several, must not overlap.
func (d *DB) Ingest(family int, files []string) error {
	if err := d.family(family); err != nil || len(files) == 0 {
		return err
	}
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	o := grocksdb.NewDefaultIngestExternalFileOptions()
	defer o.Destroy()
	o.SetMoveFiles(true)
	err := d.db.IngestExternalFileCF(d.cfs[family], files, o)
	return wrap(err, fmt.Sprintf("ingest %d files into column family %q of RocksDB %s", len(files), d.names[family], d.dir), d.dir)
}
