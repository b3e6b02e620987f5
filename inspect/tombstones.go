package inspect

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// TombstonesOptions say whose tombstones are counted, and how exactly.
type TombstonesOptions struct {
	Select   Selection
	Estimate bool // from the files' properties alone, without reading entries
	Ranges   int  // densest key ranges told of each column family; 0: 5
	Parallel int
	Now      time.Time // for ages; zero: now
}

// Tombstones is what inspect tombstones tells: RocksDB's delete entries. Null
// records of a changelog and a versioned store's rows that say "deleted" are
// other things and not in any figure.
type Tombstones struct {
	Path     string             `json:"path"`
	Total    TombstoneCounts    `json:"total"`
	Stores   []StoreTombstones  `json:"stores"`
	Families []FamilyTombstones `json:"families"`
	Ages     []TombstoneAge     `json:"ages"`
	Dense    []DenseRange       `json:"densest_ranges"` // over all families
	Obsolete Obsolete           `json:"obsolete"`
	Advice   []Advice           `json:"advice"`
	Problems []FileProblem      `json:"problems"`
	Notes    []string           `json:"notes"`
}

// TombstoneCounts are the tombstones of some files. Bytes are those of keys
// (with the eight bytes of sequence number and kind) and values as written,
// before compression. What is null was not measured: see Estimated.
type TombstoneCounts struct {
	Files            int     `json:"files"`
	Size             int64   `json:"size_bytes"` // of the files
	Entries          int64   `json:"entries"`    // of every kind
	Tombstones       int64   `json:"tombstones"` // of every kind
	Share            float64 `json:"share"`      // tombstones / entries
	Deletes          int64   `json:"deletes"`
	SingleDeletes    int64   `json:"single_deletes"`
	TimestampDeletes int64   `json:"timestamp_deletes"`
	RangeDeletes     int64   `json:"range_deletes"`
	// AtBottom are those in the last sorted run: below them is nothing left to
	// hide, only a compaction of that run drops them. Null: no MANIFEST tells.
	AtBottom       *int64 `json:"at_bottom"`
	TombstoneBytes int64  `json:"tombstone_bytes"`
	// Shadowed rows are still in the files although a tombstone hides them;
	// superseded ones lie under a newer row of their key.
	ShadowedRows    *int64 `json:"shadowed_rows"`
	ShadowedBytes   *int64 `json:"shadowed_bytes"`
	SupersededRows  *int64 `json:"superseded_rows"`
	SupersededBytes *int64 `json:"superseded_bytes"`
	// Reclaim is what a compaction of everything would drop: bytes of entries,
	// and scaled to the files.
	ReclaimEntries *int64 `json:"reclaim_entries"`
	ReclaimBytes   *int64 `json:"reclaim_bytes"`
	ReclaimDisk    *int64 `json:"reclaim_disk_bytes"`
	// Estimated says why a part is not exact: it comes from properties, which
	// do not tell what a tombstone hides. "" when all of it is exact.
	Estimated string `json:"estimated"`
}

// StoreTombstones are those of a store of one task, all segments and families.
type StoreTombstones struct {
	Application string `json:"application"`
	Task        string `json:"task"`
	Store       string `json:"store"`
	StoreKind   string `json:"store_kind"`
	Database    string `json:"database"` // outside of Kafka Streams, where there is no store
	Databases   int    `json:"databases"`
	TombstoneCounts

	periodic map[int64]bool // periodic_compaction_seconds of its families
}

// FamilyTombstones are those of one column family of one database.
type FamilyTombstones struct {
	Place
	Family string `json:"column_family"`
	TombstoneCounts
	Levels   []LevelTombstones `json:"levels"`
	FileList []FileTombstones  `json:"file_list"`
	Dense    []DenseRange      `json:"densest_ranges"`
	Ranges   []RangeTombstone  `json:"range_delete_list"` // at most 100
	Ages     []TombstoneAge    `json:"ages"`
	Periodic *int64            `json:"periodic_compaction_seconds"` // of the OPTIONS file; null: unknown

	rawBytes int64
}

