package lsm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// store is a copy of a real store (Kafka 4.4: three families, OPTIONS) with the
// files that the archive leaves out.
func store(t *testing.T) string {
	t.Helper()
	_, app := lsmtest.Unpack(t, "4.4.0-opt-alos")
	dir := filepath.Join(app, "0_0", "rocksdb", "j")
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "IDENTITY"), []byte(d.Version.DBID))
	write(t, filepath.Join(dir, "LOCK"), nil)
	return dir
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenDB(t *testing.T) {
	dir := store(t)
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Problems)+len(d.Missing)+len(d.Orphans) > 0 || d.Retried != 0 {
		t.Errorf("a good store: problems %v, missing %v, orphans %v", d.Problems, d.Missing, d.Orphans)
	}
	if d.Version == nil || d.Options == nil || d.Identity == "" || len(d.Tables) == 0 {
		t.Fatalf("%+v", d)
	}
	var live, all int64
	for _, name := range d.Tables {
		live += int64(len(read(t, filepath.Join(dir, name))))
	}
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		all += int64(len(read(t, filepath.Join(dir, e.Name()))))
	}
	if d.LiveSize != live || d.Size != all {
		t.Errorf("%d live bytes of %d, want %d of %d", d.LiveSize, d.Size, live, all)
	}
	for _, s := range d.ReadTables(2) {
		if !s.Live || s.Family == "" || s.Err != nil || s.Info.Entries == 0 {
			t.Errorf("%s: %+v, %v", s.Name, s, s.Err)
		}
	}
	if len(d.Problems) > 0 {
		t.Errorf("reading the tables: %v", d.Problems)
	}
	write(t, filepath.Join(dir, "999999.sst"), []byte("being written"))
	write(t, filepath.Join(dir, "999998.log"), []byte("rows"))
	if d, err = OpenDB(dir); err != nil || !slices.Equal(d.Orphans, []string{"999999.sst"}) || d.WALBytes != 4 || len(d.Problems) > 0 {
		t.Errorf("orphans %v, %d bytes of logs, %v, %v", d.Orphans, d.WALBytes, d.Problems, err)
	}
	if !slices.ContainsFunc(d.Remarks, func(s string) bool { return strings.Contains(s, "write-ahead logs hold 4 bytes") }) {
		t.Errorf("remarks %q, want one about the logs", d.Remarks)
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(dir, "nowhere")} {
		if _, err := OpenDB(dir); op.KindOf(err) != op.NotFound {
			t.Errorf("%s: %v, want not found", dir, err)
		}
	}
}

// TestDamage damages each file of a store in each way: the rest is told, and
// what is wrong has a file, words and a cure.
func TestDamage(t *testing.T) {
	other := database(t)
	ov, err := ReadManifest(other)
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string][]byte{
		"CURRENT":  []byte("MANIFEST-000001\n"),
		"MANIFEST": read(t, filepath.Join(other, ov.Manifest)),
		"OPTIONS":  []byte("[Version]\n  rocksdb_version=6.0.0\n[CFOptions \"mine\"]\n[TableOptions/BlockBasedTable \"mine\"]\n"),
		"IDENTITY": []byte("00000000-0000-0000-0000-000000000000"),
		"SST":      read(t, ov.Path(ov.Families[0].Files[0])),
	}
	for _, file := range []string{"CURRENT", "MANIFEST", "OPTIONS", "IDENTITY", "SST"} {
		for _, way := range []string{"missing", "empty", "truncated", "garbage", "foreign"} {
			t.Run(file+" "+way, func(t *testing.T) {
				dir := store(t)
				good, err := OpenDB(dir)
				if err != nil {
					t.Fatal(err)
				}
				fam, _ := good.Version.Family("keyValueWithTimestamp")
				name := map[string]string{"CURRENT": "CURRENT", "MANIFEST": good.Version.Manifest, "OPTIONS": filepath.Base(good.Options.File), "IDENTITY": "IDENTITY", "SST": fam.Files[0].Name()}[file]
				path := filepath.Join(dir, name)
				b := read(t, path)
				switch way {
				case "missing":
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				case "empty":
					write(t, path, nil)
				case "truncated":
					write(t, path, b[:len(b)/2])
				case "garbage":
					write(t, path, bytes.Repeat([]byte{0xa5, 0x00, 0x17}, len(b)/3+1)[:len(b)])
				case "foreign":
					write(t, path, foreign[file])
				}
				checkDamage(t, dir, file, way, name, good)
			})
		}
	}
}

