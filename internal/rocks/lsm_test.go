//go:build cgo

package rocks

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/lsm"
)

// world is a database written through RocksDB with everything that package lsm
// has to understand, and beside it a plain model of what it holds.
type world struct {
	t     testing.TB
	rnd   *rand.Rand
	dir   string
	db    *grocksdb.DB
	names []string
	cfs   []*grocksdb.ColumnFamilyHandle
	opts  []*grocksdb.Options
	model []map[string]string
	once  []map[string]bool // keys of single deletes: written once
	w     *grocksdb.WriteOptions
	held  []*grocksdb.Snapshot
	n     int
}

// newWorld opens a database with families of different shapes: universal with
// few files, leveled with many small ones, ingested into.
func newWorld(t testing.TB, seed int64) *world {
	x := &world{t: t, rnd: rand.New(rand.NewSource(seed)), dir: filepath.Join(t.TempDir(), "db"), names: []string{"default", "leveled", "many"}}
	table := ";compression=kNoCompression;block_based_table_factory={block_size=512;filter_policy=bloomfilter:10:false;format_version=6}"
	for i, o := range []string{
		"compaction_style=kCompactionStyleUniversal;write_buffer_size=65536",
		"compaction_style=kCompactionStyleLevel;write_buffer_size=65536;target_file_size_base=8192;max_bytes_for_level_base=16384;max_bytes_for_level_multiplier=3;level0_file_num_compaction_trigger=2",
		"compaction_style=kCompactionStyleLevel;write_buffer_size=65536;target_file_size_base=512;max_bytes_for_level_base=32768;max_bytes_for_level_multiplier=4",
	} {
		opt, err := grocksdb.GetOptionsFromString(nil, "create_if_missing=true;create_missing_column_families=true;atomic_flush=true;"+o+table)
		must(t, err)
		if i == 0 {
			opt.SetInfoLogLevel(grocksdb.WarnInfoLogLevel)
		}
		x.opts = append(x.opts, opt)
		x.model = append(x.model, map[string]string{})
		x.once = append(x.once, map[string]bool{})
	}
	var err error
	x.db, x.cfs, err = grocksdb.OpenDbColumnFamilies(x.opts[0], x.dir, x.names, x.opts)
	must(t, err)
	x.w = grocksdb.NewDefaultWriteOptions()
	x.w.DisableWAL(true)
	t.Cleanup(x.close)
	return x
}

func (x *world) close() {
	for _, s := range x.held {
		x.db.ReleaseSnapshot(s)
	}
	for _, cf := range x.cfs {
		cf.Destroy()
	}
	x.db.Close()
	x.w.Destroy()
	for _, o := range x.opts {
		o.Destroy()
	}
}

func (x *world) key() string {
	switch k := x.rnd.Intn(6000); {
	case k == 0:
		return ""
	case k < 30:
		return strings.Repeat("\xff", k%9) // what sorts behind all others
	default:
		return fmt.Sprintf("key-%04d", k)[:4+x.rnd.Intn(5)]
	}
}

// step does one thing at random.
func (x *world) step() {
	f := x.rnd.Intn(len(x.cfs))
	cf, m := x.cfs[f], x.model[f]
	x.n++
	switch c := x.rnd.Intn(1000); {
	case c < 700:
		k, v := x.key(), fmt.Sprintf("%d-%s", x.n, strings.Repeat("v", x.rnd.Intn(60)))
		must(x.t, x.db.PutCF(x.w, cf, []byte(k), []byte(v)))
		m[k] = v
	case c < 850:
		k := x.key()
		must(x.t, x.db.DeleteCF(x.w, cf, []byte(k)))
		delete(m, k)
	case c < 900: // a key that is written once, and its single delete
		k := fmt.Sprintf("single-%04d", x.rnd.Intn(400))
		if x.once[f][k] {
			if _, ok := m[k]; ok {
				must(x.t, x.db.SingleDeleteCF(x.w, cf, []byte(k)))
				delete(m, k)
			}
			return
		}
		must(x.t, x.db.PutCF(x.w, cf, []byte(k), []byte("once")))
		m[k], x.once[f][k] = "once", true
	case c < 940:
		from, to := x.key(), x.key()
		if from > to {
			from, to = to, from
		}
		if x.rnd.Intn(40) > 0 {
			to = from + "0"
		}
		must(x.t, x.db.DeleteRangeCF(x.w, cf, []byte(from), []byte(to)))
		maps.DeleteFunc(m, func(k, _ string) bool { return k >= from && k < to })
	case c < 985:
		x.flush()
	case c < 990:
		x.ingest(f)
	case c < 994:
		from, to := x.key(), x.key()
		if from > to {
			from, to = to, from
		}
		x.db.CompactRangeCF(cf, grocksdb.Range{Start: []byte(from), Limit: []byte(to)})
	case c < 995:
		x.db.CompactRangeCF(cf, grocksdb.Range{})
	case len(x.held) < 4:
		x.held = append(x.held, x.db.NewSnapshot())
	default:
		x.db.ReleaseSnapshot(x.held[0])
		x.held = x.held[1:]
	}
}

