//go:build cgo

package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// inCheckpoint changes lines of a task's .checkpoint. A directory of Kafka 4.3
// and later has none: a file with the lines that change is enough.
func inCheckpoint(task string, change func(w *realWorld, c streams.Checkpoint)) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		path := filepath.Join(dir, task, streams.CheckpointFile)
		c, err := streams.ReadCheckpoint(path)
		if err != nil {
			return err
		}
		change(w, c)
		return c.Write(path)
	}
}

// changelog is a partition of a store's changelog.
func (w *realWorld) changelog(store string, p int32) streams.TopicPartition {
	return streams.TopicPartition{Topic: streams.ChangelogTopic(w.app.ID, store), Partition: p}
}

func (w *realWorld) end(tp streams.TopicPartition) int64 {
	at, err := w.client.Offsets(w.t.Context(), tp.Topic, nil)
	if err != nil {
		w.t.Error(err)
	}
	return at[tp.Partition].End
}

func removed(path ...string) func(*realWorld, string) error {
	return func(_ *realWorld, dir string) error {
		for _, p := range path {
			matches, err := filepath.Glob(filepath.Join(dir, p))
			if err != nil || len(matches) == 0 {
				return fmt.Errorf("nothing is %s: %v", p, err)
			}
			for _, m := range matches {
				if err := os.RemoveAll(m); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func written(path, text string) func(*realWorld, string) error {
	return func(_ *realWorld, dir string) error {
		return os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644)
	}
}

func all(steps ...func(*realWorld, string) error) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		for _, s := range steps {
			if err := s(w, dir); err != nil {
				return err
			}
		}
		return nil
	}
}

// offsetsRow puts or deletes rows of a database's offsets family.
func offsetsRow(path string, edit func(w *realWorld, b *rocks.Batch, family int)) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		families, err := rocks.Families(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		db, err := rocks.Open(filepath.Join(dir, path), rocks.Options{Families: families})
		if err != nil {
			return err
		}
		defer db.Close()
		b := db.Batch()
		defer b.Close()
		edit(w, b, slices.Index(families, streams.OffsetsFamily))
		if err := db.Write(b); err != nil {
			return err
		}
		return db.Flush()
	}
}

// extraKey is the key of a row that is in a store and not in its changelog: it
// is there after a start if and only if the store was not emptied.
const extraKey = "only-here"

func putExtra(dir string, c condition) error {
	if c.profile != "papi" {
		return nil
	}
	path := filepath.Join(dir, plainKV)
	families, err := rocks.Families(path)
	if err != nil {
		return err
	}
	db, err := rocks.Open(path, rocks.Options{Families: families})
	if err != nil {
		return err
	}
	defer db.Close()
	b := db.Batch()
	defer b.Close()
	b.Put(0, []byte(extraKey), []byte("v"))
	if err := db.Write(b); err != nil {
		return err
	}
	return db.Flush()
}

func nothing(*realWorld, string) error { return nil }

const (
	plainKV = "0_0/rocksdb/plain-kv"
	global  = "global/rocksdb/user-global"
)

// emptied says whether an application that could not open a store starts the
// next time: exactly-once deletes the directory as it fails, up to 4.2 a task's,
// from 4.3 on global/ (the conditions of opt are global ones).
func emptied(w *realWorld) bool {
	v, err := streams.ParseVersion(w.h.Version)
	return err == nil && w.app.EOS && (w.app.Profile == "opt") == streams.OffsetsInStore(v)
}

