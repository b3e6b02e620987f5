//go:build cgo

package rocks

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/lsm"
)

// openWith opens a database for one test with options as text.
func openWith(t *testing.T, text string, also func(o *grocksdb.Options)) (dir string, db *grocksdb.DB, w *grocksdb.WriteOptions) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	o, err := grocksdb.GetOptionsFromString(nil, "create_if_missing=true;"+text)
	must(t, err)
	if also != nil {
		also(o)
	}
	db, err = grocksdb.OpenDb(o, dir)
	must(t, err)
	w = grocksdb.NewDefaultWriteOptions()
	w.DisableWAL(true)
	t.Cleanup(func() { db.Close(); w.Destroy(); o.Destroy() })
	return dir, db, w
}

// TestBlobs reads values that RocksDB keeps in blob files.
func TestBlobs(t *testing.T) {
	for _, compression := range []string{"kNoCompression", "kZSTD", "kLZ4Compression", "kSnappyCompression"} {
		t.Run(compression, func(t *testing.T) {
			dir, db, w := openWith(t, "enable_blob_files=true;min_blob_size=20;disable_auto_compactions=true;blob_compression_type="+compression, nil)
			want := map[string]string{}
			for i := range 500 {
				k, v := fmt.Sprintf("k%03d", i), strings.Repeat(fmt.Sprint(i), i%40)
				must(t, db.Put(w, []byte(k), []byte(v)))
				want[k] = v
				if i%100 == 99 {
					flushed(t, db)
				}
			}
			d, err := lsm.OpenDB(dir)
			must(t, err)
			if b := d.Version.Families[0].Blobs; len(b) != 5 || b[0].Count == 0 || b[0].Bytes == 0 {
				t.Errorf("blob files %+v, want five", b)
			}
			it, err := d.Iter(DefaultFamily, lsm.IterOptions{})
			must(t, err)
			defer it.Close()
			for _, reverse := range []bool{false, true} {
				start, step, n := it.First, it.Next, 0
				if reverse {
					start, step = it.Last, it.Prev
				}
				for ok := start(); ok; ok = step() {
					e := it.Entry()
					if v, ok := want[string(e.Key)]; !ok || v != string(e.Value) {
						t.Fatalf("%s = %q, want %q", e.Key, e.Value, v)
					}
					n++
				}
				if it.Err() != nil || n != len(want) {
					t.Errorf("%d rows, %v", n, it.Err())
				}
			}
			for k, v := range want {
				if got, ok, err := d.Get(DefaultFamily, []byte(k)); !ok || err != nil || string(got) != v {
					t.Fatalf("get %s: %q, %v, %v", k, got, ok, err)
				}
			}
			must(t, os.Remove(filepath.Join(dir, d.Version.Families[0].Blobs[0].Name())))
			if d, err = lsm.OpenDB(dir); err != nil || len(d.Problems) != 1 || !strings.Contains(d.Problems[0].What, "values of column family") {
				t.Errorf("a missing blob file: %v, %v", d.Problems, err)
			}
			if _, _, err := d.Get(DefaultFamily, []byte("k030")); err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("a value of the missing file: %v", err)
			}
		})
	}
}

// TestMergeOperands are refused as rows and shown as entries.
func TestMergeOperands(t *testing.T) {
	dir, db, w := openWith(t, "disable_auto_compactions=true", func(o *grocksdb.Options) { o.SetUint64AddMergeOperator() })
	one := binary.LittleEndian.AppendUint64(nil, 1)
	must(t, db.Put(w, []byte("a"), []byte("plain")))
	must(t, db.Merge(w, []byte("m"), one))
	flushed(t, db)
	must(t, db.Merge(w, []byte("m"), one))
	flushed(t, db)
	d, err := lsm.OpenDB(dir)
	must(t, err)
	if s := strings.Join(d.Remarks, "\n"); !strings.Contains(s, "merge operator") {
		t.Errorf("remarks %q, want one about the merge operator", s)
	}
	it, err := d.Iter(DefaultFamily, lsm.IterOptions{})
	must(t, err)
	defer it.Close()
	if !it.First() || string(it.Entry().Key) != "a" || it.Next() || it.Err() == nil || !strings.Contains(it.Err().Error(), "merge operator") {
		t.Errorf("%v, want the plain row and then an error", it.Err())
	}
	if _, _, err := d.Get(DefaultFamily, []byte("m")); err == nil || !strings.Contains(err.Error(), "merge operator") {
		t.Errorf("get: %v", err)
	}
	all, err := d.Iter(DefaultFamily, lsm.IterOptions{All: true})
	must(t, err)
	defer all.Close()
	n := 0
	for ok := all.First(); ok; ok = all.Next() {
		if all.Entry().Kind == lsm.KindMerge {
			n++
		}
	}
	if n != 2 || all.Err() != nil {
		t.Errorf("%d operands, %v; want 2", n, all.Err())
	}
}

// TestForeignOrder shows the entries of a family that the application orders
// itself, and nothing that would need the order.
func TestForeignOrder(t *testing.T) {
	byLength := grocksdb.NewComparator("test.ByLength", func(a, b []byte) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return bytes.Compare(a, b)
	})
	dir, db, w := openWith(t, "disable_auto_compactions=true", func(o *grocksdb.Options) { o.SetComparator(byLength) })
	for _, k := range []string{"zz", "a", "ccc"} {
		must(t, db.Put(w, []byte(k), []byte("v")))
	}
	flushed(t, db)
	must(t, db.Put(w, []byte("z"), []byte("v")))
	must(t, db.Delete(w, []byte("aaa")))
	flushed(t, db)
	d, err := lsm.OpenDB(dir)
	must(t, err)
	if len(d.Problems) > 0 || !strings.Contains(strings.Join(d.Remarks, "\n"), `"test.ByLength"`) {
		t.Errorf("problems %v, remarks %q", d.Problems, d.Remarks)
	}
	if _, err := d.Iter(DefaultFamily, lsm.IterOptions{}); err == nil || !strings.Contains(err.Error(), "test.ByLength") {
		t.Errorf("rows: %v, want an error that names the comparator", err)
	}
	if _, _, err := d.Get(DefaultFamily, []byte("a")); err == nil || !strings.Contains(err.Error(), "test.ByLength") {
		t.Errorf("get: %v, want an error that names the comparator", err)
	}
	it, err := d.Iter(DefaultFamily, lsm.IterOptions{All: true})
	must(t, err)
	defer it.Close()
	var keys []string
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, string(it.Entry().Key)+":"+it.Entry().Kind.String())
	}
	if s := strings.Join(keys, " "); it.Err() != nil || s != "a:put zz:put ccc:put z:put aaa:delete" {
		t.Errorf("%s, %v", s, it.Err())
	}
	for ok := it.Last(); ok; ok = it.Prev() {
		if k := string(it.Entry().Key) + ":" + it.Entry().Kind.String(); k != keys[len(keys)-1] {
			t.Fatalf("backward: %s, want %s", k, keys[len(keys)-1])
		}
		keys = keys[:len(keys)-1]
	}
	if len(keys) > 0 || it.Err() != nil {
		t.Errorf("backward: %v left, %v", keys, it.Err())
	}
	if it.SeekGE([]byte("a")) || it.Err() == nil {
		t.Error("a search in an unknown order succeeded")
	}
}
