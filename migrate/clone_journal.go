package migrate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Everything of ours in a state directory lives here: Kafka Streams 4.4 dies on
// strays inside an application's directory.
const ownName = ".sstool"

// cloneJournal says what a migration has cloned in one state directory. A task
// is noted before its first directory is renamed in, so that a run that is
// killed in between is completed by the next. Paths are relative to the state
// directory.
type cloneJournal struct {
	Migration string       `json:"migration"`
	OldApp    string       `json:"old_application_id"`
	NewApp    string       `json:"new_application_id"`
	MadeApp   bool         `json:"made_application_directory"` // NewApp had no directory before
	Tasks     []clonedTask `json:"tasks"`
}

// clonedTask is what one task directory has got from another.
type clonedTask struct {
	From   string        `json:"from"` // "0_1"
	To     string        `json:"to"`
	Placed bool          `json:"placed"` // all of it
	Made   bool          `json:"made"`   // the directory To was not there before
	Moves  []cloneMove   `json:"moves"`  // what was built, and where it goes
	Lines  []clonedLine  `json:"lines"`  // of the .checkpoint
	Stores []clonedStore `json:"stores"`
}

// cloneMove is one rename. Files is the fingerprint of what is moved.
type cloneMove struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Files string `json:"files"`
}

type clonedLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// clonedStore is a store with the paths that were its own, and the topic of the
// line that was.
type clonedStore struct {
	CloneStore
	OldTopic string   `json:"old_topic"` // "" when its line stays
	OldPaths []string `json:"old_paths"`
}

func (c *cloner) journalFile(id string) string {
	return filepath.Join(c.stateDir, ownName, "clone-"+id+".json")
}

// buildDir is where clones are made, relative to the state directory.
func (c *cloner) buildDir(id string) string { return filepath.Join(ownName, "clone-"+id) }

func (c *cloner) readJournal(m *Migration) (*cloneJournal, error) {
	if m.ID == "" || filepath.Base(m.ID) != m.ID {
		return nil, op.Errorf(op.Corrupt, "the migration's id %q is no file name", m.ID)
	}
	j := &cloneJournal{Migration: m.ID, OldApp: m.OldApp, NewApp: m.NewApp}
	path := c.journalFile(m.ID)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, cannotRead(err)
	}
	if err := j.parse(data); err != nil {
		return nil, op.Errorf(op.Corrupt, "journal %s: %w", path, err)
	}
	if j.OldApp != m.OldApp || j.NewApp != m.NewApp {
		return nil, op.Errorf(op.Corrupt, "journal %s is of a migration from %q to %q", path, j.OldApp, j.NewApp)
	}
	return j, nil
}

// parse reads a journal and refuses one that leads out of the state directory.
func (j *cloneJournal) parse(data []byte) error {
	if err := json.Unmarshal(data, j); err != nil {
		return err
	}
	for _, t := range j.Tasks {
		paths := []string{t.From, t.To}
		for _, m := range t.Moves {
			paths = append(paths, m.From, m.To)
		}
		for _, s := range t.Stores {
			paths = append(paths, s.OldPaths...)
		}
		for _, p := range paths {
			if !filepath.IsLocal(p) {
				return op.Errorf(op.Corrupt, "path %q is not inside the state directory", p)
			}
		}
	}
	return nil
}

func (c *cloner) writeJournal(j *cloneJournal) error {
	return files.WriteJSON(c.journalFile(j.Migration), j)
}

// store is what the journal says of a store that was cloned already; nil when
// it was not.
func (j *cloneJournal) store(from, to, newStore string) *clonedStore {
	for i := range j.Tasks {
		t := &j.Tasks[i]
		if t.From != from || t.To != to {
			continue
		}
		for k := range t.Stores {
			if t.Stores[k].New == newStore {
				return &t.Stores[k]
			}
		}
	}
	return nil
}

// errOvertaken says that somebody has changed what a journal is about.
var errOvertaken = errors.New("it has been changed since")

// complete renames in what is not in place yet, then writes the lines. A store
// with rows and no line is one that is restored again, on top of its rows: so
// every step leaves a legal directory, for the old application and the new one.
func (c *cloner) complete(t *clonedTask, newApp string) error {
	todo, err := t.pending(c.stateDir)
	if err != nil {
		return err
	}
	for _, m := range todo {
		from, to := filepath.Join(c.stateDir, m.From), filepath.Join(c.stateDir, m.To)
		if err := makeDirLike(filepath.Dir(to), filepath.Dir(from)); err != nil {
			return err
		}
		// Empty directories left by a wiped store are in the way of a rename.
		if i, err := os.Lstat(to); err == nil && i.IsDir() {
			if err := files.RemoveEmpty(to); err != nil {
				return err
			}
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		for dir := filepath.Dir(to); dir != c.stateDir; dir = filepath.Dir(dir) {
			if err := files.SyncDir(dir); err != nil {
				return err
			}
		}
		if err := c.reached("renamed " + m.To); err != nil {
			return err
		}
	}
	return t.writeLines(filepath.Join(c.stateDir, newApp, t.To))
}

// pending are the moves still to do; errOvertaken when neither end of a move
// has what was moved.
func (t *clonedTask) pending(stateDir string) ([]cloneMove, error) {
	var todo []cloneMove
	for _, m := range t.Moves {
		to, err := files.Fingerprint(filepath.Join(stateDir, m.To))
		if err != nil {
			return nil, err
		}
		if to == m.Files {
			continue
		}
		from, err := files.Fingerprint(filepath.Join(stateDir, m.From))
		if err != nil {
			return nil, err
		}
		if from != m.Files || to != "" {
			return nil, errOvertaken
		}
		todo = append(todo, m)
	}
	return todo, nil
}

// writeLines adds the lines of the clones to a task's .checkpoint, which stays
// as old as it is: its time tells whether tombstones may have been missed.
func (t *clonedTask) writeLines(taskDir string) error {
	if len(t.Lines) == 0 {
		return nil
	}
	return editCheckpoint(filepath.Join(taskDir, streams.CheckpointFile), func(c streams.Checkpoint) {
		for _, l := range t.Lines {
			c[streams.TopicPartition{Topic: l.Topic, Partition: l.Partition}] = l.Offset
		}
	})
}

// editCheckpoint changes lines of a .checkpoint and keeps its time and owner.
func editCheckpoint(path string, edit func(streams.Checkpoint)) error {
	c, err := streams.ReadCheckpoint(path)
	if err != nil {
		return err
	}
	before := len(c)
	old := streams.Checkpoint{}
	for tp, o := range c {
		old[tp] = o
	}
	edit(c)
	same := len(c) == before
	for tp, o := range c {
		was, ok := old[tp]
		same = same && ok && was == o
	}
	if same {
		return nil
	}
	info, statErr := os.Stat(path)
	if err := c.Write(path); err != nil {
		return err
	}
	if len(c) == 0 {
		return nil
	}
	if statErr != nil {
		if info, err = os.Stat(filepath.Dir(path)); err != nil {
			return err
		}
		return ownLike(path, info)
	}
	if err := ownLike(path, info); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}
