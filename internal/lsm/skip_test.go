package lsm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sstool/internal/op"
)

// placed is an entry and where it lies.
type placed struct {
	Entry
	file        string
	block, part int64 // offsets of its data block, and of its partition of the index
	end         []byte
}

// placedEntries are all entries of a family's live files, range tombstones
// included.
func placedEntries(t *testing.T, d *DB, fam *Family) (out []placed) {
	t.Helper()
	for _, f := range fam.Files {
		path := d.Version.Path(f)
		x := openFor(t, path)
		if err := x.AssumeSeq(f.LargestSeq); err != nil {
			t.Fatal(err)
		}
		it := x.Iter()
		for ok := it.First(); ok; ok = it.Next() {
			p := placed{Entry: cloned(it.Entry()), file: path, block: int64(it.at.off)}
			if it.x.twoLevel {
				p.part = int64(it.x.top.at().off)
			}
			out = append(out, p)
		}
		it.Close()
		dels, err := x.RangeDeletes()
		if err != nil || it.Err() != nil {
			t.Fatal(err, it.Err())
		}
		for _, r := range dels {
			r = truncate(r, f)
			out = append(out, placed{Entry: Entry{Key: r.Start, Seq: r.Seq, Kind: KindRangeDelete}, file: path, end: r.End})
		}
	}
	return out
}

// lost says whether what was skipped held the entry.
func (p *placed) lost(s *Skips) bool {
	return slices.ContainsFunc(s.List, func(k Skip) bool {
		if k.File != p.file {
			return false
		}
		isRange := p.Kind == KindRangeDelete
		switch k.What {
		case SkipFile:
			return true
		case SkipDeletions:
			return isRange
		case SkipIndex:
			return !isRange && k.Offset == p.part
		}
		return !isRange && k.Offset == p.block
	})
}

// modelRows are the rows that a reader sees of what was not skipped.
func modelRows(all []placed, s *Skips) map[string]string {
	best := map[string]*placed{}
	var dels []*placed
	for i := range all {
		p := &all[i]
		if p.lost(s) {
			continue
		}
		if p.Kind == KindRangeDelete {
			dels = append(dels, p)
		} else if b := best[string(p.Key)]; b == nil || newer(&p.Entry, &b.Entry) < 0 {
			best[string(p.Key)] = p
		}
	}
	rows := map[string]string{}
	for key, p := range best {
		covered := slices.ContainsFunc(dels, func(d *placed) bool {
			return d.Seq > p.Seq && bytes.Compare(d.Key, p.Key) <= 0 && bytes.Compare(p.Key, d.end) < 0
		})
		if !covered && !p.Kind.IsDelete() {
			rows[key] = string(p.Value)
		}
	}
	return rows
}

// skipping opens a database that reads past damage.
func skipping(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Skips = &Skips{}
	return d
}

// rowsPast reads a range past damage, both ways and by key, and says what was
// skipped on the way forward.
func rowsPast(t *testing.T, what, dir string, all []placed, rg Range) *Skips {
	t.Helper()
	read := func(reverse bool) *Skips {
		d := skipping(t, dir)
		got := map[string]string{}
		var last []byte
		_, err := d.EachRow([]string{"default"}, rg, reverse, func(_ string, key, value []byte) error {
			if last != nil && !before(last, key, reverse) {
				t.Fatalf("%s, reverse %v: %x after %x", what, reverse, key, last)
			}
			last = bytes.Clone(key)
			got[string(key)] = string(value)
			return nil
		})
		if err != nil {
			t.Fatalf("%s, reverse %v: %v", what, reverse, err)
		}
		want := modelRows(all, d.Skips)
		maps.DeleteFunc(want, func(key, _ string) bool {
			return rg.passed([]byte(key), false) || rg.passed([]byte(key), true)
		})
		if !maps.Equal(got, want) {
			t.Errorf("%s, reverse %v: %d rows past %+v, want %d", what, reverse, len(got), d.Skips.List, len(want))
		}
		return d.Skips
	}
	skips := read(false)
	read(true)
	return skips
}