func (x *world) flush() {
	o := grocksdb.NewDefaultFlushOptions()
	defer o.Destroy()
	must(x.t, x.db.FlushCFs(x.cfs, o))
}

// ingest adds a file made outside: puts, deletes and a range delete, all with
// one sequence number.
func (x *world) ingest(f int) {
	env := grocksdb.NewDefaultEnvOptions()
	defer env.Destroy()
	w := grocksdb.NewSSTFileWriter(env, x.opts[f])
	defer w.Destroy()
	path := filepath.Join(x.t.TempDir(), "in.sst")
	must(x.t, w.Open(path))
	m := x.model[f]
	if x.rnd.Intn(2) == 0 {
		from := x.key()
		must(x.t, w.DeleteRange([]byte(from), []byte(from+"5")))
		maps.DeleteFunc(m, func(k, _ string) bool { return k >= from && k < from+"5" })
	}
	keys := map[string]bool{}
	for range 1 + x.rnd.Intn(30) {
		keys[x.key()] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if x.rnd.Intn(5) == 0 {
			must(x.t, w.Delete([]byte(k)))
			delete(m, k)
			continue
		}
		v := fmt.Sprintf("ingested %d", x.n)
		must(x.t, w.Put([]byte(k), []byte(v)))
		m[k] = v
	}
	must(x.t, w.Finish())
	o := grocksdb.NewDefaultIngestExternalFileOptions()
	defer o.Destroy()
	must(x.t, x.db.IngestExternalFileCF(x.cfs[f], []string{path}, o))
}

// settle waits until nothing changes the files any more.
func (x *world) settle() {
	x.flush()
	o := grocksdb.NewWaitForCompactOptions()
	defer o.Destroy()
	must(x.t, x.db.WaitForCompact(o))
}

// TestModel reads random databases and compares everything with RocksDB and
// with the model.
func TestModel(t *testing.T) {
	for seed := range int64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := newWorld(t, seed)
			levels, most := map[int]bool{}, 0
			for range 3 {
				for range 6000 {
					x.step()
				}
				x.settle()
				d, err := lsm.OpenDB(x.dir)
				must(t, err)
				if len(d.Problems)+len(d.Missing) > 0 {
					t.Fatalf("problems %v, missing %v", d.Problems, d.Missing)
				}
				x.checkVersion(d)
				for f := range x.names {
					x.checkRows(d, f)
					x.checkWalk(d, f)
					x.checkGet(d, f)
					x.checkAll(d, f)
				}
				for _, f := range d.Version.Families {
					most = max(most, len(f.Files))
					for _, file := range f.Files {
						levels[file.Level] = true
					}
				}
			}
			if len(levels) < 3 || most < 40 {
				t.Errorf("levels %v, at most %d files; want more of both, or less is tested than meant", levels, most)
			}
		})
	}
}

