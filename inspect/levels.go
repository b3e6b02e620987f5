package inspect

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// LevelsOptions say whose levels are drawn.
type LevelsOptions struct {
	Select   Selection
	Parallel int
	Now      time.Time // for what periodic compaction would do; zero: now
}

// Levels is what inspect levels tells: the shape of every column family that
// has files.
type Levels struct {
	Path     string        `json:"path"`
	Families []FamilyShape `json:"families"`
	Empty    int           `json:"families_without_files"`
	Total    LevelsTotal   `json:"total"`
	Problems []FileProblem `json:"problems"`
	Notes    []string      `json:"notes"`
}

// LevelsTotal sums the families.
type LevelsTotal struct {
	Runs    int   `json:"sorted_runs"`
	Files   int   `json:"files"`
	Size    int64 `json:"size_bytes"`
	Pending int64 `json:"pending_compaction_bytes"` // of the families for which it is known
}

// FamilyShape is the tree of one column family of one database.
type FamilyShape struct {
	Place
	DBID       string      `json:"db_id"` // of the database that wrote the files, where a directory has files of several
	Family     string      `json:"column_family"`
	Style      string      `json:"compaction_style"` // universal, level, fifo, none; "" when unknown
	Files      int         `json:"files"`
	Size       int64       `json:"size_bytes"`
	Entries    int64       `json:"entries"`
	Tombstones int64       `json:"tombstones"`
	Runs       []SortedRun `json:"sorted_runs"` // newest first
	// ReadRuns is how many sorted runs an iterator merges; OverlapRuns how many
	// of them have one and the same key in their range, at most: what a lookup of
	// a key may have to ask, less what the filters spare it.
	ReadRuns     int   `json:"read_amplification"`
	OverlapRuns  int   `json:"overlapping_runs"`
	OverlapBytes int64 `json:"overlapping_bytes"` // in files whose range another run shares
	// SpaceAmp is all bytes / those of the last run, which universal compaction
	// takes for the size of the rows. The percentages are the picker's own.
	SpaceAmp       float64     `json:"space_amplification"`
	SizeAmpPercent float64     `json:"size_amplification_percent"`
	SizeAmpLimit   *float64    `json:"max_size_amplification_percent"`
	Next           *Compaction `json:"next_compaction"` // null: nothing to do, or not known
	Pending        *int64      `json:"pending_compaction_bytes"`
	PendingReason  string      `json:"pending_compaction_reason"` // why it is not known
	LevelsKnown    bool        `json:"levels_known"`              // false: no MANIFEST tells which files are live, each counts as a run
}

// SortedRun is a file of level 0, or a whole level.
type SortedRun struct {
	Level       int        `json:"level"` // -1: not known
	File        string     `json:"file"`  // of level 0, or of a level that is not known
	Files       int        `json:"files"`
	Size        int64      `json:"size_bytes"`
	Entries     int64      `json:"entries"`
	Tombstones  int64      `json:"tombstones"`
	Smallest    *Key       `json:"smallest_key"`
	Largest     *Key       `json:"largest_key"`
	SmallestSeq uint64     `json:"smallest_sequence"`
	LargestSeq  uint64     `json:"largest_sequence"`
	Created     *time.Time `json:"newest_file_created"`

	ranges      []fileRange
	epoch       uint64 // of a file of level 0; 0 in all when older than RocksDB 7.10
	compensated int64
}

// Compaction is what RocksDB would start next.
type Compaction struct {
	From   int    `json:"from_run"` // index into sorted_runs
	Runs   int    `json:"runs"`
	Bytes  int64  `json:"bytes"`
	Option string `json:"option"` // what asks for it
}

type fileRange struct {
	low, high []byte
	bytes     int64
}

// InspectLevels reads the MANIFEST of every database, and the properties of
// every live file.
func InspectLevels(ctx context.Context, o LevelsOptions, sink op.Sink) (*Levels, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	all, unread, err := o.Select.locate(ctx)
	if err != nil {
		return nil, err
	}
	res := &Levels{Path: o.Select.Path}
	shapes := make([][]FamilyShape, len(all))
	meter := newFileMeter(sink, "databases", int64(len(all)))
	var retried atomic.Int64
	problems, err := eachDatabase(ctx, all, o.Parallel, &retried, func(i int, d *opened) (problems []FileProblem) {
		if d.db.Version == nil {
			shapes[i], problems = shapesWithout(d)
		} else {
			shapes[i], problems = shapesOf(d, o.Now)
		}
		meter.add(1, d.db.LiveSize)
		return problems
	})
	if err != nil {
		return nil, err
	}
	res.Problems = append(unread, problems...)
	if n := retried.Load(); n > 0 {
		res.Notes = append(res.Notes, retriedNote(n))
	}
	for i := range all {
		for _, s := range shapes[i] {
			if s.Files == 0 {
				res.Empty++
				continue
			}
			res.Families = append(res.Families, s)
			res.Total.Runs += len(s.Runs)
			res.Total.Files += s.Files
			res.Total.Size += s.Size
			if s.Pending != nil {
				res.Total.Pending += *s.Pending
			}
		}
	}
	if len(res.Families)+res.Empty+len(res.Problems) == 0 {
		res.Notes = append(res.Notes, noFileYet)
	}
	return res, nil
}

