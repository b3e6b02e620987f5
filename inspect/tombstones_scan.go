package inspect

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// familyScan counts the tombstones of one column family.
type familyScan struct {
	in       *opened
	fam      *lsm.Family // nil: the live set is unknown, all files on disk are looked at
	o        TombstonesOptions
	meter    *fileMeter
	out      *FamilyTombstones
	infos    []lsm.TableInfo
	files    []lsm.File
	byNumber map[uint64]int
	problems []FileProblem
}

func newFamilyScan(d *opened, fam *lsm.Family, o TombstonesOptions, meter *fileMeter) *familyScan {
	return &familyScan{in: d, fam: fam, o: o, meter: meter, out: &FamilyTombstones{Place: d.Place}, byNumber: map[uint64]int{}}
}

// fromProperties is how an estimate comes about.
const fromProperties = "from the files' properties: a tombstone above the last sorted run counts as hiding one row of average size there, rows under a newer one of their key are not counted"

// maxRangeList bounds the range deletes that are told one by one.
const maxRangeList = 100

func (s *familyScan) run(ctx context.Context) *FamilyTombstones {
	if s.fam == nil {
		s.unknown()
		return s.out
	}
	if len(s.fam.Files) == 0 {
		return nil
	}
	s.out.Family, s.files = s.fam.Name, slices.Clone(s.fam.Files)
	s.infos, s.problems = infosOf(s.in, s.fam)
	for i, f := range s.files {
		s.byNumber[f.Number] = i
	}
	s.periodic()
	s.rangeList()
	why := fromProperties
	if !s.o.Estimate {
		why = ""
		t, err := s.merge(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			s.exact(t)
		default:
			s.problems = append(s.problems, problemOf(s.in.Database, err))
			why = "the entries could not be merged (see the problems), so " + fromProperties
		}
	}
	if why != "" {
		s.estimate(why)
	}
	s.levels()
	s.ages()
	return s.out
}

// merge reads every entry of the family once.
func (s *familyScan) merge(ctx context.Context) (*tally, error) {
	if c := s.fam.ComparatorName; c != "" && c != "leveldb.BytewiseComparator" {
		return nil, op.Errorf(op.Failed, "column family %q is ordered by the application's own comparator %q", s.fam.Name, c)
	}
	it, err := s.in.db.Iter(s.fam.Name, lsm.IterOptions{All: true})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	defer func() { s.in.db.Retried += it.Retried }()
	t := &tally{files: make([]fileTally, len(s.files)), most: s.o.Ranges}
	const step = 4096
	n, size := int64(0), int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		e := it.Entry()
		if n++; n%step == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.meter.add(step, size)
			size = 0
		}
		size += int64(len(e.Key) + len(e.Value))
		if e.Kind != lsm.KindRangeDelete { // those are counted with the files
			t.add(&e, s.index(it, t), it.Covered())
		}
	}
	t.end()
	s.meter.add(n%step, size)
	return t, it.Err()
}

// index is the place of the file of the current entry. A file that is new came
// with a compaction of the running application.
func (s *familyScan) index(it *lsm.Iter, t *tally) int {
	f := it.File()
	i, ok := s.byNumber[f.Number]
	if !ok {
		i = len(s.files)
		s.byNumber[f.Number] = i
		s.files = append(s.files, f)
		s.infos = append(s.infos, lsm.TableInfo{})
		t.files = append(t.files, fileTally{})
	}
	return i
}

// exact takes over what a merge found.
func (s *familyScan) exact(t *tally) {
	o := s.out
	var shadowed rowsHeld
	bottom := s.bottom()
	for i := range s.files {
		f := &t.files[i]
		c := s.file(i, bottom[i])
		c.Deletes, c.SingleDeletes, c.TimestampDeletes = f.deletes, f.single, f.stamped
		c.TombstoneBytes = f.bytes
		c.ShadowedRows, c.ShadowedBytes = ref(f.shadowed.rows), ref(f.shadowed.bytes)
		c.total(bottom[i])
		shadowed.rows += f.shadowed.rows
		shadowed.bytes += f.shadowed.bytes
		o.FileList = append(o.FileList, c)
	}
	o.rawBytes = t.bytes
	o.ShadowedRows, o.ShadowedBytes = ref(shadowed.rows+t.byRange.rows), ref(shadowed.bytes+t.byRange.bytes)
	o.SupersededRows, o.SupersededBytes = ref(t.superseded.rows), ref(t.superseded.bytes)
	ranges := int64(0)
	for i := range s.infos {
		ranges += s.infos[i].RangeDels
	}
	o.ReclaimEntries, o.ReclaimBytes = ref(t.entries-t.rows+ranges), ref(t.bytes-t.rowBytes)
	for _, r := range t.dense {
		o.Dense = append(o.Dense, DenseRange{Place: s.in.Place, Family: s.fam.Name, First: keyOf(&s.in.Place, s.fam.Name, r.first),
			Last: keyOf(&s.in.Place, s.fam.Name, r.last), Keys: r.keys, Entries: r.entries, Bytes: r.bytes})
	}
}