// checkVersion compares the live files with RocksDB's list.
func (x *world) checkVersion(d *lsm.DB) {
	var got, want []string
	for _, fam := range d.Version.Families {
		for _, f := range fam.Files {
			got = append(got, fmt.Sprintf("%s /%s level %d size %d %x..%x", fam.Name, f.Name(), f.Level, f.Size, f.Smallest, f.Largest))
		}
	}
	for _, f := range x.db.GetLiveFilesMetaData() {
		want = append(want, fmt.Sprintf("%s %s level %d size %d %x..%x", f.ColumnFamilyName, f.Name, f.Level, f.Size, f.SmallestKey, f.LargestKey))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		x.t.Fatalf("live files\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// rows are what RocksDB's own iterator shows, checked against the model.
func (x *world) rows(f int) (out [][2]string) {
	ro := grocksdb.NewDefaultReadOptions()
	defer ro.Destroy()
	it := x.db.NewIteratorCF(ro, x.cfs[f])
	defer it.Close()
	for it.SeekToFirst(); it.Valid(); it.Next() {
		out = append(out, [2]string{string(it.KeySlice().Data()), string(it.ValueSlice().Data())})
	}
	must(x.t, it.Err())
	if len(out) != len(x.model[f]) {
		x.t.Fatalf("%s: RocksDB shows %d rows, the model has %d", x.names[f], len(out), len(x.model[f]))
	}
	for _, r := range out {
		if v, ok := x.model[f][r[0]]; !ok || v != r[1] {
			x.t.Fatalf("%s: RocksDB shows %q = %q, the model has %q", x.names[f], r[0], r[1], v)
		}
	}
	return out
}

func (x *world) iter(d *lsm.DB, f int, o lsm.IterOptions) *lsm.Iter {
	it, err := d.Iter(x.names[f], o)
	must(x.t, err)
	x.t.Cleanup(it.Close)
	return it
}

func (x *world) checkRows(d *lsm.DB, f int) {
	want := x.rows(f)
	it := x.iter(d, f, lsm.IterOptions{})
	defer it.Close()
	i := 0
	for ok := it.First(); ok; ok = it.Next() {
		if i < len(want) {
			x.same("forward", it.Entry(), want[i])
		}
		i++
	}
	if it.Err() != nil || i != len(want) {
		x.t.Fatalf("%s forward: %d rows, %v; want %d", x.names[f], i, it.Err(), len(want))
	}
	i = len(want)
	for ok := it.Last(); ok; ok = it.Prev() {
		if i--; i >= 0 {
			x.same("backward", it.Entry(), want[i])
		}
	}
	if it.Err() != nil || i != 0 {
		x.t.Fatalf("%s backward: %d rows left, %v", x.names[f], i, it.Err())
	}
}

func (x *world) same(what string, e lsm.Entry, want [2]string) {
	x.t.Helper()
	if string(e.Key) != want[0] || string(e.Value) != want[1] || e.Kind != lsm.KindPut {
		x.t.Fatalf("%s: %q = %q (%s), want %q = %q", what, e.Key, e.Value, e.Kind, want[0], want[1])
	}
}

// checkWalk seeks and turns at random.
func (x *world) checkWalk(d *lsm.DB, f int) {
	want := x.rows(f)
	it := x.iter(d, f, lsm.IterOptions{})
	defer it.Close()
	at, ok := -1, false
	for range 3000 {
		switch c := x.rnd.Intn(20); {
		case c == 0:
			k := x.key()
			at = slices.IndexFunc(want, func(r [2]string) bool { return r[0] >= k })
			ok = it.SeekGE([]byte(k))
		case c == 1:
			k := x.key()
			if at = slices.IndexFunc(want, func(r [2]string) bool { return r[0] >= k }); at < 0 {
				at = len(want)
			}
			at--
			ok = it.SeekLT([]byte(k))
		case !ok:
			continue
		case c < 12:
			if at++; at == len(want) {
				at = -1
			}
			ok = it.Next()
		default:
			at--
			ok = it.Prev()
		}
		if it.Err() != nil || ok != (at >= 0) || ok != it.Valid() {
			x.t.Fatalf("%s: at row %d of %d: %v, %v", x.names[f], at, len(want), ok, it.Err())
		}
		if ok {
			x.same("walk", it.Entry(), want[at])
		}
	}
}

func (x *world) checkGet(d *lsm.DB, f int) {
	for range 300 {
		k := x.key()
		if x.rnd.Intn(10) == 0 {
			k = fmt.Sprintf("single-%04d", x.rnd.Intn(400))
		}
		v, ok, err := d.Get(x.names[f], []byte(k))
		want, has := x.model[f][k]
		if err != nil || ok != has || string(v) != want {
			x.t.Fatalf("%s: get %q: %q, %v, %v; want %q, %v", x.names[f], k, v, ok, err, want, has)
		}
	}
}

// checkAll compares all entries with the tables' own counts, and backward with
// forward.
func (x *world) checkAll(d *lsm.DB, f int) {
	it := x.iter(d, f, lsm.IterOptions{All: true})
	defer it.Close()
	var entries, ranges, want int64
	var list []string
	var last lsm.Entry
	for ok := it.First(); ok; ok = it.Next() {
		e := it.Entry()
		if entries > 0 {
			if c := bytes.Compare(last.Key, e.Key); c > 0 || c == 0 && (last.Seq < e.Seq || last.Seq == e.Seq && last.Kind < e.Kind) {
				x.t.Fatalf("%s: %q %d after %q %d", x.names[f], e.Key, e.Seq, last.Key, last.Seq)
			}
		}
		last = lsm.Entry{Key: bytes.Clone(e.Key), Seq: e.Seq, Kind: e.Kind}
		list = append(list, fmt.Sprintf("%q %d %s %q", e.Key, e.Seq, e.Kind, e.Value))
		entries++
		if e.Kind == lsm.KindRangeDelete {
			ranges++
		}
	}
	must(x.t, it.Err())
	for _, s := range d.ReadTables(1) {
		must(x.t, s.Err)
		if s.Live && s.Family == x.names[f] {
			want += s.Info.Entries
		}
	}
	if entries != want {
		x.t.Fatalf("%s: %d entries with %d range deletes, the tables have %d", x.names[f], entries, ranges, want)
	}
	i := len(list)
	for ok := it.Last(); ok; ok = it.Prev() {
		e := it.Entry()
		if i--; i < 0 || list[i] != fmt.Sprintf("%q %d %s %q", e.Key, e.Seq, e.Kind, e.Value) {
			x.t.Fatalf("%s: entry %d backward: %q %d, want %s", x.names[f], i, e.Key, e.Seq, list[max(0, i)])
		}
	}
	if it.Err() != nil || i != 0 {
		x.t.Fatalf("%s: %d entries left backward, %v", x.names[f], i, it.Err())
	}
}
