package inspect

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// SSTOptions say which files are looked at, and how closely.
type SSTOptions struct {
	Select     []Selection
	Properties bool // keep all raw properties
	Verify     bool // read every block of every file
	KeepGoing  bool // with Verify: past the first corrupt block and file
	Parallel   int  // files read at a time

	turns chan struct{} // parts of large files read at a time
}

// SSTFiles is what inspect sst tells: each file in the order of the paths,
// stores, families and levels.
type SSTFiles struct {
	Files    []SSTFile     `json:"files"`
	Total    SSTTotal      `json:"total"`
	Problems []FileProblem `json:"problems"`
	Notes    []string      `json:"notes"`
}

// SSTTotal sums the files that could be read.
type SSTTotal struct {
	Files        int   `json:"files"`
	Size         int64 `json:"size_bytes"`
	Entries      int64 `json:"entries"`
	Tombstones   int64 `json:"tombstones"`
	RangeDeletes int64 `json:"range_deletes"`
}

// SSTFile is one SST file. Counts are the file's own properties; with
// verification they were compared with what is really there.
type SSTFile struct {
	Place
	Path     string `json:"path"`
	Name     string `json:"name"`
	Live     *bool  `json:"live"`  // null: no MANIFEST tells
	Level    *int   `json:"level"` // null: not live, or no MANIFEST tells
	Family   string `json:"column_family"`
	Size     int64  `json:"size_bytes"`
	FamilyID *int64 `json:"column_family_id"`

	Entries         int64    `json:"entries"` // of every kind, range deletes included
	Puts            int64    `json:"puts"`    // with blob references, wide columns and timed puts
	Deletes         int64    `json:"deletes"` // point deletes of every kind
	Merges          int64    `json:"merges"`
	RangeDeletes    int64    `json:"range_deletes"`
	Tombstones      int64    `json:"tombstones"` // deletes and range deletes
	TombstoneShare  float64  `json:"tombstone_share"`
	RawKeySize      int64    `json:"raw_key_bytes"`
	RawValueSize    int64    `json:"raw_value_bytes"`
	Smallest        *Key     `json:"smallest_key"`
	Largest         *Key     `json:"largest_key"`
	SmallestSeq     *uint64  `json:"smallest_sequence"`
	LargestSeq      *uint64  `json:"largest_sequence"`
	DataSize        int64    `json:"data_bytes"`
	IndexSize       int64    `json:"index_bytes"`
	FilterSize      int64    `json:"filter_bytes"`
	DataBlocks      int64    `json:"data_blocks"`
	CompressionRate *float64 `json:"compression_ratio"` // keys and values as written / data blocks; null when empty

	FormatVersion int        `json:"format_version"`
	Checksum      string     `json:"checksum"`
	Compression   string     `json:"compression"`
	Comparator    string     `json:"comparator"`
	MergeOperator string     `json:"merge_operator"`
	Index         string     `json:"index"`
	Filter        string     `json:"filter"`
	Created       *time.Time `json:"created"`         // of the file
	OldestKey     *time.Time `json:"oldest_key_time"` // when the oldest entry was written; null: not known
	WrittenBy     string     `json:"written_by"`      // RocksDB's version, or what can be told of it; "" when nothing
	DBID          string     `json:"db_id"`
	SessionID     string     `json:"db_session_id"`
	External      bool       `json:"external"` // written outside of the database and ingested

	Properties []Property    `json:"properties"`
	Verified   *Verification `json:"verified"` // null: was not asked for
	Error      string        `json:"error"`    // why nothing is known of the file
}

