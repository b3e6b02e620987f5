package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

// inDir is a bucket in a directory.
func inDir(t *testing.T, o Options) (*Bucket, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bucket")
	o.Create = true
	b, err := Open(t.Context(), "file://"+dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, dir
}

// TestListDirKnowsEveryName: fileblob escapes some of what Kafka allows.
func TestListDirKnowsEveryName(t *testing.T) {
	b, _ := inDir(t, Options{})
	for _, app := range []string{"plain", "a..", "..b", "x__0x2f__y", "x__0x", "__0x"} {
		m := state{"1.sst": app}.manifest(app)
		if _, err := b.Push(t.Context(), m, state{"1.sst": app}.open, PushOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		ms, err := b.Manifests(t.Context(), app)
		if err != nil || len(ms) != 1 || ms[0].ID != m.ID {
			t.Errorf("%q: %v, %v", app, ms, err)
		}
	}
	whole(t, b, Key{})
	if n := len(keys(t, b, "objects/")); n != 6 {
		t.Errorf("%d objects are listed, want 6", n)
	}
	if n := len(keys(t, b, "nothing/")); n != 0 {
		t.Errorf("%d objects where nothing is", n)
	}
}

func FuzzUnescaped(f *testing.F) {
	for _, s := range []string{"a", "a__0x2f__b", "__0x__", "__0xzz__", "__0x110000__", "__0x2f_", "__0x__0x2f__"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := unescaped(s); len(got) > len(s) || !strings.Contains(s, "__0x") && got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}

// TestPruneRemovesWhatTheKilledWereWriting, but nothing that is being written.
func TestPruneRemovesWhatTheKilledWereWriting(t *testing.T) {
	b, dir := inDir(t, Options{lease: time.Minute})
	m, _ := mustPush(t, b, state{"1.sst": "one"}, PushOptions{})
	object := keys(t, b, "objects/")[0]
	long := time.Now().Add(-time.Hour)
	half := []string{object + ".18ecf55a0a618eb9.tmp", manifestKey("app", m.ID) + ".18ecf55a0a618eb9.tmp", pendingDir + m.ID + ".json.1a.tmp"}
	stay := []string{"objects/plain/notes.tmp", object + ".18ecf55a0a618ebf.tmp"}
	for i, name := range append(slices.Clone(half), stay...) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(p, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			if err := os.Chtimes(p, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	for grace, want := range map[time.Duration]int{2 * time.Hour: 0, 0: len(half)} {
		p, err := b.PlanPrune(t.Context(), Policy{Keep: 1, Grace: grace}, nil)
		if err != nil || len(p.Partial) != want {
			t.Fatalf("grace %s: %v, %v", grace, p.Partial, err)
		}
		if want == 0 {
			continue
		}
		if _, err := p.Apply(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	all := keys(t, b, "")
	for _, name := range half {
		if slices.Contains(all, name) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range stay {
		if !slices.Contains(all, name) {
			t.Errorf("%s is gone", name)
		}
	}
	whole(t, b, Key{})
}

// TestOutside: a bucket among an application's tasks would be taken for one.
func TestOutside(t *testing.T) {
	root := t.TempDir()
	app := filepath.Join(root, "state", "app")
	link := filepath.Join(root, "link")
	if err := os.MkdirAll(app, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(app, link); err != nil {
		t.Fatal(err)
	}
	for dir, ok := range map[string]bool{app: false, app + "/a/b": false, link: false, link + "/a": false, app + "-backup": true, filepath.Dir(app) + "/backup": true} {
		b, err := Open(t.Context(), "file://"+dir, Options{Create: true, Outside: app})
		if ok != (err == nil) || !ok && op.KindOf(err) != op.Usage {
			t.Errorf("%s: %v", dir, err)
		}
		if err == nil {
			b.Close()
		}
	}
	if left, err := os.ReadDir(app); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
