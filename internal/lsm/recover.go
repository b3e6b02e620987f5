package lsm

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/op"
)

// OpenTables makes a database of SST files alone, for when no MANIFEST tells
// which of those in dir are live, or when only some are meant: every file
// counts, and the newest entry of a key wins, by its sequence number. Among
// them may be files that RocksDB had replaced, so rows may show that are
// deleted or superseded; a compaction may have zeroed sequence numbers, and then
// the file with the higher number wins. Column families are those that the
// files name. A file that cannot be read is in Problems; an error is only for a
// directory where none can be, and for files of several databases, whose
// sequence numbers mean nothing to each other (op.Usage). skips may be nil; it
// becomes the database's.
func OpenTables(dir string, names []string, skips *Skips) (*DB, error) {
	d := &DB{Dir: dir, Skips: skips, Version: &Version{Dir: dir, ComparatorName: comparatorName}, Tables: names, Orphans: []string{}, collected: true}
	byName := map[string]*Family{}
	ids := map[string]bool{}
	var first error
	for _, name := range names {
		f, info, err := readEnds(dir, name, skips)
		if err != nil {
			if first == nil {
				first = err
			}
			d.report(name, "cannot be read", err, cureRestore)
			continue
		}
		fam := byName[info.Family]
		if fam == nil {
			fam = &Family{Name: info.Family, ComparatorName: info.Comparator, ID: uint32(len(byName)) + 1}
			if info.Family == "default" {
				fam.ID = 0
			}
			byName[info.Family] = fam
		}
		fam.Files = append(fam.Files, f)
		d.Size += f.Size
		if info.DBID != "" && !info.External {
			ids[info.DBID] = true
		}
	}
	if first != nil && len(byName) == 0 {
		return nil, first
	}
	if len(ids) > 1 {
		return nil, op.Errorf(op.Usage, "the SST files in %s are of %d databases: which of their entries is the newer one cannot be told", dir, len(ids)).
			WithTry("name one file, or give each database a directory of its own")
	}
	for _, fam := range byName {
		slices.SortFunc(fam.Files, func(a, b File) int { return cmp.Compare(b.Number, a.Number) })
		d.Version.Families = append(d.Version.Families, *fam)
	}
	slices.SortFunc(d.Version.Families, func(a, b Family) int {
		return cmp.Or(cmp.Compare(min(a.ID, 1), min(b.ID, 1)), strings.Compare(a.Name, b.Name))
	})
	d.LiveSize = d.Size
	return d, nil
}

// ByDatabase deals SST files in dir to the databases that wrote them, in the
// order of their ids. Where it is one, or no file says, the only id is "". What
// does not belong to one of several, such as files that were ingested, has the
// id "unknown"; files that cannot be read are with the first.
func ByDatabase(dir string, names []string) iter.Seq2[string, []string] {
	byID, unread := map[string][]string{}, []string(nil)
	for _, name := range names {
		t, err := OpenTableFile(filepath.Join(dir, name))
		if err != nil {
			unread = append(unread, name)
			continue
		}
		info := t.Info()
		t.close()
		id := info.DBID
		if id == "" || info.External {
			id = "unknown"
		}
		byID[id] = append(byID[id], name)
	}
	ids := slices.Sorted(maps.Keys(byID))
	known := len(ids)
	if _, ok := byID["unknown"]; ok {
		known--
	}
	return func(yield func(string, []string) bool) {
		if known < 2 {
			yield("", names)
			return
		}
		for i, id := range ids {
			list := byID[id]
			if i == 0 {
				list = slices.Concat(list, unread)
			}
			if !yield(id, list) {
				return
			}
		}
	}
}

// Databases is how many databases wrote the SST files in dir, as far as they say.
func Databases(dir string, names []string) (n int) {
	for id := range ByDatabase(dir, names) {
		if id != "unknown" {
			n++
		}
	}
	return n
}