// InspectSST looks at every SST file below the paths. Without Verify only the
// end of each file is read, and the two blocks with its first and last key.
// What is corrupt is told in Problems; the result is complete all the same.
func InspectSST(ctx context.Context, o SSTOptions, sink op.Sink) (*SSTFiles, error) {
	var all []located
	res := &SSTFiles{}
	for _, sel := range o.Select {
		some, unread, err := sel.locate(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		res.Problems = append(res.Problems, unread...)
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	o.turns = make(chan struct{}, max(1, o.Parallel))
	found := make([][]SSTFile, len(all))
	meter := newFileMeter(sink, "files", 0)
	var retried atomic.Int64
	problems, err := eachDatabase(inner, all, o.Parallel, &retried, func(i int, d *opened) []FileProblem {
		files, problems := inspectFiles(inner, d, o, meter)
		found[i] = files
		if o.Verify && !o.KeepGoing && corruptAmong(problems) {
			stop()
		}
		return problems
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, p := range problems {
		p.fatal = p.fatal || o.Verify && p.kind == op.Corrupt // a database that lost files does not verify
		if !slices.Contains(res.Problems, p) {
			res.Problems = append(res.Problems, p)
		}
	}
	for _, f := range slices.Concat(found...) {
		res.Files = append(res.Files, f)
		if f.Error == "" {
			res.Total.add(&f)
		}
	}
	if n := retried.Load(); n > 0 {
		res.Notes = append(res.Notes, retriedNote(n))
	}
	switch {
	case err != nil:
		res.Notes = append(res.Notes, "stopped at the first corrupt file; --keep-going looks at all")
	case len(res.Files) == 0 && len(res.Problems) == 0:
		res.Notes = append(res.Notes, noFileYet)
	}
	return res, nil
}

// inspectFiles reads the files of one database, several at a time, until one
// is found corrupt that should not be.
func inspectFiles(ctx context.Context, d *opened, o SSTOptions, meter *fileMeter) (out []SSTFile, problems []FileProblem) {
	files := d.files()
	list := make([]SSTFile, len(files))
	found := make([][]FileProblem, len(files))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ForEach(ctx, len(files), o.Parallel, func(i int) {
		f := &files[i]
		var gone bool
		list[i], gone, found[i] = inspectFile(f, o)
		if gone {
			list[i].Path = ""
			if d.only != "" {
				found[i] = append(found[i], FileProblem{Path: f.path, What: "does not exist", fatal: true, kind: op.NotFound})
			}
		}
		meter.add(1, list[i].Size)
		if o.Verify && !o.KeepGoing && corruptAmong(found[i]) {
			stop()
		}
	})
	for i := range list {
		if list[i].Path != "" { // else gone, or not looked at
			out = append(out, list[i])
		}
	}
	return out, slices.Concat(found...)
}

func (t *SSTTotal) add(f *SSTFile) {
	t.Files++
	t.Size += f.Size
	t.Entries += f.Entries
	t.Tombstones += f.Tombstones
	t.RangeDeletes += f.RangeDeletes
}

// inspectFile reads one file.
func inspectFile(f *tableFile, o SSTOptions) (out SSTFile, gone bool, problems []FileProblem) {
	out = SSTFile{Place: f.in.Place, Path: f.path, Name: filepath.Base(f.path)}
	if f.in.db.Version != nil {
		live := f.live != nil
		out.Live = &live
	}
	if f.live != nil {
		out.Level, out.Family, out.Size = &f.live.Level, f.family.Name, f.live.Size
		out.SmallestSeq, out.LargestSeq = &f.live.SmallestSeq, &f.live.LargestSeq
	}
	t, gone, err := f.open()
	if gone {
		if f.live != nil {
			f.in.vanished.Store(true)
		}
		return out, true, nil
	}
	if st, serr := os.Stat(f.path); err != nil && serr == nil {
		out.Size = st.Size()
	}
	if f.unfinished(err) {
		out.Error = "not whole: RocksDB is writing it, or left it behind when it was killed"
		return out, false, nil
	}
	if err != nil {
		p := problemOf(f.path, err)
		out.Error = p.What
		return out, false, []FileProblem{p}
	}
	defer t.Close()
	out.take(t.Info(), o.Properties)
	out.WrittenBy = writtenBy(t.Info(), f.in.db)
	if err := out.keys(t, f); err != nil {
		problems = append(problems, problemOf(f.path, err))
	}
	if o.Verify {
		out.Verified = verifyFile(t, f.path, o)
		for _, e := range out.Verified.errs {
			if len(problems) == 0 || problems[0].What != problemOf(f.path, e).What {
				problems = append(problems, problemOf(f.path, e))
			}
		}
	}
	return out, false, problems
}

// take copies what the file says of itself.
func (f *SSTFile) take(i lsm.TableInfo, properties bool) {
	f.Size, f.FormatVersion, f.Checksum, f.Compression = i.Size, i.FormatVersion, i.Checksum, i.Compression
	f.Comparator, f.MergeOperator, f.Index, f.Filter = i.Comparator, i.MergeOperator, i.IndexType, i.FilterKind
	if i.FilterPartitioned {
		f.Filter += ", partitioned"
	}
	if f.Family == "" {
		f.Family = i.Family
	}
	if i.FamilyKnown {
		id := int64(i.FamilyID)
		f.FamilyID = &id
	}
	f.Entries, f.Merges, f.RangeDeletes, f.Tombstones = i.Entries, i.Merges, i.RangeDels, i.Deletes
	f.Deletes = max(0, i.Deletes-i.RangeDels)
	f.Puts = max(0, i.Entries-i.Deletes-i.Merges)
	if i.Entries > 0 {
		f.TombstoneShare = float64(i.Deletes) / float64(i.Entries)
	}
	f.RawKeySize, f.RawValueSize = i.RawKeySize, i.RawValueSize
	f.DataSize, f.IndexSize, f.FilterSize, f.DataBlocks = i.DataSize, i.IndexSize, i.FilterSize, i.DataBlocks
	if i.DataSize > 0 {
		r := float64(i.RawKeySize+i.RawValueSize) / float64(i.DataSize)
		f.CompressionRate = &r
	}
	f.Created, f.OldestKey = knownTime(i.FileCreated), knownTime(i.OldestKey)
	f.DBID, f.SessionID, f.External = i.DBID, i.SessionID, i.External
	if properties {
		f.Properties = propertiesOf(i.Properties)
	}
}

// knownTime is nil for a time that is not known.
func knownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// keys fills in the smallest and the largest key: the MANIFEST's for a live
// file, else those of its first and last block and its range deletes.
func (f *SSTFile) keys(t *lsm.Table, file *tableFile) error {
	if file.live != nil {
		f.Smallest, f.Largest = keyOf(&f.Place, f.Family, file.live.Smallest), keyOf(&f.Place, f.Family, file.live.Largest)
		return nil
	}
	it := t.Iter()
	defer it.Close()
	it.Readahead(0)
	var low, high []byte
	if it.First() {
		low = bytes.Clone(it.Entry().Key)
		if it.Last() {
			high = bytes.Clone(it.Entry().Key)
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	dels, err := t.RangeDeletes()
	for _, d := range dels {
		if low == nil || bytes.Compare(d.Start, low) < 0 {
			low = d.Start
		}
		if high == nil || bytes.Compare(d.End, high) > 0 {
			high = d.End
		}
	}
	f.Smallest, f.Largest = keyOf(&f.Place, f.Family, low), keyOf(&f.Place, f.Family, high)
	return err
}
