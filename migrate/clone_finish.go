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

// OldDirectory is a directory or file of an old name, of which there is a clone,
// or a directory around such.
type OldDirectory struct {
	Path     string
	OldTopic string // the changelog that was copied; "" when that has no other name
	Used     bool   // an application has opened the clone since
	Bare     bool   // it is the directory of a task or the application, in which nothing is left then
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
	bare, err := c.emptied(m, j)
	for _, dir := range bare {
		out = append(out, OldDirectory{Path: dir, Bare: true})
	}
	return out, err
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

// Finish removes the old directories of what was cloned, and those of tasks and
// the application in which nothing is left.
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
	emptied, err := c.emptied(m, j)
	if err != nil {
		return nil, err
	}
	trash := filepath.Join(c.stateDir, ownName, "trash-"+m.ID)
	for i := range j.Tasks {
		t := &j.Tasks[i]
		path := filepath.Join(c.app(m.OldApp), t.From, streams.CheckpointFile)
		if files.Exists(path) {
			if err := editCheckpoint(path, func(l streams.Checkpoint) { t.dropOldLines(l, m) }); err != nil {
				return removed, err
			}
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
	}
	for _, dir := range emptied {
		if err := os.RemoveAll(dir); err != nil {
			return removed, err
		}
		removed = append(removed, dir)
	}
	return removed, errors.Join(os.RemoveAll(trash), os.Remove(c.journalFile(m.ID)))
}

// dropOldLines takes the lines of stores that are gone out of the old
// .checkpoint. A line that stays where its store has gone would be taken for an
// empty store that is up to date.
func (t *clonedTask) dropOldLines(lines streams.Checkpoint, m *Migration) {
	shared := t.From == t.To && m.OldApp == m.NewApp // the clone has the same line for its source topic
	gone := func(s clonedStore, topic string) bool {
		return s.OldTopic != "" && s.OldTopic == topic ||
			!shared && slices.ContainsFunc(s.Offsets, func(o CloneOffset) bool { return o.Home == homeFile && o.Topic == topic })
	}
	for tp := range lines {
		if slices.ContainsFunc(t.Stores, func(s clonedStore) bool { return gone(s, tp.Topic) }) {
			delete(lines, tp)
		}
	}
}

// emptied are the directories in which nothing is left when what was cloned is
// gone: of the tasks, of those that never had a store when all stores go to
// another application, and then of the application.
func (c *cloner) emptied(m *Migration, j *cloneJournal) ([]string, error) {
	app, gone, lines := c.app(m.OldApp), map[string]bool{}, map[string]streams.Checkpoint{}
	var tasks []string
	for i := range j.Tasks {
		t := &j.Tasks[i]
		dir := filepath.Join(app, t.From)
		path := filepath.Join(dir, streams.CheckpointFile)
		if lines[dir] == nil {
			var err error
			if lines[dir], err = streams.ReadCheckpoint(path); err != nil {
				return nil, err
			}
		}
		t.dropOldLines(lines[dir], m)
		gone[path] = len(lines[dir]) == 0
		for _, s := range t.Stores {
			for _, p := range s.OldPaths {
				gone[filepath.Join(c.stateDir, p)] = true
			}
		}
		if t.From != t.To && m.OldApp == m.NewApp && !slices.Contains(tasks, t.From) {
			tasks = append(tasks, t.From)
		}
	}
	whole := m.OldApp != m.NewApp && len(j.Tasks) > 0
	if whole {
		es, err := os.ReadDir(app)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		whole = err == nil
		for _, e := range es {
			if _, err := streams.ParseTaskID(e.Name()); err == nil || e.Name() == streams.GlobalDir {
				tasks = append(tasks, e.Name())
			} else if e.Name() != streams.LockFile && e.Name() != streams.ProcessFile {
				whole = false
			}
		}
	}
	var out []string
	for _, name := range tasks {
		dir := filepath.Join(app, name)
		is, err := bare(dir, gone)
		if err != nil {
			return nil, err
		}
		if is {
			out = append(out, dir)
		}
		whole = whole && is
	}
	if whole {
		out = append(out, app)
	}
	return out, nil
}
