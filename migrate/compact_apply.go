package migrate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"sstool/internal/applock"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/rocks"
)

// CompactResult is the document compact: the plan with what became of it.
type CompactResult struct {
	CompactPlan
	After   CompactShape `json:"after"`
	Seconds float64      `json:"seconds"`
	RocksDB string       `json:"rocksdb"` // version of the library
}

// Steps are what Apply does, for people.
func (p *CompactPlan) Steps() []string {
	var out []string
	for _, dir := range p.appDirs() {
		out = append(out, "hold the lock of "+dir)
	}
	for _, s := range p.Stores {
		for _, d := range s.Databases {
			out = append(out, fmt.Sprintf("rewrite %s: %d files, %d bytes, %d tombstones (format %d, checksum %s, compression %s)",
				d.Dir, d.Before.Files, d.Before.Bytes, d.Before.Tombstones+d.Before.RangeTombstones, p.Format, p.Checksum, d.Compression))
		}
	}
	return append(out, "verify every block of what was written")
}

// appDirs are the directories of the applications, each once.
func (p *CompactPlan) appDirs() []string {
	var out []string
	for _, s := range p.Stores {
		if s.appDir != "" && !slices.Contains(out, s.appDir) {
			out = append(out, s.appDir)
		}
	}
	return out
}

// CheckSpace refuses when a database may not find room to be rewritten: the
// old files go only when the new ones are complete.
func (p *CompactPlan) CheckSpace() error {
	const margin = 16 << 20
	if p.SpaceFree == nil || p.SpaceNeeded+margin <= *p.SpaceFree {
		return nil
	}
	return op.Errorf(op.Precondition, "%d MB are free, compacting may need %d MB for a while", *p.SpaceFree>>20, (p.SpaceNeeded+margin)>>20).
		WithTry("free space on the file system of the state directory")
}

// Apply compacts one database after the other, holding the locks of their
// applications. What RocksDB does is safe at any moment: a kill leaves the old
// files or the new ones. After an error or an interruption the result tells
// what was compacted; running it again does the rest.
func (p *CompactPlan) Apply(ctx context.Context, sink op.Sink) (*CompactResult, error) {
	if rocks.Version() == "" {
		return nil, op.Errorf(op.Failed, "this sstool was built without RocksDB, which compacting needs").WithTry("build it with cgo: make build")
	}
	if err := p.CheckSpace(); err != nil {
		return nil, err
	}
	for _, dir := range p.appDirs() {
		lock, err := applock.Hold(dir)
		if err != nil {
			return nil, err
		}
		defer lock.Release()
	}
	if err := p.recheck(); err != nil {
		return nil, err
	}
	begun := time.Now()
	r := &CompactResult{CompactPlan: *p, RocksDB: rocks.Version()}
	sink.Emit(op.Event{Type: op.Phase, Name: "compact"})
	done := int64(0)
	var err error
	for i := range r.Stores {
		for j := range r.Stores[i].Databases {
			d := &r.Stores[i].Databases[j]
			sink.Emit(op.Event{Type: op.Progress, Name: d.Dir, Done: done, Total: p.Before.Bytes, Unit: "bytes", Bytes: done})
			if err == nil {
				err = p.compact(ctx, d)
			}
			done += d.Before.Bytes
			if d.After == nil {
				r.After.add(d.Before)
				continue
			}
			r.After.add(*d.After)
			sink.Emit(op.Event{Type: op.Item, Name: d.Dir, Done: d.Before.Bytes, Unit: "bytes"})
		}
	}
	r.Seconds = time.Since(begun).Seconds()
	sink.Emit(op.Event{Type: op.Summary, Done: done, Unit: "bytes"})
	return r, err
}

// recheck says whether the databases are still those of the plan, now that
// nobody else may change them.
func (p *CompactPlan) recheck() error {
	for _, s := range p.Stores {
		for _, d := range s.Databases {
			now, err := lookAt(d.Dir)
			if err != nil {
				return err
			}
			if !slices.Equal(now.files, d.files) {
				return op.Errorf(op.Precondition, "%s has changed since it was looked at: the application has run meanwhile", d.Dir).WithTry("run it again")
			}
		}
	}
	return nil
}

// compact rewrites one database and verifies the result.
func (p *CompactPlan) compact(ctx context.Context, d *CompactDatabase) (err error) {
	if ctx.Err() != nil {
		return interrupted(ctx.Err())
	}
	begun := time.Now()
	db, err := rocks.Open(d.Dir, rocks.Options{Checksum: p.sum, Bulk: true, Compression: d.Compression})
	if err != nil {
		return err
	}
	err = db.Compact(ctx)
	if err == nil {
		err = db.Flush() // what a write-ahead log held, in databases that have one
	}
	err = errors.Join(err, db.Close())
	if ctx.Err() != nil {
		return interrupted(ctx.Err())
	}
	if err != nil {
		return err
	}
	if _, err := lsm.VerifyDB(d.Dir, runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	now, err := lookAt(d.Dir)
	if err != nil {
		return err
	}
	d.After, d.Seconds = &now.Before, time.Since(begun).Seconds()
	return nil
}

func interrupted(err error) error {
	return &op.Error{Kind: op.Declined, What: "compact", Err: fmt.Errorf("interrupted; every database is whole, compacted or as it was: %w", err), Try: "run it again for the rest"}
}
