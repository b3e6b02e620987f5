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
	is, err := bare(dir, nil)
	if err != nil || !is {
		return err
	}
	return os.RemoveAll(dir)
}

// bare says whether there is a directory in which nothing of an application is
// left, apart from what is gone.
func bare(dir string, gone map[string]bool) (is bool, err error) {
	is = true
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case gone[path] && d.IsDir():
			return fs.SkipDir
		case d.IsDir(), gone[path], d.Name() == streams.LockFile:
			return nil
		case d.Name() == streams.CheckpointFile:
			lines, err := streams.ReadCheckpoint(path)
			if len(lines) == 0 {
				return err
			}
		}
		is = false
		return fs.SkipAll
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
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
