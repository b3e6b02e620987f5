package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/streams"
)

// How long instances have been stopped is measured where there is a directory,
// held against delete.retention.ms, and called unknown elsewhere.
func TestTTLAdviceStopped(t *testing.T) {
	w := newTTLWorld(t)
	w.topic(streams.ChangelogTopic("app", "st"), 1, "cleanup.policy", "compact", "delete.retention.ms", "86400000")
	w.produce("st", kvRecord(0, "old", "v", ttlNow-30*hour))
	now := time.UnixMilli(ttlNow)
	copyOf := func(task string, age time.Duration) TTLDatabase {
		d := TTLDatabase{TaskDir: filepath.Join(t.TempDir(), task)}
		d.Dir = filepath.Join(d.TaskDir, "rocksdb", "st")
		if err := os.MkdirAll(d.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{filepath.Join(d.Dir, "000001.sst"), filepath.Join(d.TaskDir, streams.CheckpointFile)} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			at := now.Add(-age).Add(-time.Duration(i) * time.Hour) // the newest counts
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	for name, c := range map[string]struct {
		copies []TTLDatabase
		want   []string
	}{
		"no directory": {nil, []string{"is 1d: an instance", "is not known: no state directory was given"}},
		"recent":       {[]TTLDatabase{copyOf("0_0", 5*time.Minute), copyOf("0_1", 3*time.Hour)}, []string{"0_1, was last written 3h ago; how old those of other hosts"}},
		"too old":      {[]TTLDatabase{copyOf("0_0", 75*time.Hour), copyOf("0_1", time.Minute)}, []string{"0_0, was last written 3d ago, longer than that", "delete the directory"}},
		"the clock":    {[]TTLDatabase{copyOf("0_0", -time.Hour)}, []string{"0s ago"}},
	} {
		o := TTLOptions{OlderThan: 24 * time.Hour, Store: kvStore("st")}
		o.Store.Databases = c.copies
		text := ""
		for _, a := range w.plan(o).Advice {
			if a.Topic == "zombies" {
				text = a.Text
			}
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %q", name, want, text)
			}
		}
	}
}
