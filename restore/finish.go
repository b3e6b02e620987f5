package restore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"syscall"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// databases lists the databases of a store that are on disk, sorted.
func databases(taskDir string, s streams.Store) ([]string, error) {
	if !s.Kind.Segmented() {
		d := streams.DatabaseDir(taskDir, s, 0)
		if files.Exists(d) {
			return []string{d}, nil
		}
		return nil, nil
	}
	ids, err := streams.SegmentIDs(streams.StoreDir(taskDir, s), s)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, streams.DatabaseDir(taskDir, s, id))
	}
	sort.Strings(out)
	return out, nil
}

// madeDatabases are those of databases that hold something: one whose making was
// cut short has no CURRENT, and is made when it is opened.
func madeDatabases(taskDir string, s streams.Store) ([]string, error) {
	dbs, err := databases(taskDir, s)
	return slices.DeleteFunc(dbs, func(db string) bool { return !files.Exists(filepath.Join(db, "CURRENT")) }), err
}

// checkpointOffset is the number a checkpoint holds for a partition after this
// replay, and whether it goes into the .checkpoint file.
func (p *Plan) checkpointOffset(u *Unit, c Counts, part int32) (offset int64, line bool) {
	o := &p.Options
	var r PartRange
	for _, x := range u.Parts {
		if x.Partition == part {
			r = x
		}
	}
	if u.Request.Global {
		// GlobalStateManagerImpl: the next offset, not the last applied.
		next := max(r.From, r.To) // a resumed one may be past the last stable offset
		return next, next > 0
	}
	if c.LastApplied >= 0 {
		return c.LastApplied, true
	}
	if u.Resume != "" {
		return r.From - 1, true
	}
	// Nothing applied. Kafka Streams 4.3 and later drop a -4 line when they
	// migrate the file, and under exactly-once a missing offset wipes the task:
	// there the offset goes into the store (offsetInStore).
	return streams.OffsetUnknown, !offsetInStore(o)
}

// offsetInStore says whether "nothing applied yet" must be a row of the
// offsets family.
func offsetInStore(o *Options) bool {
	return o.Guarantee == ExactlyOnce && streams.OffsetsInStore(o.Target)
}

// finishUnit verifies what was built for u under built (the task's build
// directory) and writes the offsets that must be rows.
func (p *Plan) finishUnit(u *Unit, built string, ur unitResult) error {
	s := u.Request.Store
	dbs, err := databases(built, s)
	if err != nil {
		return err
	}
	if !u.Request.Global && !p.Options.partial() && ur.counts.LastApplied < 0 && u.Resume == "" {
		if p.Options.Guarantee == ExactlyOnce && p.Options.Target.IsZero() {
			return op.Errorf(op.Usage, "%s holds no data, and under exactly-once the way to say so depends on the Kafka version that will open the directory", unitName(u)).
				WithTry("--target-kafka 4.4 (or the application's version), or kafka-version in the spec")
		}
		if offsetInStore(&p.Options) {
			if len(dbs) == 0 {
				// A segmented store without a segment has no place for the row:
				// its oldest segment is created and goes with the first record.
				dbs = []string{streams.DatabaseDir(built, s, 0)}
			}
			if err := writeUnknownOffset(dbs, s, u, p.checksum()); err != nil {
				return err
			}
		}
	}
	var rows int64
	for _, dir := range dbs {
		if u.Resume != "" {
			if err := verifyNew(dir); err != nil {
				return op.Errorf(op.KindOf(err), "verify the store just resumed: %w", err)
			}
			continue
		}
		info, err := lsm.VerifyDB(dir, p.cores)
		if err != nil {
			return op.Errorf(op.KindOf(err), "verify the store just built: %w", err)
		}
		for _, f := range info.Families {
			if f.Name != streams.OffsetsFamily {
				rows += f.Entries - f.Deletes
			}
		}
	}
	// A store built by bulk holds each row once, so entries are rows.
	if ur.bulk && u.Resume == "" && rows != ur.counts.Rows {
		return op.Errorf(op.Corrupt, "verify the store just built: %s holds %d entries, %d rows were written", streams.StoreDir(built, s), rows, ur.counts.Rows)
	}
	return nil
}

// verifyNew verifies the files of a resumed database that were written now:
// the others are hard links of files that nobody touched.
func verifyNew(db string) error {
	v, err := lsm.ReadManifest(db)
	if err != nil {
		return err
	}
	for _, fam := range v.Families {
		for _, f := range fam.Files {
			if linked(v.Path(f)) {
				continue
			}
			if _, err := lsm.VerifySST(v.Path(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

func linked(path string) bool {
	i, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// writeUnknownOffset puts "nothing applied yet" into every database.
func writeUnknownOffset(dbs []string, s streams.Store, u *Unit, sum rocks.Checksum) error {
	families := append(s.ColumnFamilies(), streams.OffsetsFamily)
	for _, dir := range dbs {
		db, err := openDB(dir, families, sum)
		if err != nil {
			return err
		}
		b := db.Batch()
		for _, row := range streams.OffsetRows(u.Topic, u.Parts[0].Partition, streams.OffsetUnknown) {
			b.Put(len(families)-1, row.Key, row.Value)
		}
		err = db.Write(b)
		b.Close()
		if err == nil {
			err = db.Flush()
		}
		if cerr := db.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("write the offset of %s into %s: %w", unitName(u), dir, err)
		}
	}
	return nil
}

// removeStore removes what a replay wrote for s.
func removeStore(taskDir string, s streams.Store) error {
	return os.RemoveAll(streams.StoreDir(taskDir, s))
}

// dirSize is the bytes of all files below dir.
func dirSize(dir string) int64 {
	var n int64
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

// settle completes the counts of a replayed unit with what only the finished
// store tells. It is not part of the measured time.
func (r *run) settle(ur *unitResult, taskDir string) error {
	s := ur.unit.Request.Store
	per := int64(1)
	if s.Kind.OnDisk() {
		ur.size = dirSize(streams.StoreDir(taskDir, s))
		dbs, err := databases(taskDir, s)
		if err != nil {
			return err
		}
		// Of a store from a snapshot only the tail is counted: reading all its rows
		// would take longer than the pull.
		if !ur.unit.Origin.used() && (!ur.bulk || ur.unit.Resume != "") {
			if ur.counts.Rows, err = countRows(dbs, s); err != nil {
				return err
			}
		}
		if s.Kind != streams.Versioned {
			conv, err := streams.NewConverter(s)
			if err != nil {
				return err
			}
			per = conv.RowsPerRecord()
		}
	}
	ur.counts.settle(s, per)
	if ur.unit.Origin.used() {
		ur.counts.Superseded = 0 // not known, as rows are not
	}
	if ps := ur.unit.Parts; len(ps) == 1 {
		ur.parts[ps[0].Partition] = ur.counts
	}
	return nil
}

func countRows(dbs []string, s streams.Store) (int64, error) {
	var n int64
	for _, dir := range dbs {
		for _, f := range s.ColumnFamilies() {
			err := lsm.Rows(dir, f, func(_, _ []byte) error { n++; return nil })
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// taskFolder is the name of a task's folder inside a build or scratch
// directory, where an unknown sub-topology does no harm.
func taskFolder(t *TaskPlan) string {
	if !t.Known {
		return "task-" + strconv.Itoa(t.Task.Partition)
	}
	return t.Name()
}