// estimate takes what properties tell: a tombstone above the last run hides at
// most one row of average size in it.
func (s *familyScan) estimate(why string) {
	o := s.out
	o.FileList, o.Estimated = nil, why
	bottom := s.bottom()
	var held rowsHeld
	puts := int64(0) // in the last run
	for i := range s.files {
		info := &s.infos[i]
		if bottom[i] {
			puts += info.Entries - info.Deletes
		}
	}
	for i := range s.files {
		info := &s.infos[i]
		c := s.file(i, bottom[i])
		c.Estimated = why
		c.Deletes = max(0, info.Deletes-info.RangeDels)
		if info.Entries > 0 {
			c.TombstoneBytes = c.Deletes * info.RawKeySize / info.Entries
			o.rawBytes += info.RawKeySize + info.RawValueSize
		}
		if !bottom[i] {
			rows := min(c.Deletes, max(0, puts-held.rows))
			held.rows += rows
			if n := info.Entries; n > 0 {
				held.bytes += rows * (info.RawKeySize / n)
			}
			held.bytes += int64(float64(rows) * averageRawValue(s.infos))
		}
		c.total(bottom[i])
		o.FileList = append(o.FileList, c)
	}
	o.ShadowedRows, o.ShadowedBytes = ref(held.rows), ref(held.bytes)
}

func averageRawValue(infos []lsm.TableInfo) float64 {
	var values, puts int64
	for i := range infos {
		values += infos[i].RawValueSize
		puts += infos[i].Entries - infos[i].Deletes
	}
	if puts <= 0 {
		return 0
	}
	return float64(values) / float64(puts)
}

// file begins the counts of one file.
func (s *familyScan) file(i int, bottom bool) FileTombstones {
	f, info := &s.files[i], &s.infos[i]
	c := FileTombstones{Name: f.Name(), Level: f.Level, Bottom: bottom, Created: knownTime(created(f, info))}
	c.Files, c.Size, c.Entries, c.RangeDeletes = 1, f.Size, info.Entries, info.RangeDels
	return c
}

// bottom says which files make up the last sorted run: the deepest level, or
// the oldest file when all are on level 0.
func (s *familyScan) bottom() []bool {
	out := make([]bool, len(s.files))
	deepest, oldest := 0, 0
	for i, f := range s.files {
		deepest = max(deepest, f.Level)
		if o := s.files[oldest]; f.Epoch < o.Epoch || f.Epoch == o.Epoch && f.LargestSeq < o.LargestSeq {
			oldest = i
		}
	}
	for i, f := range s.files {
		out[i] = f.Level == deepest && (deepest > 0 || i == oldest)
	}
	return out
}

// rangeList reads the range deletes of the files that have some.
func (s *familyScan) rangeList() {
	for i := range s.files {
		if s.infos[i].RangeDels == 0 || len(s.out.Ranges) >= maxRangeList {
			continue
		}
		f := tableFile{s.in, s.in.db.Version.Path(s.files[i]), s.fam, &s.fam.Files[i]}
		t, gone, err := f.open()
		if gone {
			continue
		}
		var list []lsm.RangeDelete
		if err == nil {
			list, err = t.RangeDeletes()
			_ = t.Close()
		}
		if err != nil {
			s.problems = append(s.problems, problemOf(f.path, err))
			continue
		}
		for _, d := range list[:min(len(list), maxRangeList-len(s.out.Ranges))] {
			s.out.Ranges = append(s.out.Ranges, RangeTombstone{
				File: filepath.Base(f.path), Level: s.files[i].Level, Seq: d.Seq,
				Start: keyOf(&s.in.Place, s.fam.Name, d.Start), End: keyOf(&s.in.Place, s.fam.Name, d.End),
			})
		}
	}
}

// periodic is the option of the family, when an OPTIONS file tells it.
func (s *familyScan) periodic() {
	if o := s.in.db.Options; o != nil {
		if f, ok := o.Family(s.fam.Name); ok {
			if n, err := strconv.ParseInt(f.CF["periodic_compaction_seconds"], 10, 64); err == nil {
				s.out.Periodic = &n
			}
		}
	}
}

// unknown sums all files on disk, by their properties: no MANIFEST tells what
// is live.
func (s *familyScan) unknown() {
	s.out.Estimated = "live set unknown, levels unknown: every file on disk, from its properties"
	for _, f := range s.in.files() {
		t, gone, err := f.open()
		if gone {
			continue
		}
		if err != nil {
			s.problems = append(s.problems, problemOf(f.path, err))
			continue
		}
		info := t.Info()
		_ = t.Close()
		c := FileTombstones{Name: filepath.Base(f.path), Level: -1, Created: knownTime(info.FileCreated)}
		c.Estimated = s.out.Estimated
		c.Files, c.Size, c.Entries, c.RangeDeletes = 1, info.Size, info.Entries, info.RangeDels
		c.Deletes = max(0, info.Deletes-info.RangeDels)
		if info.Entries > 0 {
			c.TombstoneBytes = c.Deletes * info.RawKeySize / info.Entries
		}
		c.total(false)
		c.AtBottom = nil
		s.out.FileList = append(s.out.FileList, c)
		s.out.add(&c.TombstoneCounts)
	}
	s.ages()
}

// ref is a value that was measured.
func ref(n int64) *int64 { return &n }

// age is how long ago a file was made, never negative.
func (s *familyScan) age(created time.Time) time.Duration { return max(0, s.o.Now.Sub(created)) }
