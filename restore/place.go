package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Everything of ours lives in <state.dir>/.sstool: never inside an
// application's directory, where Kafka Streams 4.4 dies on strays.
const ownName = ".sstool"

func ownDir(stateDir string) string { return filepath.Join(stateDir, ownName) }

func buildDir(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "build-"+appID)
}
func ledgerFile(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "ledger-"+appID+".json")
}
func journalFile(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "journal-"+appID+".json")
}

// placement is the journal of putting one task in place. It is on disk before
// the first move, so that a run killed in between is completed by the next.
// Its paths are relative to the state directory: the next run may name that
// differently.
type placement struct {
	Task       string                   `json:"task"`
	TaskDir    string                   `json:"task_dir"`
	Forget     []streams.TopicPartition `json:"forget"` // checkpoint lines to drop before the first move
	Moves      []move                   `json:"moves"`
	Checkpoint []checkpointLine         `json:"checkpoint"` // lines to merge afterwards
	Stores     map[string]storeID       `json:"stores"`
	Partial    bool                     `json:"partial"` // a scratch copy: no checkpoint, no ledger
}

// move is one rename. Files is the fingerprint of what is moved: it tells
// whether the move is done, still to do, or overtaken by somebody else.
type move struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Files string `json:"files"`
}

type checkpointLine struct {
	At     streams.TopicPartition `json:"at"`
	Offset int64                  `json:"offset"`
}

// errOvertaken says that what a placement was about has changed meanwhile.
var errOvertaken = errors.New("the stores have been changed since")

// apply carries the placement out; every step may have been done before.
//
// Order matters. A store that is absent while its checkpoint line stands would
// be taken for an empty store that is up to date, so the line goes first.
func (p *placement) apply(stateDir, appID string) error {
	todo, err := p.pending(stateDir)
	if err != nil {
		return err
	}
	if err := files.MakeDirs(stateDir, p.TaskDir); err != nil {
		return err
	}
	cp := filepath.Join(stateDir, p.TaskDir, streams.CheckpointFile)
	if len(todo) > 0 || p.Partial {
		if err := editCheckpoint(cp, func(c streams.Checkpoint) {
			for _, tp := range p.Forget {
				delete(c, tp)
			}
		}); err != nil {
			return err
		}
	}
	for _, m := range todo {
		if err := m.apply(stateDir); err != nil {
			return err
		}
	}
	if p.Partial {
		return nil
	}
	if err := editCheckpoint(cp, func(c streams.Checkpoint) {
		for _, l := range p.Checkpoint {
			c[l.At] = l.Offset
		}
	}); err != nil {
		return err
	}
	// The cleaner deletes task directories by age (StateDirectory.cleanRemovedTasks).
	now := time.Now()
	if err := os.Chtimes(filepath.Join(stateDir, p.TaskDir), now, now); err != nil {
		return err
	}
	led := readLedger(stateDir, appID)
	for name, id := range p.Stores {
		led.set(p.Task, name, id)
	}
	return led.write(stateDir, appID)
}

// pending lists the moves that are still to do. A move is done when what was
// to be moved stands at its destination; later moves may have put something
// else where it came from, and something else may have left the destination
// of a move aside untouched. Anything else is somebody else's doing.
func (p *placement) pending(stateDir string) ([]move, error) {
	var todo []move
	for _, m := range p.Moves {
		to, err := files.Fingerprint(filepath.Join(stateDir, m.To))
		if err != nil {
			return nil, err
		}
		if to == m.Files {
			if len(todo) > 0 {
				return nil, errOvertaken // moves are done in order
			}
			continue
		}
		from, err := files.Fingerprint(filepath.Join(stateDir, m.From))
		if err != nil {
			return nil, err
		}
		// What stands at the destination must be on its way aside.
		if from != m.Files || to != "" && !slices.ContainsFunc(todo, func(x move) bool { return x.From == m.To }) {
			return nil, errOvertaken
		}
		todo = append(todo, m)
	}
	if len(todo) == 0 {
		// In place; and as it was left?
		for _, id := range p.Stores {
			if now, err := files.Fingerprint(filepath.Join(stateDir, streams.StoreDir(p.TaskDir, id.Store))); err != nil || now != id.Files {
				return nil, errors.Join(errOvertaken, err)
			}
		}
	}
	return todo, nil
}