// directoryConditions change only a copy of the directory.
func directoryConditions() []condition {
	set := func(offset func(w *realWorld, tp streams.TopicPartition) int64) func(*realWorld, string) error {
		return inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) {
			tp := w.changelog("plain-kv", 0)
			c[tp] = offset(w, tp)
		})
	}
	fixed := func(n int64) func(*realWorld, streams.TopicPartition) int64 {
		return func(*realWorld, streams.TopicPartition) int64 { return n }
	}
	source := func(offset int64) func(*realWorld, string) error {
		return inCheckpoint("global", func(w *realWorld, c streams.Checkpoint) {
			for p := range int32(2) {
				c[streams.TopicPartition{Topic: w.app.ID + "-g", Partition: p}] = offset
			}
		})
	}
	return []condition{
		{name: "clean", profile: "papi", task: "0_0", do: nothing},
		{name: "clean, source tables", profile: "opt", task: "0_0", do: nothing},
		{name: "clean, global", profile: "opt", task: "global", do: nothing},
		{name: "behind", profile: "papi", task: "0_0", do: nothing, early: true},
		{name: "behind, source tables", profile: "opt", task: "0_0", do: nothing, early: true},
		{name: "behind, global", profile: "opt", task: "global", do: nothing, early: true},
		{name: "no .checkpoint", profile: "papi", task: "0_0", do: removed("0_0/.checkpoint"), before: "4.3"},
		{name: "no line", profile: "papi", task: "0_0", do: inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) { delete(c, w.changelog("plain-kv", 0)) }), before: "4.3"},
		{name: "no offsets row", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Delete(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0))
		}), from: "4.3"},
		{name: "status open", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(_ *realWorld, b *rocks.Batch, family int) {
			b.Put(family, []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
		}), from: "4.3"},
		{name: "row -4", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Put(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0), streams.EncodeOffset(streams.OffsetUnknown))
		}), from: "4.3"},
		{name: "line -4", profile: "papi", task: "0_0", do: set(fixed(streams.OffsetUnknown))},
		{name: "line -4, no row", profile: "papi", task: "0_0", from: "4.3", do: all(set(fixed(streams.OffsetUnknown)), offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Delete(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0))
		}))},
		{name: "beyond the end", profile: "papi", task: "0_0", do: set(fixed(5000)), check: "restart.out-of-range", either: true},
		{name: "the end itself", profile: "papi", task: "0_0", do: set(func(w *realWorld, tp streams.TopicPartition) int64 { return w.end(tp) }), check: "restart.out-of-range", either: true},
		{name: "line of an unknown topic", profile: "papi", task: "0_0", do: inCheckpoint("0_0", func(_ *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: "gone", Partition: 0}] = 5
		}), check: "restart.unknown-topics"},
		{name: "bad .checkpoint", profile: "papi", task: "0_0", do: written("0_0/.checkpoint", "1\n0\n"), check: "restart.fails"},
		{name: "store gone, line stays", profile: "papi", task: "0_0", do: all(removed(plainKV), set(func(w *realWorld, tp streams.TopicPartition) int64 { return 40 })), check: "restart.taken-for-complete"},
		{name: "store gone, no offset", profile: "papi", task: "0_0", do: all(removed(plainKV), func(w *realWorld, dir string) error {
			if _, err := os.Stat(filepath.Join(dir, "0_0/.checkpoint")); err != nil {
				return nil
			}
			return inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) { delete(c, w.changelog("plain-kv", 0)) })(w, dir)
		})},
		{name: "source table gone, line stays", profile: "opt", task: "0_0", do: all(removed("0_0/rocksdb/src-tbl"), inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: w.app.ID + "-t1", Partition: 0}] = 10
		})), check: "restart.taken-for-complete"},
		{name: "no segment", profile: "papi", task: "0_0", do: removed("0_0/ts-win/*")},
		{name: "stray among segments", profile: "papi", task: "0_0", do: written("0_0/ts-win/README", ""), check: "restart.segments"},
		{name: "CURRENT is empty", profile: "papi", task: "0_0", do: written(plainKV+"/CURRENT", ""), check: "restart.files", heals: emptied},
		{name: "CURRENT names nothing", profile: "papi", task: "0_0", do: written(plainKV+"/CURRENT", "MANIFEST-000099\n"), check: "restart.files", heals: emptied},
		{name: "SST missing", profile: "papi", task: "0_0", do: removed(plainKV + "/*.sst"), check: "restart.files", heals: emptied},
		{name: "MANIFEST missing", profile: "papi", task: "0_0", do: removed(plainKV + "/MANIFEST-*"), check: "restart.files", heals: emptied},
		{name: "purged by age", profile: "papi", task: "0_0", do: nothing, last: func(_ *realWorld, dir string) error {
			at := time.Now().Add(-time.Hour)
			return os.Chtimes(filepath.Join(dir, "0_0"), at, at)
		}, setting: map[string]string{"state.cleanup.dir.max.age.ms": "60000"}, from: "4.3", check: "restart.cleaner"},
		{name: "global beyond the end", profile: "opt", task: "global", do: source(5000), check: "restart.out-of-range", again: true},
		{name: "global, no offset", profile: "opt", task: "global", do: removed("global/.checkpoint"), before: "4.3", uncounted: true},
		{name: "global, no offsets row", profile: "opt", task: "global", do: offsetsRow(global, func(w *realWorld, b *rocks.Batch, family int) {
			for p := range int32(2) {
				b.Delete(family, streams.OffsetsKey(w.app.ID+"-g", p))
			}
		}), from: "4.3", uncounted: true},
		{name: "global, status open", profile: "opt", task: "global", do: offsetsRow(global, func(_ *realWorld, b *rocks.Batch, family int) {
			b.Put(family, []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
		}), from: "4.3"},
		{name: "global, unknown topic", profile: "opt", task: "global", do: inCheckpoint("global", func(_ *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: "gone", Partition: 0}] = 5
		}), check: "restart.unknown-topics"},
		{name: "global, CURRENT is empty", profile: "opt", task: "global", do: written(global+"/CURRENT", ""), check: "restart.files", heals: emptied},
		{name: "global gone, line stays", profile: "opt", task: "global", do: all(removed(global), source(10))},
	}
}

// topicConditions change the application's topics, and so come last, in this
// order.
func topicConditions() []condition {
	logStart := func(topic func(w *realWorld) streams.TopicPartition) func(*realWorld, string) error {
		return func(w *realWorld, _ string) error {
			tp := topic(w)
			return worldtest.MoveLogStart(w.t.Context(), w.b.Bootstrap, tp.Topic, tp.Partition, w.end(tp)-1)
		}
	}
	return []condition{
		{name: "zombies", profile: "papi", task: "0_0", early: true, check: "restart.zombies", zombies: true, do: func(w *realWorld, dir string) error {
			return w.b.DropTombstones(w.t.Context(), w.changelog("plain-kv", 0).Topic)
		}, last: func(_ *realWorld, dir string) error {
			at := time.Now().Add(-48 * time.Hour)
			return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chtimes(path, at, at)
			})
		}},
		{name: "below the log start", profile: "papi", task: "0_0", early: true, check: "restart.out-of-range",
			do: logStart(func(w *realWorld) streams.TopicPartition { return w.changelog("plain-kv", 0) })},
		{name: "global below the start", profile: "opt", task: "global", early: true, check: "restart.out-of-range", again: true, do: func(w *realWorld, dir string) error {
			for p := range int32(2) {
				tp := streams.TopicPartition{Topic: w.app.ID + "-g", Partition: p}
				if err := worldtest.MoveLogStart(w.t.Context(), w.b.Bootstrap, tp.Topic, p, w.end(tp)-1); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "changelog deleted", profile: "papi", task: "0_0", check: "restart.changelog-lost", either: true, do: func(w *realWorld, _ string) error {
			return w.client.DeleteTopics(w.t.Context(), w.changelog("plain-kv", 0).Topic)
		}},
	}
}