// TestSkip flips a bit here and there in each file of databases with deletions,
// range tombstones and rows in several files: what is read past the damage is
// what a reader would see if the store did not have the skipped entries.
func TestSkip(t *testing.T) {
	kinds := map[SkipKind]int{}
	root, _ := unpackVariants(t)
	for _, name := range []string{"fv2", "fv5", "fv6", "two-level", "kZSTD", "hash-data"} {
		t.Run(name, func(t *testing.T) { skipIn(t, filepath.Join(root, name), kinds) })
	}
	for _, k := range []SkipKind{SkipBlock, SkipIndex, SkipDeletions, SkipFile} {
		if kinds[k] == 0 {
			t.Errorf("nothing skipped as %s: %v", k, kinds)
		}
	}
}

func skipIn(t *testing.T, dir string, kinds map[SkipKind]int) {
	d := skipping(t, dir)
	fam, err := d.Family("default")
	if err != nil {
		t.Fatal(err)
	}
	all := placedEntries(t, d, fam)
	mid := Range{From: all[len(all)/3].Key, To: all[len(all)/2].Key}
	if bytes.Compare(mid.From, mid.To) > 0 {
		mid.From, mid.To = mid.To, mid.From
	}
	if s := rowsPast(t, "whole", dir, all, Range{}); len(s.List) > 0 {
		t.Fatalf("a good store: %+v", s.List)
	}
	older := 0
	whole := modelRows(all, &Skips{})
	for _, f := range fam.Files {
		path := d.Version.Path(f)
		good := read(t, path)
		for off := len(path) % 7; off < len(good); off += max(1, len(good)/24) {
			bad := slices.Clone(good)
			bad[off] ^= 1 << (off % 8)
			write(t, path, bad)
			what := fmt.Sprintf("%s byte %d of %d", f.Name(), off, len(good))
			skips := rowsPast(t, what, dir, all, Range{})
			rowsPast(t, what+" range", dir, all, mid)
			for _, k := range skips.List {
				kinds[k.What]++
				checkSkip(t, what, k, all, int64(off))
			}
			if len(skips.List) > 0 {
				for key, value := range modelRows(all, skips) {
					if v, ok := whole[key]; !ok || v != value {
						older++
					}
				}
				getPast(t, what, dir, all, off)
			}
		}
		write(t, path, good)
	}
	if older == 0 {
		t.Error("no older row shows anywhere: the test shows little")
	}
}

// checkSkip checks that what was skipped is what is damaged, and the last good
// key before it.
func checkSkip(t *testing.T, what string, k Skip, all []placed, off int64) {
	t.Helper()
	wantCorrupt(t, what, filepath.Base(k.File), k.Err)
	if k.What != SkipBlock {
		return
	}
	var last []byte
	for i := range all {
		p := &all[i]
		if p.file != k.File || p.Kind == KindRangeDelete {
			continue
		}
		if p.block < k.Offset {
			last = p.Key
		}
		if p.block > k.Offset && p.block <= off || k.Offset > off {
			t.Errorf("%s: skipped the block at %d, damaged is another", what, k.Offset)
			return
		}
	}
	if !bytes.Equal(last, k.LastKey) || (last == nil) != (k.LastKey == nil) {
		t.Errorf("%s: last good key %x, want %x", what, k.LastKey, last)
	}
}

// getPast looks keys up past damage.
func getPast(t *testing.T, what, dir string, all []placed, seed int) {
	t.Helper()
	for i := seed % 13; i < len(all); i += 13 {
		if all[i].Kind == KindRangeDelete {
			continue
		}
		d := skipping(t, dir)
		value, ok, err := d.Get("default", all[i].Key)
		if err != nil {
			t.Fatalf("%s: get: %v", what, err)
		}
		want, has := modelRows(all, d.Skips)[string(all[i].Key)]
		if ok != has || string(value) != want {
			t.Errorf("%s: key %x: %.20q %v past %+v, want %.20q %v", what, all[i].Key, value, ok, d.Skips.List, want, has)
		}
	}
}

