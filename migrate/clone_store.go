package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// dir is where a store of this kind lies in a task's directory:
// <task>/rocksdb/<store>, or <task>/<store>/<store>.<start> for each segment.
func (s *CloneStore) dir(name string) string {
	if s.segmented {
		return name
	}
	return filepath.Join(streams.RocksDir, name)
}

// databaseDir is where the clone of a database lies.
func (s *CloneStore) databaseDir(k int) string {
	if !s.segmented {
		return s.dir(s.New)
	}
	start, _ := streams.ParseSegmentDir(s.Old, filepath.Base(s.dbs[k].dir))
	return filepath.Join(s.dir(s.New), fmt.Sprintf("%s.%d", s.New, start))
}

// noteStore notes in task what becomes of a store whose databases are cloned,
// and clones the files beside them.
func (c *cloner) noteStore(m *cloning, task *clonedTask, s *CloneStore, build string) error {
	move := s.move
	oldTask, newTask := filepath.Join(m.OldApp, task.From), filepath.Join(m.NewApp, task.To)
	cs := clonedStore{CloneStore: *s}
	if move.OldTopic != move.NewTopic || m.OldApp != m.NewApp || task.From != task.To {
		cs.OldTopic = move.OldTopic
	}
	if len(s.dbs) > 0 {
		task.Moves = append(task.Moves, cloneMove{From: filepath.Join(build, s.dir(s.New)), To: filepath.Join(newTask, s.dir(s.New))})
		cs.OldPaths = append(cs.OldPaths, filepath.Join(oldTask, s.dir(s.Old)))
	}
	// The position of Kafka up to 4.2, and the offsets of stores that keep them in
	// a file of their own.
	for _, f := range []struct {
		old, new string
		edit     func(streams.Checkpoint) streams.Checkpoint
	}{
		{s.Old + ".position", s.New + ".position", func(p streams.Checkpoint) streams.Checkpoint { moved, _ := mapPosition(m, p); return moved }},
		{streams.CheckpointFile + "_" + s.Old, streams.CheckpointFile + "_" + s.New, func(p streams.Checkpoint) streams.Checkpoint { return mapLines(m, move, p) }},
	} {
		from := filepath.Join(c.stateDir, oldTask, f.old)
		if !files.Exists(from) {
			continue
		}
		to := filepath.Join(build, f.new)
		if err := rewriteCheckpoint(from, filepath.Join(c.stateDir, to), f.edit); err != nil {
			return err
		}
		cs.OldPaths = append(cs.OldPaths, filepath.Join(oldTask, f.old))
		if files.Exists(filepath.Join(c.stateDir, to)) {
			task.Moves = append(task.Moves, cloneMove{From: to, To: filepath.Join(newTask, f.new)})
		}
	}
	lines := s.lines()
	for _, tp := range lines.Keys() {
		task.Lines = append(task.Lines, clonedLine{tp.Topic, tp.Partition, lines[tp]})
	}
	task.Stores = append(task.Stores, cs)
	return nil
}

// cloneDatabase clones one database, corrects its offsets, and looks whether it
// is what it should be.
func (c *cloner) cloneDatabase(m *cloning, s *CloneStore, db *database, at string) error {
	rows, err := s.newRows(m, db)
	if err != nil {
		return err
	}
	write := db.offsets && db.needsRocksDB(rows)
	if write && rocks.Version() == "" {
		return op.Errorf(op.Failed, "%s keeps its offsets in the database (Kafka 4.3 or later), and this sstool was built without RocksDB", db.dir).WithTry("build it with cgo: make build")
	}
	before, err := lsm.ReadManifest(db.dir)
	if err != nil {
		return err
	}
	if err := db.clone(at); err != nil {
		return err
	}
	if !write {
		return nil
	}
	info, err := os.Stat(db.dir)
	if err != nil {
		return err
	}
	if err := writeOffsets(at, rows); err != nil {
		return err
	}
	for _, name := range []string{"LOCK", "LOG"} { // of this opening
		if err := os.Remove(filepath.Join(at, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := ownAll(at, info); err != nil {
		return err
	}
	return checkClone(before, at, rows)
}

// checkClone says whether the clone has the same files in all families, and
// the offsets that were written.
func checkClone(before lsm.Version, at string, rows map[string][]byte) error {
	after, err := lsm.ReadManifest(at)
	if err != nil {
		return err
	}
	for i := range before.Families {
		f := &before.Families[i]
		if f.Name == streams.OffsetsFamily {
			continue
		}
		g, ok := after.Family(f.Name)
		if !ok || len(g.Files) < len(f.Files) {
			return op.Errorf(op.Failed, "%s: family %q lost files in the clone", before.Dir, f.Name)
		}
	}
	left := len(rows)
	err = lsm.Rows(at, streams.OffsetsFamily, func(key, value []byte) error {
		if string(rows[string(key)]) != string(value) {
			return op.Errorf(op.Failed, "%s: the clone's offset row %q is not the one that was written", before.Dir, key)
		}
		left--
		return nil
	})
	if err == nil && left != 0 {
		err = op.Errorf(op.Failed, "%s: the clone lacks %d offset rows", before.Dir, left)
	}
	return err
}

// mapLines maps the offsets of a store that keeps them in its own file.
func mapLines(m *cloning, move *StoreMove, old streams.Checkpoint) streams.Checkpoint {
	out := streams.Checkpoint{}
	for tp, offset := range old {
		to, takes := newTopic(m, move, tp.Topic)
		if !takes {
			continue
		}
		if mapped, known, whyNot := mapOffset(m, tp, to, offset); known && whyNot == "" {
			out[streams.TopicPartition{Topic: to, Partition: tp.Partition}] = mapped
		}
	}
	return out
}

// rewriteCheckpoint writes a changed copy of a file in the .checkpoint's form.
func rewriteCheckpoint(from, to string, edit func(streams.Checkpoint) streams.Checkpoint) error {
	c, err := streams.ReadCheckpoint(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := makeDirLike(filepath.Dir(to), filepath.Dir(from)); err != nil {
		return err
	}
	moved := edit(c)
	if err := moved.Write(to); err != nil || len(moved) == 0 {
		return err
	}
	if err := ownLike(to, info); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
