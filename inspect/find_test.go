package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/op"
)

// tree makes directories (ending in /) and empty files below a new directory.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range paths {
		full := filepath.Join(root, p)
		dir := filepath.Dir(full)
		if strings.HasSuffix(p, "/") {
			dir = full
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == full {
			continue
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// shape is a tree in short: app/task/store, with segments or files, and oddities.
func shape(root string, tr *Tree) []string {
	rel := func(p string) string { return strings.TrimPrefix(p, root+"/") }
	var out []string
	for _, a := range tr.Apps {
		for _, o := range a.Odd {
			out = append(out, "odd "+rel(o.Path))
		}
		for _, k := range a.Tasks {
			if len(k.Stores) == 0 {
				out = append(out, fmt.Sprintf("%s/%s empty", a.ID, k.Name))
			}
			for _, o := range k.Odd {
				out = append(out, "odd "+rel(o.Path))
			}
			for _, s := range k.Stores {
				text := fmt.Sprintf("%s/%s/%s", a.ID, k.Name, s.Name)
				for _, d := range s.Databases {
					if s.Segmented {
						text += fmt.Sprintf(" %d", d.Start)
					}
					if d.Only != "" {
						text += " " + d.Only
					}
				}
				out = append(out, text)
				for _, o := range s.Odd {
					out = append(out, "odd "+rel(o.Path))
				}
			}
		}
	}
	for _, o := range slices.Concat(tr.Odd, tr.Unreadable) {
		out = append(out, "odd "+rel(o.Path))
	}
	return out
}

func TestFindFromAnyPath(t *testing.T) {
	root := tree(t,
		"state/orders/kafka-streams-process-metadata",
		"state/orders/0_0/.checkpoint", "state/orders/0_0/rocksdb/counts/CURRENT", "state/orders/0_0/rocksdb/counts/000010.sst",
		"state/orders/0_10/.lock",
		"state/orders/0_2/rocksdb/counts/CURRENT",
		"state/orders/0_2/win/win.60000/CURRENT", "state/orders/0_2/win/win.0/CURRENT", "state/orders/0_2/win/win:120000/CURRENT", "state/orders/0_2/win/lost+found/",
		"state/orders/global/rocksdb/ref/CURRENT",
		"state/orders/__billing__/1_0/rocksdb/sums/CURRENT", "state/orders/notes.txt", "state/orders/old_tasks/",
		"state/other/kafka-streams-process-metadata",
		"state/.sstool/aside/x/CURRENT",
		"backup/host-a/disk/flink/db/CURRENT", "backup/host-a/0_1/rocksdb/counts/CURRENT",
	)
	ordersAll := []string{
		"odd state/orders/notes.txt", "odd state/orders/old_tasks",
		"orders/0_0/counts", "orders/0_2/counts", "orders/0_2/win 0 60000 120000", "odd state/orders/0_2/win/lost+found",
		"orders/0_10 empty", "orders/global/ref", "orders/billing__1_0/sums",
	}
	for _, c := range []struct {
		path, is string
		want     []string
	}{
		{"state/orders", IsApplication, ordersAll},
		{"state", IsStateDir, append(slices.Clone(ordersAll), "odd state/.sstool")},
		{"state/other", IsApplication, nil},
		{"state/orders/0_0", IsTask, []string{"orders/0_0/counts"}},
		{"state/orders/0_0/rocksdb", IsTask, []string{"orders/0_0/counts"}},
		{"state/orders/0_0/rocksdb/counts", IsStore, []string{"orders/0_0/counts"}},
		{"state/orders/0_0/rocksdb/counts/000010.sst", IsFile, []string{"orders/0_0/counts 000010.sst"}},
		{"state/orders/0_2/win", IsStore, []string{"orders/0_2/win 0 60000 120000", "odd state/orders/0_2/win/lost+found"}},
		{"state/orders/0_2/win/win.60000", IsDatabase, []string{"orders/0_2/win 60000"}},
		{"state/orders/__billing__/1_0", IsTask, []string{"orders/billing__1_0/sums"}},
		{"state/orders/global", IsTask, []string{"orders/global/ref"}},
		{"backup/host-a/disk/flink/db", IsStore, []string{"//db"}},
		{"backup", IsStateDir, []string{"//db", "odd backup/host-a/disk", "host-a/0_1/counts"}},
		{"backup/host-a/disk", IsDirectory, []string{"//db"}},
	} {
		tr, err := Find(context.Background(), filepath.Join(root, c.path))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		got := shape(root, tr)
		if tr.Is != c.is || !slices.Equal(got, c.want) {
			t.Errorf("%s is a %s, want %s:\n%s\nwant\n%s", c.path, tr.Is, c.is, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestFindNothing(t *testing.T) {
	root := tree(t, "a/b/c/", "file.txt")
	if err := os.Symlink(root, filepath.Join(root, "a", "loop")); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]op.Kind{".": op.NotFound, "nowhere": op.NotFound, "file.txt": op.Usage} {
		if tr, err := Find(context.Background(), filepath.Join(root, path)); op.KindOf(err) != kind || err == nil {
			t.Errorf("%s: %v, %v, want an error of kind %s", path, tr, err, kind)
		}
	}
}

func TestFindTellsWhatItCannotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, "app/0_0/rocksdb/a/CURRENT", "app/0_1/rocksdb/b/CURRENT")
	if err := os.Chmod(filepath.Join(root, "app/0_1/rocksdb"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(root, "app/0_1/rocksdb"), 0o755) })
	tr, err := Find(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"app/0_0/a", "app/0_1 empty", "odd app/0_1/rocksdb"}
	if got := shape(root, tr); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestKeep(t *testing.T) {
	root := tree(t, "app/0_0/rocksdb/a/CURRENT", "app/0_0/rocksdb/b/CURRENT", "app/0_1/rocksdb/a/CURRENT", "app/0_2/.lock", "other/0_0/rocksdb/z/CURRENT")
	for _, c := range []struct {
		stores, tasks []string
		want          []string
		kind          op.Kind
	}{
		{nil, nil, []string{"app/0_0/a", "app/0_0/b", "app/0_1/a", "app/0_2 empty", "other/0_0/z"}, 0},
		{[]string{"a"}, nil, []string{"app/0_0/a", "app/0_1/a"}, 0},
		{[]string{"b", "a"}, []string{"0_0"}, []string{"app/0_0/a", "app/0_0/b"}, 0},
		{[]string{"c"}, nil, nil, op.NotFound},
		{nil, []string{"9_9"}, nil, op.NotFound},
		{[]string{"b"}, []string{"0_1"}, nil, op.NotFound},
	} {
		tr, err := Find(context.Background(), root)
		if err != nil {
			t.Fatal(err)
		}
		err = tr.Keep(c.stores, c.tasks)
		if op.KindOf(err) != c.kind || err == nil && !slices.Equal(shape(root, tr), c.want) {
			t.Errorf("Keep(%q, %q): %v, %q, want %q", c.stores, c.tasks, err, shape(root, tr), c.want)
		}
	}
}

func FuzzSegmentStart(f *testing.F) {
	for _, s := range []string{"win.60000", "win:60000", "win-202601011200", "win.", "win.-5", "win-20260101120", "other.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if _, ok := segmentStart("win", name); ok && !strings.HasPrefix(name, "win") {
			t.Errorf("%q is a segment of win", name)
		}
	})
}

func TestSegmentStart(t *testing.T) {
	for name, want := range map[string]int64{"win.60000": 60000, "win:60000": 60000, "win-197001010001": 60000, "win.-60000": -60000} {
		if got, ok := segmentStart("win", name); !ok || got != want {
			t.Errorf("%s: %d, %t, want %d", name, got, ok, want)
		}
	}
	for _, name := range []string{"win", "win.", "win.x", "win.+1", "win-1970", "other.60000", "win-999999999999"} {
		if got, ok := segmentStart("win", name); ok {
			t.Errorf("%s: %d", name, got)
		}
	}
}
