package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Everything of ours lives in <state.dir>/.sstool: never inside an
// application's directory, where Kafka Streams 4.4 dies on strays.
func ownDir(stateDir string) string { return filepath.Join(stateDir, ".sstool") }

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
type placement struct {
	Task       string                   `json:"task"`
	TaskDir    string                   `json:"task_dir"`
	Forget     []streams.TopicPartition `json:"forget"` // checkpoint lines to drop before the first move
	Moves      []move                   `json:"moves"`
	Checkpoint []checkpointLine         `json:"checkpoint"` // lines to merge afterwards
	Stores     map[string]storeID       `json:"stores"`
	Partial    bool                     `json:"partial"` // a scratch copy: no checkpoint, no ledger
}

type move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type checkpointLine struct {
	At     streams.TopicPartition `json:"at"`
	Offset int64                  `json:"offset"`
}

// storeID identifies a restored store in the ledger.
type storeID struct {
	Topic      string    `json:"topic"`
	Offset     int64     `json:"offset"`
	ClusterID  string    `json:"cluster_id"`
	FinishedAt time.Time `json:"finished_at"`
}

// apply carries the placement out; every step may have been done before.
//
// Order matters. A store that is absent while its checkpoint line stands would
// be taken for an empty store that is up to date, so the line goes first.
func (p *placement) apply(stateDir, appID string) error {
	cp := filepath.Join(p.TaskDir, streams.CheckpointFile)
	old, err := readCheckpointIf(cp)
	if err != nil {
		return err
	}
	forgot := false
	for _, tp := range p.Forget {
		if _, ok := old[tp]; ok && !p.placed() {
			delete(old, tp)
			forgot = true
		}
	}
	if forgot {
		if err := old.Write(cp); err != nil {
			return err
		}
	}
	for _, m := range p.Moves {
		if err := m.apply(); err != nil {
			return err
		}
	}
	if p.Partial {
		return nil
	}
	if old, err = readCheckpointIf(cp); err != nil {
		return err
	}
	for _, l := range p.Checkpoint {
		old[l.At] = l.Offset
	}
	if len(old) > 0 {
		if err := old.Write(cp); err != nil {
			return err
		}
	}
	// The cleaner deletes task directories by age (StateDirectory.cleanRemovedTasks).
	now := time.Now()
	if err := os.Chtimes(p.TaskDir, now, now); err != nil {
		return err
	}
	led := readLedger(stateDir, appID)
	if led.Tasks[p.Task] == nil {
		led.Tasks[p.Task] = map[string]storeID{}
	}
	for name, id := range p.Stores {
		led.Tasks[p.Task][name] = id
	}
	return led.write(stateDir, appID)
}

// placed reports whether the last move is done, so that only the checkpoint is
// left to write.
func (p *placement) placed() bool {
	if len(p.Moves) == 0 {
		return true
	}
	_, err := os.Lstat(p.Moves[len(p.Moves)-1].From)
	return errors.Is(err, fs.ErrNotExist)
}

func (m move) apply() error {
	if _, err := os.Lstat(m.From); errors.Is(err, fs.ErrNotExist) {
		return nil // done by the run that was killed
	}
	if err := os.MkdirAll(filepath.Dir(m.To), 0o755); err != nil {
		return err
	}
	if es, err := os.ReadDir(m.To); err == nil && len(es) == 0 {
		if err := os.Remove(m.To); err != nil {
			return err
		}
	}
	if err := os.Rename(m.From, m.To); err != nil {
		return err
	}
	return errors.Join(syncDir(filepath.Dir(m.From)), syncDir(filepath.Dir(m.To)))
}