// shapesOf are the families of one database.
func shapesOf(d *opened, now time.Time) (out []FamilyShape, problems []FileProblem) {
	for i := range d.db.Version.Families {
		fam := &d.db.Version.Families[i]
		s := FamilyShape{Place: d.Place, Family: fam.Name, LevelsKnown: true}
		infos, failed := infosOf(d, fam)
		problems = append(problems, failed...)
		s.build(fam, infos)
		s.compaction(d.db.Options, fam, infos, now)
		out = append(out, s)
	}
	return out, problems
}

// shapesWithout are the families of a database without a MANIFEST: every file
// on disk counts, as a run of its own.
func shapesWithout(d *opened) (out []FamilyShape, problems []FileProblem) {
	if len(d.db.Tables) == 0 {
		return nil, nil
	}
	for id, names := range lsm.ByDatabase(d.Database, d.db.Tables) {
		shapes, failed := shapesOfTables(d, id, names)
		out, problems = append(out, shapes...), append(problems, failed...)
	}
	return out, problems
}

// shapesOfTables are the families of SST files of one database, whose id is not
// "" when there are files of others beside them.
func shapesOfTables(d *opened, id string, names []string) (out []FamilyShape, problems []FileProblem) {
	all, err := lsm.OpenTables(d.Database, names, nil)
	if err != nil {
		return nil, []FileProblem{problemOf(d.Database, err)}
	}
	problems = databaseProblems(all, d.inStreams())
	for i := range all.Version.Families {
		fam := &all.Version.Families[i]
		for j := range fam.Files {
			fam.Files[j].Level, fam.Files[j].SmallestSeq, fam.Files[j].LargestSeq = -1, 0, 0
		}
		s := FamilyShape{Place: d.Place, DBID: id, Family: fam.Name, Style: styleOf(d.db.Options, fam.Name), PendingReason: "levels unknown, no MANIFEST tells them"}
		infos := make([]lsm.TableInfo, len(fam.Files))
		for j := range fam.Files {
			t, err := lsm.OpenTableFile(all.Version.Path(fam.Files[j]))
			if err != nil {
				continue // told above, or gone by now
			}
			infos[j] = t.Info()
			_ = t.Close()
		}
		s.build(fam, infos)
		s.SpaceAmp = 0 // which run is the last is not known
		out = append(out, s)
	}
	return out, problems
}

// infosOf reads the properties of a family's live files; those of a file that
// cannot be read stay empty.
func infosOf(d *opened, fam *lsm.Family) (infos []lsm.TableInfo, problems []FileProblem) {
	infos = make([]lsm.TableInfo, len(fam.Files))
	for i := range fam.Files {
		f := tableFile{d, d.db.Version.Path(fam.Files[i]), fam, &fam.Files[i]}
		t, gone, err := f.open()
		switch {
		case gone: // a compaction of the running application; the MANIFEST's facts stand
			d.vanished.Store(true)
		case err != nil:
			problems = append(problems, problemOf(f.path, err))
		default:
			infos[i] = t.Info()
			_ = t.Close()
		}
	}
	return infos, problems
}

// build puts the files into sorted runs, newest first.
func (s *FamilyShape) build(fam *lsm.Family, infos []lsm.TableInfo) {
	average := averageValue(infos)
	byLevel := map[int]*SortedRun{}
	var runs []*SortedRun
	for i := range fam.Files {
		f, info := &fam.Files[i], &infos[i]
		r := byLevel[f.Level]
		if r == nil || f.Level <= 0 {
			r = &SortedRun{Level: f.Level, SmallestSeq: f.SmallestSeq}
			if f.Level <= 0 {
				r.File, r.epoch = f.Name(), f.Epoch
			}
			byLevel[f.Level] = r
			runs = append(runs, r)
		}
		r.add(f, info)
		r.compensated += f.Size + compensation(info, average)
		s.Files++
		s.Size += f.Size
		s.Entries += info.Entries
		s.Tombstones += info.Deletes
	}
	slices.SortStableFunc(runs, func(a, b *SortedRun) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(b.epoch, a.epoch), cmp.Compare(b.LargestSeq, a.LargestSeq))
	})
	for _, r := range runs {
		r.finish(&s.Place, fam)
		s.Runs = append(s.Runs, *r)
	}
	s.ReadRuns = len(s.Runs)
	s.OverlapRuns, s.OverlapBytes = overlap(s.Runs)
	if n := len(s.Runs); n > 0 && s.Runs[n-1].Size > 0 {
		s.SpaceAmp = float64(s.Size) / float64(s.Runs[n-1].Size)
	}
}