// editCheckpoint changes a checkpoint file if need be. The lines of other
// stores stay as they are and as old as they are: the file's time tells a
// resume whether tombstones may have been missed.
func editCheckpoint(path string, edit func(streams.Checkpoint)) error {
	old, err := readCheckpointIf(path)
	if err != nil {
		return err
	}
	c := streams.Checkpoint{}
	for tp, off := range old {
		c[tp] = off
	}
	edit(c)
	if len(c) == len(old) {
		same := true
		for tp, off := range c {
			o, ok := old[tp]
			same = same && ok && o == off
		}
		if same {
			return nil
		}
	}
	before, statErr := os.Stat(path)
	if err := c.Write(path); err != nil {
		return err
	}
	if statErr == nil && len(c) > 0 {
		for tp, off := range c {
			if o, ok := old[tp]; ok && o == off {
				return os.Chtimes(path, before.ModTime(), before.ModTime())
			}
		}
	}
	return nil
}

func (m move) apply(stateDir string) error {
	from, to := filepath.Join(stateDir, m.From), filepath.Join(stateDir, m.To)
	if err := files.MakeDirs(stateDir, filepath.Dir(m.To)); err != nil {
		return err
	}
	// Empty directories left by a wiped store are in the way of a rename.
	if i, err := os.Lstat(to); err == nil && i.IsDir() {
		if err := files.RemoveEmpty(to); err != nil {
			return err
		}
	} else if full, ferr := files.NonEmpty(to); err == nil && ferr == nil && !full {
		if err := os.Remove(to); err != nil { // a link to an empty directory
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(files.SyncDir(filepath.Dir(from)), files.SyncDir(filepath.Dir(to)))
}

// place verifies, syncs and moves one built task into the application's
// directory.
func (r *run) place(t *TaskPlan, results []unitResult) error {
	p, o := r.plan, r.opts
	for i := range results {
		ur := &results[i]
		built := filepath.Join(buildDir(o.Into, o.ApplicationID), taskFolder(t))
		if err := p.finishUnit(ur.unit, built, *ur); err != nil {
			return err
		}
	}
	if p.locked != nil {
		p.locked.Lock()
		defer p.locked.Unlock()
	}
	pl, err := p.placementOf(t, results)
	if err != nil {
		return err
	}
	if err := files.SyncTree(filepath.Join(buildDir(o.Into, o.ApplicationID), taskFolder(t))); err != nil {
		return err
	}
	journal := journalFile(o.Into, o.ApplicationID)
	if files.Exists(journal) {
		// The placement of another task failed: its journal is what completes it.
		return op.Errorf(op.Failed, "put task %s in place: another task is half in place", t.Name())
	}
	if err := files.WriteJSON(journal, pl); err != nil {
		return err
	}
	if err := pl.apply(o.Into, o.ApplicationID); err != nil {
		return &op.Error{Kind: op.Failed, What: "put task " + t.Name() + " in place", Err: err, Try: "run the same command again: it completes the placement from its journal"}
	}
	return os.Remove(journal)
}

// placementOf lists what putting the built task in place takes.
func (p *Plan) placementOf(t *TaskPlan, results []unitResult) (*placement, error) {
	o := &p.Options
	final := filepath.Join(o.ApplicationID, t.Name())
	built := filepath.Join(ownName, "build-"+o.ApplicationID, taskFolder(t))
	aside := filepath.Join(ownName, "aside", o.ApplicationID, t.Name(), time.Now().UTC().Format("20060102T150405.000000"))
	pl := &placement{Task: t.Name(), TaskDir: final, Stores: map[string]storeID{}, Partial: o.partial()}
	add := func(from, to string) error {
		now, err := files.Fingerprint(filepath.Join(o.Into, from))
		if err == nil && now != "" {
			pl.Moves = append(pl.Moves, move{from, to, now})
		}
		return err
	}
	for i := range results {
		ur := &results[i]
		u := ur.unit
		from, to := streams.StoreDir(built, u.Request.Store), streams.StoreDir(final, u.Request.Store)
		// The store and what is written about it elsewhere go aside together.
		err := errors.Join(
			add(to, filepath.Join(aside, u.Request.Name)),
			add(streams.PositionFile(final, u.Request.Name), filepath.Join(aside, u.Request.Name+".position")),
			add(filepath.Join(final, streams.CheckpointFile+"_"+u.Request.Name), filepath.Join(aside, u.Request.Name+".checkpoint")),
			add(from, to))
		if err != nil {
			return nil, err
		}
		id := p.storeID(u)
		id.FinishedAt = time.Now().UTC()
		if id.Files, err = files.Fingerprint(filepath.Join(o.Into, from)); err != nil {
			return nil, err
		}
		for _, part := range u.Parts {
			at := streams.TopicPartition{Topic: u.Topic, Partition: part.Partition}
			pl.Forget = append(pl.Forget, at)
			if off, line := p.checkpointOffset(u, ur.parts[part.Partition], part.Partition); line {
				id.Lines = append(id.Lines, checkpointLine{at, off})
			}
		}
		pl.Checkpoint = append(pl.Checkpoint, id.Lines...)
		pl.Stores[u.Request.Name] = id
	}
	return pl, nil
}

// readJournal is the placement that a killed run left; nil when there is none.
func readJournal(stateDir, appID string) (*placement, error) {
	path := journalFile(stateDir, appID)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pl placement
	if err := json.Unmarshal(data, &pl); err != nil {
		return nil, op.Errorf(op.Corrupt, "journal %s: %w", path, err)
	}
	if err := pl.local(); err != nil {
		return nil, op.Errorf(op.Corrupt, "journal %s: %w", path, err)
	}
	return &pl, nil
}

// recoverTarget completes what a killed run began and removes its leftovers.
// It says what became of a placement that it found, and whether that is whole
// now.
func recoverTarget(stateDir, appID string) (note string, done bool, err error) {
	path := journalFile(stateDir, appID)
	pl, err := readJournal(stateDir, appID)
	if err != nil {
		return "", false, err
	}
	if pl != nil {
		err := pl.apply(stateDir, appID)
		switch {
		case err == nil:
			done = true
			note = fmt.Sprintf("task %s: placement begun by an earlier run is complete", pl.Task)
		case errors.Is(err, errOvertaken):
			// The application ran on the directory, which is a legal one at every
			// step: what it made of it stands.
			note = fmt.Sprintf("task %s: an earlier run was stopped while putting it in place, and the stores have been changed since: they are left as they are", pl.Task)
		default:
			return "", false, fmt.Errorf("complete the placement of task %s from %s: %w", pl.Task, path, err)
		}
		if err := os.Remove(path); err != nil {
			return "", false, err
		}
	}
	return note, done, os.RemoveAll(buildDir(stateDir, appID))
}

// local refuses a journal that leads out of the state directory.
func (p *placement) local() error {
	paths := []string{p.TaskDir}
	for _, m := range p.Moves {
		paths = append(paths, m.From, m.To)
	}
	for _, path := range paths {
		if !filepath.IsLocal(path) {
			return op.Errorf(op.Corrupt, "path %q is not inside the state directory", path)
		}
	}
	return nil
}

func readCheckpointIf(path string) (streams.Checkpoint, error) {
	cp, err := streams.ReadCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) || cp == nil && err == nil {
		return streams.Checkpoint{}, nil
	}
	return cp, err
}