// place verifies, syncs and moves one built task into the application's
// directory.
func (r *run) place(t *TaskPlan, results []unitResult) error {
	p, o := r.plan, r.opts
	app := appDir(o.Into, o.ApplicationID)
	final := filepath.Join(app, t.Name())
	built := filepath.Join(buildDir(o.Into, o.ApplicationID), taskFolder(t))
	pl := &placement{Task: t.Name(), TaskDir: final, Stores: map[string]storeID{}, Partial: o.partial()}
	aside := filepath.Join(ownDir(o.Into), "aside", o.ApplicationID, t.Name(), time.Now().UTC().Format("20060102T150405.000"))
	for i := range results {
		ur := &results[i]
		u := ur.unit
		if err := r.settle(ur, built); err != nil {
			return err
		}
		if err := p.finishUnit(u, built, *ur); err != nil {
			return err
		}
		from, to := streams.StoreDir(built, u.Request.Store), streams.StoreDir(final, u.Request.Store)
		if nonEmpty(to) {
			for part := range ur.parts {
				pl.Forget = append(pl.Forget, streams.TopicPartition{Topic: u.Topic, Partition: part})
			}
			pl.Moves = append(pl.Moves, move{to, filepath.Join(aside, u.Request.Name)})
			if pos := streams.PositionFile(final, u.Request.Name); fileExists(pos) {
				pl.Moves = append(pl.Moves, move{pos, filepath.Join(aside, filepath.Base(pos))})
			}
		}
		if fileExists(from) {
			pl.Moves = append(pl.Moves, move{from, to})
		}
		for part, c := range ur.parts {
			off, line := p.checkpointOffset(u, c, part)
			if line {
				pl.Checkpoint = append(pl.Checkpoint, checkpointLine{streams.TopicPartition{Topic: u.Topic, Partition: part}, off})
			}
			pl.Stores[u.Request.Name] = storeID{Topic: u.Topic, Offset: off, ClusterID: p.ClusterID, FinishedAt: time.Now().UTC()}
		}
	}
	if err := syncTree(built); err != nil {
		return err
	}
	if err := os.MkdirAll(final, 0o755); err != nil {
		return err
	}
	if err := writeJSON(journalFile(o.Into, o.ApplicationID), pl); err != nil {
		return err
	}
	if err := pl.apply(o.Into, o.ApplicationID); err != nil {
		return &op.Error{Kind: op.Failed, What: "put task " + t.Name() + " in place", Err: err, Try: "run the same command again: it completes the placement from its journal"}
	}
	return os.Remove(journalFile(o.Into, o.ApplicationID))
}

// recover completes what a killed run began and removes its leftovers.
func recoverTarget(stateDir, appID string) (string, error) {
	var note string
	path := journalFile(stateDir, appID)
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		var pl placement
		if err := json.Unmarshal(data, &pl); err != nil {
			return "", op.Errorf(op.Corrupt, "journal %s: %w", path, err)
		}
		if err := pl.apply(stateDir, appID); err != nil {
			return "", fmt.Errorf("complete the placement of task %s from %s: %w", pl.Task, path, err)
		}
		if err := os.Remove(path); err != nil {
			return "", err
		}
		note = fmt.Sprintf("task %s: placement begun by an earlier run is complete", pl.Task)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return note, os.RemoveAll(buildDir(stateDir, appID))
}

// ledger remembers which stores earlier runs finished.
type ledger struct {
	Tasks map[string]map[string]storeID `json:"tasks"`
}

func readLedger(stateDir, appID string) ledger {
	led := ledger{}
	if data, err := os.ReadFile(ledgerFile(stateDir, appID)); err == nil {
		// An unreadable ledger is no ledger: stores are then refused, not skipped.
		if json.Unmarshal(data, &led) != nil {
			led = ledger{}
		}
	}
	if led.Tasks == nil {
		led.Tasks = map[string]map[string]storeID{}
	}
	return led
}

func (l ledger) write(stateDir, appID string) error {
	return writeJSON(ledgerFile(stateDir, appID), l)
}

func (l ledger) has(task string, u *Unit) bool {
	id, ok := l.Tasks[task][u.Request.Name]
	return ok && id.Topic == u.Topic
}

// ledgerStillTrue reports whether the store is as the earlier run left it: the
// application moves or consumes the checkpoint as soon as it has run.
func ledgerStillTrue(taskDir string, u *Unit, led ledger) bool {
	id := led.Tasks[filepath.Base(taskDir)][u.Request.Name]
	cp, err := streams.ReadCheckpoint(filepath.Join(taskDir, streams.CheckpointFile))
	if err != nil {
		return false
	}
	if id.Offset == streams.OffsetUnknown {
		return true
	}
	for tp, off := range cp {
		if tp.Topic == u.Topic && off == id.Offset {
			return true
		}
	}
	return false
}

func readCheckpointIf(path string) (streams.Checkpoint, error) {
	cp, err := streams.ReadCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) || cp == nil && err == nil {
		return streams.Checkpoint{}, nil
	}
	return cp, err
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// syncTree makes every file and directory below root durable.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || (!d.IsDir() && !d.Type().IsRegular()) {
			return err
		}
		return syncDir(path) // opening for reading is enough for fsync
	})
}