// TestSkipZeros reads a file whose blocks are all zeros: every block is
// skipped, the list is bounded, and a limit ends it.
func TestSkipZeros(t *testing.T) {
	dir := database(t)
	path := smallest(t, dir)
	x := openFor(t, path)
	data := read(t, path)
	var blocks []handle
	index, err := x.newIndex()
	if err != nil {
		t.Fatal(err)
	}
	for ok := index.begin(forward); ok; ok = index.move(forward) {
		h := index.at()
		blocks = append(blocks, h)
		clear(data[h.off:h.end()])
	}
	if len(blocks) < 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	bad, err := OpenTable("zeros", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	for _, limit := range []int{0, 1} {
		it := bad.Iter()
		s := &Skips{Limit: limit}
		it.Skip(s)
		for _, ok := range []bool{it.First(), it.Last(), it.SeekGE([]byte("k")), it.SeekLT([]byte("z"))} {
			if ok || (it.Err() == nil) != (limit == 0) {
				t.Errorf("limit %d: %v, %v", limit, ok, it.Err())
			}
		}
		if want := len(blocks); limit == 0 && len(s.List) != want || limit > 0 && len(s.List) != limit {
			t.Errorf("limit %d: %d of %d blocks skipped", limit, len(s.List), want)
		}
		it.Close()
	}
}

func TestSkipsAreBounded(t *testing.T) {
	s := &Skips{}
	for i := range 3 * maxSkips {
		if !s.past(Skip{File: "f", What: SkipBlock, Offset: int64(i), Err: corrupt("f", int64(i), "x")}) {
			t.Fatal(i)
		}
	}
	if len(s.List) != maxSkips || len(s.seen) != maxSkips || !s.More {
		t.Errorf("%d listed, %d kept, more %v", len(s.List), len(s.seen), s.More)
	}
	if s.past(Skip{Err: op.Errorf(op.Failed, "a disk")}) || s.past(Skip{Err: os.ErrNotExist}) || (*Skips)(nil).past(Skip{Err: corrupt("f", 0, "x")}) {
		t.Error("went past what is no corruption, or without being asked to")
	}
}

// TestIngestedSequence: the sequence number of an ingested file may be patched
// behind its checksum, so that only the MANIFEST can tell a flipped bit in it,
// which makes its rows newer or older than they are.
func TestIngestedSequence(t *testing.T) {
	dir := database(t)
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, f := range d.Version.Families[0].Files {
		path := d.Version.Path(f)
		x := openFor(t, path)
		if _, ok := x.props.globalSeqno(); !ok {
			continue
		}
		good := read(t, path)
		at := bytes.Index(good, []byte(PropGlobalSeqno)[len("rocksdb."):]) // the keys share that
		for off := at; off < at+64; off++ {
			bad := slices.Clone(good)
			bad[off] ^= 1
			b, err := OpenTable(path, bytes.NewReader(bad), int64(len(bad)))
			if err != nil {
				continue // the checksum tells
			}
			flipped++
			wantCorrupt(t, "AssumeSeq", filepath.Base(path), b.AssumeSeq(f.LargestSeq))
			write(t, path, bad)
			_, err = VerifyDB(dir, 1)
			wantCorrupt(t, "VerifyDB", filepath.Base(path), err)
			wantCorrupt(t, "Rows", filepath.Base(path), Rows(dir, "default", func(_, _ []byte) error { return nil }))
			_, _, err = d.Get("default", f.Smallest)
			wantCorrupt(t, "Get", filepath.Base(path), err)
			b.close()
		}
		write(t, path, good)
	}
	if flipped == 0 {
		t.Error("no bit of a sequence number flipped")
	}
}
