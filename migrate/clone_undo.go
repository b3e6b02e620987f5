package migrate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Undo removes what this migration has cloned. What an application has used
// since stays, and is said.
func (c *cloner) Undo(ctx context.Context, m *Migration, sink op.Sink) error {
	if !files.Exists(c.journalFile(m.ID)) {
		return os.RemoveAll(filepath.Join(c.stateDir, c.buildDir(m.ID)))
	}
	release, _, err := c.hold(m, false)
	if err != nil {
		return err
	}
	defer release()
	j, err := c.readJournal(m)
	if err != nil {
		return err
	}
	trash := filepath.Join(c.stateDir, ownName, "trash-"+m.ID)
	used := 0
	for i := range slices.Backward(j.Tasks) {
		t := &j.Tasks[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		// Lines first: a store that is absent while its line stands would be taken
		// for an empty one that is up to date.
		if err := t.dropLines(filepath.Join(c.app(m.NewApp), t.To), m); err != nil {
			return err
		}
		for _, x := range t.Moves {
			at := filepath.Join(c.stateDir, x.To)
			now, err := files.Fingerprint(at)
			if err != nil {
				return err
			}
			switch now {
			case "":
			case x.Files:
				if err := throwAway(at, trash); err != nil {
					return err
				}
			default:
				used++
				sink.Warn(x.To, "it has been used since it was cloned, and is left in place")
			}
		}
		if t.Made {
			if err := removeBare(filepath.Join(c.app(m.NewApp), t.To)); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(os.RemoveAll(trash), os.RemoveAll(filepath.Join(c.stateDir, c.buildDir(m.ID)))); err != nil {
		return err
	}
	if used > 0 {
		return op.Errorf(op.Partial, "%d clones have been used since: an application has run on them", used).
			WithTry("remove them by hand if the old application is to go on: their names are above")
	}
	if j.MadeApp && m.OldApp != m.NewApp {
		if err := removeBare(c.app(m.NewApp)); err != nil {
			return err
		}
	}
	return os.Remove(c.journalFile(m.ID))
}

// dropLines takes the lines of the clones out of a .checkpoint again, unless
// they are those of stores that were there before.
func (t *clonedTask) dropLines(taskDir string, m *Migration) error {
	if !files.Exists(filepath.Join(taskDir, streams.CheckpointFile)) {
		return nil
	}
	return editCheckpoint(filepath.Join(taskDir, streams.CheckpointFile), func(c streams.Checkpoint) {
		for _, l := range t.Lines {
			tp := streams.TopicPartition{Topic: l.Topic, Partition: l.Partition}
			if !l.shared(t, m) {
				delete(c, tp)
			}
		}
	})
}

// shared says that a line belongs to the old store too: another name for a
// table whose changelog is its source topic.
func (l *clonedLine) shared(t *clonedTask, m *Migration) bool {
	return m.OldApp == m.NewApp && t.From == t.To && slices.ContainsFunc(m.Moves, func(x StoreMove) bool {
		return x.OldTopic == l.Topic && x.NewTopic == l.Topic
	})
}

// throwAway removes a directory or file so that it is gone at once.
func throwAway(path, trash string) error {
	if err := os.MkdirAll(trash, 0o750); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(trash, "")
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(dir, filepath.Base(path))); err != nil {
		return err
	}
	if err := files.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// removeBare removes a directory in which nothing of an application is left.
func removeBare(dir string) error {
	bare := true
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != streams.LockFile {
			bare = false
			return fs.SkipAll
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !bare {
		return err
	}
	return os.RemoveAll(dir)
}

// OldDirectory is a directory or file of an old name, of which there is a clone.
type OldDirectory struct {
	Path     string
	OldTopic string // the changelog that was copied; "" when that has no other name
	Used     bool   // an application has opened the clone since
}

// FinishList names what of the old names Finish removes.
func (c *cloner) FinishList(_ context.Context, m *Migration) ([]OldDirectory, error) {
	j, err := c.readJournal(m)
	if err != nil {
		return nil, err
	}
	out := []OldDirectory{}
	for i := range j.Tasks {
		t := &j.Tasks[i]
		for k := range t.Stores {
			s := &t.Stores[k]
			used, err := c.used(t, s)
			if err != nil {
				return nil, err
			}
			d := OldDirectory{Used: used}
			if s.OldTopic != "" && m.topic(s.OldTopic) != nil {
				d.OldTopic = s.OldTopic
			}
			for _, p := range s.OldPaths {
				if d.Path = filepath.Join(c.stateDir, p); files.Exists(d.Path) {
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
}

// used says whether the clone of a store is another one than was put there:
// RocksDB writes files whenever it opens a database.
func (c *cloner) used(t *clonedTask, s *clonedStore) (bool, error) {
	for _, x := range t.Moves {
		if filepath.Base(x.To) != s.New {
			continue
		}
		now, err := files.Fingerprint(filepath.Join(c.stateDir, x.To))
		if err != nil || now != "" && now != x.Files {
			return err == nil, err
		}
	}
	return false, nil
}

// UndoList names the clones that Undo removes: those that nobody has used.
func (c *cloner) UndoList(_ context.Context, m *Migration) ([]string, error) {
	j, err := c.readJournal(m)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, t := range j.Tasks {
		for _, x := range t.Moves {
			at := filepath.Join(c.stateDir, x.To)
			now, err := files.Fingerprint(at)
			if err != nil {
				return nil, err
			}
			if now == x.Files {
				out = append(out, at)
			}
		}
	}
	return out, nil
}

// Finish removes the old directories of what was cloned, and task directories
// in which nothing is left.
func (c *cloner) Finish(ctx context.Context, m *Migration, _ op.Sink) ([]string, error) {
	removed := []string{}
	if !files.Exists(c.journalFile(m.ID)) {
		return removed, nil
	}
	release, _, err := c.hold(m, false)
	if err != nil {
		return nil, err
	}
	defer release()
	j, err := c.readJournal(m)
	if err != nil {
		return nil, err
	}
	trash := filepath.Join(c.stateDir, ownName, "trash-"+m.ID)
	for _, t := range j.Tasks {
		dir := filepath.Join(c.app(m.OldApp), t.From)
		if err := t.dropOldLines(dir, m); err != nil {
			return removed, err
		}
		for _, s := range t.Stores {
			for _, p := range s.OldPaths {
				if err := ctx.Err(); err != nil {
					return removed, err
				}
				path := filepath.Join(c.stateDir, p)
				if !files.Exists(path) {
					continue
				}
				if err := throwAway(path, trash); err != nil {
					return removed, err
				}
				removed = append(removed, path)
			}
		}
		if t.From != t.To || m.OldApp != m.NewApp {
			if err := removeBare(dir); err != nil {
				return removed, err
			}
		}
	}
	if m.OldApp != m.NewApp {
		if err := c.removeOldApp(m); err != nil {
			return removed, err
		}
	}
	return removed, errors.Join(os.RemoveAll(trash), os.Remove(c.journalFile(m.ID)))
}

// dropOldLines takes the lines of stores that are gone out of the old
// .checkpoint. A line that stays where its store has gone would be taken for an
// empty store that is up to date.
func (t *clonedTask) dropOldLines(taskDir string, m *Migration) error {
	path := filepath.Join(taskDir, streams.CheckpointFile)
	if !files.Exists(path) {
		return nil
	}
	shared := t.From == t.To && m.OldApp == m.NewApp // the clone has the same line for its source topic
	gone := func(s clonedStore, topic string) bool {
		return s.OldTopic != "" && s.OldTopic == topic ||
			!shared && slices.ContainsFunc(s.Offsets, func(o CloneOffset) bool { return o.Home == homeFile && o.Topic == topic })
	}
	return editCheckpoint(path, func(c streams.Checkpoint) {
		for tp := range c {
			if slices.ContainsFunc(t.Stores, func(s clonedStore) bool { return gone(s, tp.Topic) }) {
				delete(c, tp)
			}
		}
	})
}

// removeOldApp removes the old application's directory when no task is left but
// such as never had a store.
func (c *cloner) removeOldApp(m *Migration) error {
	es, err := os.ReadDir(c.app(m.OldApp))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	empty := true
	for _, e := range es {
		path := filepath.Join(c.app(m.OldApp), e.Name())
		if _, err := streams.ParseTaskID(e.Name()); err == nil {
			if err := removeBare(path); err != nil {
				return err
			}
		}
		empty = empty && (e.Name() == streams.LockFile || e.Name() == streams.ProcessFile || !files.Exists(path))
	}
	if !empty {
		return nil
	}
	return os.RemoveAll(c.app(m.OldApp))
}
