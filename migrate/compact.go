package migrate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// CompactOptions say what is compacted and for whom.
type CompactOptions struct {
	Stores []CompactStore
	Target streams.Version // that will open the result; zero: any
}

// CompactStore is one store: all its databases are compacted.
type CompactStore struct {
	ApplicationID string // "" outside of any application
	AppDir        string // whose lock is held; "" outside of any application
	Task, Name    string
	Databases     []string // directories
}

// CompactPlan is what compacting would do.
type CompactPlan struct {
	Target      string             `json:"target_kafka"` // "" : every version from 3.0 on
	Checksum    string             `json:"checksum"`     // of the SST files that are written
	Format      int                `json:"format_version"`
	Stores      []CompactStorePlan `json:"stores"`
	Before      CompactShape       `json:"before"`
	SpaceNeeded int64              `json:"space_needed"` // free bytes that the largest database takes while it is rewritten
	SpaceFree   *int64             `json:"space_free"`   // null when the file system does not tell
	Warnings    []string           `json:"warnings"`

	sum rocks.Checksum
}

// CompactStorePlan is one store of the plan.
type CompactStorePlan struct {
	ApplicationID string            `json:"application_id"`
	Task          string            `json:"task"`
	Store         string            `json:"store"`
	Databases     []CompactDatabase `json:"databases"`
	appDir        string
}

// CompactDatabase is one database of a store.
type CompactDatabase struct {
	Dir         string        `json:"dir"`
	Families    []string      `json:"families"`
	Compression string        `json:"compression"` // kept as it is configured
	Before      CompactShape  `json:"before"`
	After       *CompactShape `json:"after"` // null: not compacted (yet)
	Seconds     float64       `json:"seconds"`
	files       []uint64      // the live ones, which the plan is about
}

// CompactShape counts the live SST files of all column families.
type CompactShape struct {
	Files           int   `json:"files"`
	Bytes           int64 `json:"bytes"`
	Entries         int64 `json:"entries"`
	Tombstones      int64 `json:"tombstones"` // RocksDB's delete entries
	RangeTombstones int64 `json:"range_tombstones"`
}

func (s *CompactShape) add(o CompactShape) {
	s.Files += o.Files
	s.Bytes += o.Bytes
	s.Entries += o.Entries
	s.Tombstones += o.Tombstones
	s.RangeTombstones += o.RangeTombstones
}

// PlanCompact looks at the stores; it changes nothing and takes no lock.
func PlanCompact(ctx context.Context, o CompactOptions) (*CompactPlan, error) {
	p := &CompactPlan{Checksum: "kCRC32c", Format: 5, Warnings: []string{}, Stores: []CompactStorePlan{}}
	if !o.Target.IsZero() {
		if err := o.Target.CheckTarget(); err != nil {
			return nil, err
		}
		p.Target, p.Format = o.Target.String(), o.Target.SSTFormat()
		if o.Target.AtLeast(streams.Version{Major: 3, Minor: 2}) {
			p.sum, p.Checksum = rocks.XXH3, "kXXH3"
		}
	}
	for _, s := range o.Stores {
		sp := CompactStorePlan{ApplicationID: s.ApplicationID, Task: s.Task, Store: s.Name, appDir: s.AppDir, Databases: []CompactDatabase{}}
		for _, dir := range s.Databases {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			db, err := lookAt(dir)
			if err != nil {
				return nil, err
			}
			p.Before.add(db.Before)
			p.SpaceNeeded = max(p.SpaceNeeded, db.Before.Bytes)
			sp.Databases = append(sp.Databases, *db)
			p.space(dir)
		}
		if s.AppDir == "" {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s lies in no application's directory: only RocksDB's own lock is held", s.Name))
		}
		p.Stores = append(p.Stores, sp)
	}
	if p.databases() == 0 {
		return nil, op.Errorf(op.NotFound, "there is no database to compact")
	}
	return p, nil
}

func (p *CompactPlan) databases() (n int) {
	for _, s := range p.Stores {
		n += len(s.Databases)
	}
	return n
}

// space notes the least free space of the file systems.
func (p *CompactPlan) space(dir string) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return
	}
	if free := int64(st.Bavail) * int64(st.Bsize); p.SpaceFree == nil || free < *p.SpaceFree {
		p.SpaceFree = &free
	}
}

// lookAt reads a database's shape, and refuses what RocksDB with Kafka Streams'
// options must not rewrite.
func lookAt(dir string) (*CompactDatabase, error) {
	db, err := lsm.OpenDB(dir)
	if err != nil {
		return nil, err
	}
	what := "compact " + dir
	// OpenDB gets along without CURRENT, RocksDB does not.
	if _, err := lsm.ReadManifest(dir); err != nil || db.Version == nil || len(db.Missing) > 0 {
		e := &op.Error{Kind: op.Corrupt, What: what, Err: errors.New("the database is damaged"), Try: "restore the store from its changelog (sstool restore)"}
		if len(db.Problems) > 0 {
			e.Err = errors.New(db.Problems[0].String())
			e.Try = db.Problems[0].Cure
		}
		return nil, e
	}
	d := &CompactDatabase{Dir: dir, Families: []string{}, Compression: "kNoCompression"}
	for i := range db.Version.Families {
		f := &db.Version.Families[i]
		d.Families = append(d.Families, f.Name)
		if c := f.ComparatorName; c != "" && c != "leveldb.BytewiseComparator" {
			return nil, &op.Error{Kind: op.Failed, What: what, Err: fmt.Errorf("column family %q is ordered by the comparator %q, which only its application has", f.Name, c)}
		}
		if db.Options != nil {
			if o, ok := db.Options.Family(f.Name); ok {
				if m := o.MergeOperator; m != "" && m != "nullptr" {
					return nil, &op.Error{Kind: op.Failed, What: what, Err: fmt.Errorf("column family %q has the merge operator %q, which only its application has", f.Name, m)}
				}
				if o.Compression != "" && o.Compression != "kNoCompression" {
					d.Compression = o.Compression
				}
			}
		}
		for _, file := range f.Files {
			t, err := lsm.OpenTableFile(filepath.Join(dir, file.Name()))
			if err != nil {
				return nil, err
			}
			info := t.Info()
			if err := t.Close(); err != nil {
				return nil, err
			}
			d.files = append(d.files, file.Number)
			d.Before.add(CompactShape{Files: 1, Bytes: info.Size, Entries: info.Entries, Tombstones: info.Deletes, RangeTombstones: info.RangeDels})
		}
	}
	slices.Sort(d.files)
	return d, nil
}