func checkDamage(t *testing.T, dir, file, way, name string, good *DB) {
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	states := d.ReadTables(1)
	if n := len(good.Tables); len(states) != n && !(file == "SST" && way == "missing" && len(states) == n-1) {
		t.Errorf("%d tables told, want %d", len(states), n)
	}
	readable := 0
	for _, s := range states {
		if s.Err == nil && s.Info.Entries > 0 && s.Family != "" {
			readable++
		}
	}
	want := len(good.Tables)
	if file == "SST" && way != "foreign" {
		want--
	}
	if readable != want {
		t.Errorf("%d tables with counts and a family, want %d", readable, want)
	}
	// What the state still is.
	if known := d.Version != nil; known != (file != "MANIFEST" || way == "foreign" || way == "truncated") {
		t.Errorf("live set known: %v", known)
	}
	if has := d.Options != nil; has != (file != "OPTIONS" || way == "foreign") {
		t.Errorf("OPTIONS known: %v", has)
	}
	if d.Identity == "" && file != "MANIFEST" {
		t.Error("no identity, although the MANIFEST has it too")
	}
	if file == "IDENTITY" && way == "missing" {
		if len(d.Problems) > 0 {
			t.Errorf("%v, want none: the file may be missing", d.Problems)
		}
		return
	}
	if file == "MANIFEST" && way == "truncated" {
		// An older state, or one that an application is writing.
		if !d.Version.Torn && len(d.Orphans) == 0 {
			t.Errorf("neither torn nor orphans")
		}
		if len(d.Problems) == 0 {
			t.Error("rows may be lost, and no problem is told")
		}
		return
	}
	names := []string{name}
	if file == "MANIFEST" && way == "missing" {
		names = []string{"CURRENT", "MANIFEST"}
	} else if way == "missing" {
		names = []string{file, name}
	}
	found := false
	for _, p := range d.Problems {
		if slices.Contains(names, p.File) {
			found = true
		}
		if p.What == "" || p.Cure == "" || p.String() == "" {
			t.Errorf("problem without words: %+v", p)
		}
		if p.Err != nil && op.KindOf(p.Err) == op.Corrupt && !strings.Contains(p.Err.Error(), "offset ") {
			t.Errorf("%v: no offset", p.Err)
		}
	}
	if !found {
		t.Errorf("problems %v, want one about %v", d.Problems, names)
	}
	// Rows are shown, or an error; never silently fewer.
	it, err := d.Iter("keyValueWithTimestamp", IterOptions{})
	rows := 0
	if err == nil {
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			rows++
		}
		err = it.Err()
	}
	all := count(t, good, "keyValueWithTimestamp")
	if err == nil && rows != all && file != "SST" {
		t.Errorf("%d rows without an error, want %d", rows, all)
	}
	if err == nil && file == "SST" {
		t.Error("no error for rows of a damaged file")
	}
	if err != nil && (file == "OPTIONS" || file == "IDENTITY" || file == "CURRENT") {
		t.Errorf("%v, want rows: nothing of them is lost", err)
	}
}

// count unpacks nothing: the fixture's rows are known from a second copy.
func count(t *testing.T, good *DB, family string) int {
	t.Helper()
	n := 0
	dir := store(t)
	if err := Rows(dir, family, func(_, _ []byte) error { n++; return nil }); err != nil || n == 0 {
		t.Fatalf("%d rows of %s, %v", n, good.Dir, err)
	}
	return n
}