// LevelTombstones are those of one level.
type LevelTombstones struct {
	Level int `json:"level"`
	TombstoneCounts
}

// FileTombstones are those of one file; what they hide may lie in others.
type FileTombstones struct {
	Name    string     `json:"name"`
	Level   int        `json:"level"`
	Bottom  bool       `json:"at_bottom"` // lies in the last sorted run
	Created *time.Time `json:"created"`
	TombstoneCounts
}

// TombstoneAge counts tombstones by the age of their file, from when it was
// made: the delete itself is at least that old.
type TombstoneAge struct {
	From       *int64 `json:"from_seconds"` // null: the file does not say when it was made
	To         *int64 `json:"to_seconds"`   // null: no end
	Tombstones int64  `json:"tombstones"`
}

// DenseRange is a row of neighbouring keys that are all deleted: an iterator
// that meets it passes all its entries before it finds a row.
type DenseRange struct {
	Place
	Family  string `json:"column_family"`
	First   *Key   `json:"first_key"`
	Last    *Key   `json:"last_key"`
	Keys    int64  `json:"keys"`
	Entries int64  `json:"entries"` // tombstones and what they hide
	Bytes   int64  `json:"bytes"`
}

// RangeTombstone is one range delete.
type RangeTombstone struct {
	File  string `json:"file"`
	Level int    `json:"level"`
	Start *Key   `json:"start"`
	End   *Key   `json:"end"` // exclusive
	Seq   uint64 `json:"sequence"`
}

// Obsolete are files on disk that no MANIFEST names.
type Obsolete struct {
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Period *int64 `json:"delete_obsolete_files_period_micros"` // null: unknown
}

// Advice is what a person can do, by the name of the option or command.
type Advice struct {
	Option string   `json:"option"`
	Text   string   `json:"text"`
	Stores []string `json:"stores"` // the worst first
}

// InspectTombstones counts the tombstones below a path: exactly, by one merge
// scan of every column family, or from properties.
func InspectTombstones(ctx context.Context, o TombstonesOptions, sink op.Sink) (*Tombstones, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Ranges == 0 {
		o.Ranges = 5
	}
	all, unread, err := o.Select.locate(ctx)
	if err != nil {
		return nil, err
	}
	res := &Tombstones{Path: o.Select.Path}
	found := make([][]FamilyTombstones, len(all))
	obsolete := make([]Obsolete, len(all))
	meter := newFileMeter(sink, "entries", 0)
	var retried atomic.Int64
	problems, err := eachDatabase(ctx, all, o.Parallel, &retried, func(i int, d *opened) (problems []FileProblem) {
		found[i], obsolete[i] = nil, Obsolete{}
		obsolete[i].add(d.db)
		families := []*lsm.Family{nil} // the live set is unknown
		if v := d.db.Version; v != nil {
			families = families[:0]
			for j := range v.Families {
				families = append(families, &v.Families[j])
			}
		}
		for _, fam := range families {
			s := newFamilyScan(d, fam, o, meter)
			if f := s.run(ctx); f != nil && f.Files > 0 {
				found[i] = append(found[i], *f)
			}
			problems = append(problems, s.problems...)
		}
		return problems
	})
	if err != nil {
		return nil, err
	}
	res.Problems = append(unread, problems...)
	res.Families = slices.Concat(found...)
	for _, x := range obsolete {
		res.Obsolete.Files += x.Files
		res.Obsolete.Bytes += x.Bytes
		res.Obsolete.Period = cmp.Or(res.Obsolete.Period, x.Period)
	}
	res.sum(o)
	res.advise()
	if n := retried.Load(); n > 0 {
		res.Notes = append(res.Notes, retriedNote(n))
	}
	return res, nil
}