func (r *SortedRun) add(f *lsm.File, info *lsm.TableInfo) {
	r.Files++
	r.Size += f.Size
	r.Entries += info.Entries
	r.Tombstones += info.Deletes
	r.SmallestSeq, r.LargestSeq = min(r.SmallestSeq, f.SmallestSeq), max(r.LargestSeq, f.LargestSeq)
	r.ranges = append(r.ranges, fileRange{f.Smallest, f.Largest, f.Size})
	if c := created(f, info); !c.IsZero() && (r.Created == nil || c.After(*r.Created)) {
		r.Created = knownTime(c)
	}
}

// created is when the file was made, from the MANIFEST or the file.
func created(f *lsm.File, info *lsm.TableInfo) time.Time {
	if !f.Created.IsZero() {
		return f.Created
	}
	return info.FileCreated
}

func (r *SortedRun) finish(p *Place, fam *lsm.Family) {
	slices.SortFunc(r.ranges, func(a, b fileRange) int { return bytes.Compare(a.low, b.low) })
	high := r.ranges[0].high
	for _, k := range r.ranges {
		if bytes.Compare(k.high, high) > 0 {
			high = k.high
		}
	}
	r.Smallest, r.Largest = keyOf(p, fam.Name, r.ranges[0].low), keyOf(p, fam.Name, high)
}

// averageValue is what a value takes in these files (version_set.cc:
// GetAverageValueSize).
func averageValue(infos []lsm.TableInfo) float64 {
	var values, keys, puts, size float64
	for i := range infos {
		values += float64(infos[i].RawValueSize)
		keys += float64(infos[i].RawKeySize)
		puts += float64(infos[i].Entries - infos[i].Deletes)
		size += float64(infos[i].Size)
	}
	if puts <= 0 || values+keys <= 0 {
		return 0
	}
	return values / puts * size / (values + keys)
}

// compensation is by how much RocksDB counts a file larger whose deletes are
// more than half of it (version_set.cc:ComputeCompensatedSizes).
func compensation(i *lsm.TableInfo, average float64) int64 {
	const weight = 2 // kDeletionWeightOnCompaction
	if i.Entries == 0 || 2*i.Deletes < i.Entries {
		return 0
	}
	return int64(float64(2*i.Deletes-i.Entries) * average * weight)
}

// styleOf is how a family is compacted; "" when no OPTIONS file tells it.
func styleOf(o *lsm.Options, family string) string {
	if o == nil {
		return ""
	}
	f, ok := o.Family(family)
	if !ok {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(f.CompactionStyle, "kCompactionStyle"))
}

// compaction says what RocksDB would do next.
func (s *FamilyShape) compaction(o *lsm.Options, fam *lsm.Family, infos []lsm.TableInfo, now time.Time) {
	var cf map[string]string
	if o != nil {
		if f, ok := o.Family(s.Family); ok {
			cf = f.CF
		}
	}
	s.Style = styleOf(o, s.Family)
	switch s.Style {
	case "universal":
	case "level":
		s.leveled(cf)
		return
	case "":
		s.PendingReason = "no OPTIONS file tells how the family is compacted"
		return
	default:
		s.PendingReason = "compaction style " + s.Style
		return
	}
	u := parseUniversal(cf)
	runs := make([]runSize, len(s.Runs))
	for i, r := range s.Runs {
		runs[i] = runSize{r.Size, r.compensated}
	}
	due := false
	for i := range fam.Files {
		if c := created(&fam.Files[i], &infos[i]); u.periodic > 0 && !c.IsZero() {
			due = due || now.Sub(c) > time.Duration(u.periodic)*time.Second
		}
	}
	s.SizeAmpPercent, s.SizeAmpLimit = sizeAmp(runs), &u.maxSizeAmp
	pending := pendingUniversal(runs, u, due)
	s.Pending = &pending
	if from, to, option, ok := pickUniversal(runs, u, due); ok {
		s.Next = &Compaction{From: from, Runs: to - from, Option: option}
		for _, r := range s.Runs[from:to] {
			s.Next.Bytes += r.Size
		}
	}
}