// TestEveryByteOfTheManifest opens a store whose MANIFEST is cut or flipped
// anywhere: always an answer.
func TestEveryByteOfTheManifest(t *testing.T) {
	dir := store(t)
	good, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, good.Version.Manifest)
	b := read(t, path)
	for i := 0; i < len(b); i += 7 {
		for name, bad := range map[string][]byte{"cut": b[:i], "flip": flip(b, i)} {
			write(t, path, bad)
			d, err := OpenDB(dir)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, i, err)
			}
			if len(d.Tables) != len(good.Tables) {
				t.Fatalf("%s at %d: tables %v", name, i, d.Tables)
			}
			if d.Version == nil && len(d.Problems) == 0 {
				t.Errorf("%s at %d: live set unknown without a problem", name, i)
			}
		}
	}
}

func flip(b []byte, i int) []byte {
	b = slices.Clone(b)
	b[i] ^= 1 << (i % 8)
	return b
}

// TestOtherManifest takes the newest MANIFEST that can be read when CURRENT is
// lost.
func TestOtherManifest(t *testing.T) {
	dir := store(t)
	good, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := read(t, filepath.Join(dir, good.Version.Manifest))
	write(t, filepath.Join(dir, "MANIFEST-999999"), b[:len(b)/3])
	write(t, filepath.Join(dir, "CURRENT"), nil)
	d, err := OpenDB(dir)
	if err != nil || d.Version == nil || d.Version.Manifest != good.Version.Manifest {
		t.Fatalf("%+v, %v", d, err)
	}
	if s := fmt.Sprint(d.Problems); !strings.Contains(s, "CURRENT is empty") || !strings.Contains(s, "is taken instead") {
		t.Errorf("problems %s", s)
	}
	it, err := d.Iter("keyValueWithTimestamp", IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if it.Err() != nil || n != count(t, good, "keyValueWithTimestamp") {
		t.Errorf("%d rows, %v", n, it.Err())
	}
}

// TestForeignNames reads a database whose files have names of another system.
func TestForeignNames(t *testing.T) {
	dir := store(t)
	good, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, f := range good.Version.Families {
		_ = Rows(dir, f.Name, func(_, _ []byte) error { want[f.Name]++; return nil })
	}
	list, _ := os.ReadDir(dir)
	for i, e := range list {
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, fmt.Sprintf("%08x-aaaa-bbbb", i*7919))); err != nil {
			t.Fatal(err)
		}
	}
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Version == nil || d.Options == nil || len(d.Tables) != len(good.Tables) || len(d.Problems)+len(d.Missing)+len(d.Orphans) > 0 {
		t.Fatalf("%+v", d)
	}
	for _, f := range d.Version.Families {
		it, err := d.Iter(f.Name, IterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			n++
		}
		if it.Err() != nil || n != want[f.Name] {
			t.Errorf("%s: %d rows, %v; want %d", f.Name, n, it.Err(), want[f.Name])
		}
		it.Close()
	}
}

// TestUnchanged checks that reading leaves a directory as it was, also one
// that cannot be written to.
func TestUnchanged(t *testing.T) {
	dir := store(t)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	before := listingOf(t, dir)
	d, err := OpenDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.ReadTables(2)
	_, _ = d.ReadLog()
	for _, f := range d.Version.Families {
		it, err := d.Iter(f.Name, IterOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for ok := it.Last(); ok; ok = it.Prev() {
			if _, _, err := d.Get(f.Name, it.Entry().Key); err != nil {
				t.Fatal(err)
			}
		}
		it.Close()
	}
	if after := listingOf(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listingOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, e.Name(), st.Size(), st.Mode(), st.ModTime())
	}
	return b.String()
}
