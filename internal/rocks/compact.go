//go:build cgo

package rocks

import (
	"context"
	"errors"
	"runtime"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/op"
)

// maxSubcompactions is how many threads share one compaction at most.
const maxSubcompactions = 4

// Compact rewrites every column family completely, the bottommost level as
// well, and waits. Superseded rows and tombstones are gone afterwards. When ctx
// ends it stops early: what is on disk is whole, compacted or not.
//
// RocksDB's C API does not return the error of a manual compaction: what went
// wrong in the background is asked for, and its LOG has the words.
func (d *DB) Compact(ctx context.Context) error {
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		d.db.DisableManualCompaction()
		close(stopped)
	})
	defer func() {
		if !stop() {
			<-stopped // the database may be closed next
		}
	}()
	o := grocksdb.NewCompactRangeOptions()
	defer o.Destroy()
	o.SetBottommostLevelCompaction(grocksdb.KForce)
	o.SetMaxSubCompactions(int32(min(runtime.GOMAXPROCS(0), maxSubcompactions)))
	for _, cf := range d.cfs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.db.CompactRangeCFOpt(cf, grocksdb.Range{}, o)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if n, ok := d.db.GetIntProperty("rocksdb.background-errors"); ok && n > 0 {
		return &op.Error{Kind: op.Failed, What: "compact RocksDB " + d.dir, Err: errors.New("RocksDB met an error in the background"),
			Try: "look at " + d.dir + "/LOG: the disk may be full or a file damaged; the store is as it was"}
	}
	return nil
}
