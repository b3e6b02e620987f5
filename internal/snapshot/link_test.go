package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/op"
)

// TestLink: SST files are shared with the bucket, all others are copies, and
// nothing wrong is ever shared.
func TestLink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bucket")
	b, err := Open(t.Context(), "file://"+dir, Options{Create: true, Link: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := state{"000001.sst": "one", "000002.sst": "other", "CURRENT": "MANIFEST-000005\n"}
	m, _ := mustPush(t, b, s, PushOptions{})
	out, err := fetchAll(t, b, m, Key{})
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]string{}
	m.AllFiles(func(_ *Task, f *File) {
		object[filepath.Base(f.Path)] = filepath.Join(dir, filepath.FromSlash(objectKey(plainSpace, f.SHA256)))
	})
	for name, linked := range map[string]bool{"000001.sst": true, "000002.sst": true, "CURRENT": false} {
		path := filepath.Join(out, "rocksdb", "st", name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != s[name] {
			t.Errorf("%s holds %q: %v", name, got, err)
		}
		x, err1 := os.Stat(path)
		y, err2 := os.Stat(object[name])
		if err1 != nil || err2 != nil || os.SameFile(x, y) != linked {
			t.Errorf("%s: shared %v, want %v; %v %v", name, !linked, linked, err1, err2)
		}
	}
	if err := os.WriteFile(object["000001.sst"], []byte("eno"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = fetchAll(t, b, m, Key{})
	if op.KindOf(err) != op.Corrupt || err == nil {
		t.Errorf("a wrong object: %v", err)
	}
	if got, err := os.ReadDir(filepath.Join(out, "rocksdb", "st")); err == nil {
		for _, e := range got {
			if e.Name() == "000001.sst" || filepath.Ext(e.Name()) == ".part" {
				t.Errorf("%s is there", e.Name())
			}
		}
	}
}

// TestLinkIsOfPlainObjects: an encrypted object is no file of a store.
func TestLinkIsOfPlainObjects(t *testing.T) {
	b, err := Open(t.Context(), "file://"+filepath.Join(t.TempDir(), "bucket"), Options{Create: true, Link: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	seal, key := ageKeys(t)
	m, _ := mustPush(t, b, state{"000001.sst": "one"}, PushOptions{Seal: seal})
	out, err := fetchAll(t, b, m, key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "rocksdb", "st", "000001.sst")); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
}