// OnlyTable is the database as if it had one SST file alone, live or not.
func (d *DB) OnlyTable(name string) (*DB, error) {
	if d.Version != nil {
		for _, fam := range d.Version.Families {
			for _, f := range fam.Files {
				if f.Name() != name {
					continue
				}
				one := fam
				one.Files = []File{f}
				v := Version{Dir: d.Dir, ComparatorName: d.Version.ComparatorName, Families: []Family{one}}
				return &DB{Dir: d.Dir, Version: &v, Options: d.Options, Identity: d.Identity, Tables: []string{name}, Size: f.Size, LiveSize: f.Size, Skips: d.Skips, collected: true}, nil
			}
		}
	}
	return OpenTables(d.Dir, []string{name}, d.Skips)
}

// readEnds is what a MANIFEST would say of an SST file, as far as the file
// tells it itself.
func readEnds(dir, name string, skips *Skips) (File, TableInfo, error) {
	t, err := OpenTableFile(filepath.Join(dir, name))
	if err != nil {
		return File{}, TableInfo{}, err
	}
	defer t.Close()
	info := t.Info()
	f := File{Number: info.FileNumber, Size: info.Size, LargestSeq: maxSeq, Created: info.FileCreated, name: name}
	if n, ok := fileNumber(name, filepath.Ext(name)); ok {
		f.Number = n
	}
	if info.External {
		f.LargestSeq = info.GlobalSeq
	}
	it := t.Iter()
	defer it.Close()
	it.Readahead(0)
	it.Skip(skips)
	if it.First() {
		f.Smallest = bytes.Clone(it.Entry().Key)
		if f.Largest = bytes.Repeat([]byte{0xff}, 64); it.Last() { // else its last block is damaged: what is before it can be read
			f.Largest = bytes.Clone(it.Entry().Key)
		}
	} else if err := it.Err(); err != nil {
		return File{}, info, err
	}
	dels, err := t.RangeDeletes()
	if err != nil && !skips.past(Skip{File: filepath.Join(dir, name), What: SkipDeletions, Err: err}) {
		return File{}, info, err
	}
	for _, r := range dels {
		if f.Smallest == nil || bytes.Compare(r.Start, f.Smallest) < 0 {
			f.Smallest = bytes.Clone(r.Start)
		}
		if bytes.Compare(r.End, f.Largest) > 0 {
			f.Largest, f.LargestExclusive = bytes.Clone(r.End), true
		}
	}
	return f, info, nil
}

// DropDamaged takes the live files out that are missing or have another size
// than the MANIFEST says, so that the others can be read: rows are lost then,
// and older or deleted ones may show. It returns their names.
func (d *DB) DropDamaged() (dropped []string) {
	if d.Version == nil {
		return nil
	}
	v := *d.Version
	v.Families = slices.Clone(v.Families)
	for i := range v.Families {
		fam := &v.Families[i]
		fam.Files = slices.DeleteFunc(slices.Clone(fam.Files), func(f File) bool {
			st, err := os.Stat(v.Path(f))
			bad := err != nil || st.Size() != f.Size
			if bad {
				dropped = append(dropped, f.Name())
			}
			return bad
		})
	}
	if len(dropped) > 0 {
		d.Version, d.collected = &v, true
	}
	return dropped
}

// LosesRows says whether rows may be missing or wrong because of the problem:
// those of OPTIONS and IDENTITY are about what no row depends on.
func (p Problem) LosesRows() bool {
	return !strings.HasPrefix(p.File, "OPTIONS") && p.File != "IDENTITY"
}

// oneRunEach deals files to runs one by one, in their order, so that of equal
// sequence numbers the first wins; very many are dealt as any.
func oneRunEach(files []File) [][]File {
	if len(files) > maxPinned {
		return layout(files)
	}
	lists := make([][]File, len(files))
	for i, f := range files {
		lists[i] = []File{f}
	}
	return lists
}
