package restore

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/files"
	"sstool/internal/streams"
)

// ledger remembers which stores earlier runs finished, so that the next run
// does only the rest.
type ledger struct {
	Tasks map[string]map[string]storeID `json:"tasks"`
}

// storeID says what an earlier run restored, and how it left it.
type storeID struct {
	Topic      string           `json:"topic"`
	TopicID    string           `json:"topic_id"` // a topic that was made anew has another
	ClusterID  string           `json:"cluster_id"`
	Store      streams.Store    `json:"store"`
	Guarantee  Guarantee        `json:"processing_guarantee"`
	Target     string           `json:"target_kafka"`
	Lines      []checkpointLine `json:"lines"` // of the .checkpoint
	Files      string           `json:"files"` // fingerprint
	FinishedAt time.Time        `json:"finished_at"`
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
	return files.WriteJSON(ledgerFile(stateDir, appID), l)
}

func (l ledger) set(task, store string, id storeID) {
	if l.Tasks[task] == nil {
		l.Tasks[task] = map[string]storeID{}
	}
	l.Tasks[task][store] = id
}

// finished reports whether an earlier run restored u from the same topic into
// the same form, and nobody has touched it since: the application opens the
// store and moves its checkpoint as soon as it runs.
func (p *Plan) finished(led ledger, t *TaskPlan, taskDir string, u *Unit) bool {
	id, ok := led.Tasks[t.Name()][u.Request.Name]
	if !ok || p.Options.partial() || !id.sameRestore(p.storeID(u)) {
		return false
	}
	// Forced anew, a store counts as finished only since that was begun.
	if p.Options.Force && (p.forcedSince.IsZero() || id.FinishedAt.Before(p.forcedSince)) {
		return false
	}
	now, err := files.Fingerprint(streams.StoreDir(taskDir, u.Request.Store))
	if err != nil || now != id.Files {
		return false
	}
	cp, err := streams.ReadCheckpoint(filepath.Join(taskDir, streams.CheckpointFile))
	if err != nil {
		return false
	}
	for _, l := range id.Lines {
		if off, ok := cp[l.At]; !ok || off != l.Offset {
			return false
		}
	}
	return p.holds(u, id.Lines)
}

// holds notes up to where a finished store goes, which is no longer the end of
// the log when records have come since. It is false when the store holds more
// than the log does: records were deleted or lost.
func (p *Plan) holds(u *Unit, lines []checkpointLine) bool {
	for i := range u.Parts {
		r := &u.Parts[i]
		r.Held = r.From
		for _, l := range lines {
			if l.At.Partition != r.Partition {
				continue
			}
			if r.Held = l.Offset + 1; u.Request.Global {
				r.Held = l.Offset
			}
		}
		if r.Held > r.End {
			return false
		}
		if n := r.To - r.Held; n > 0 {
			p.warnOnce("%s-%d: done before up to offset %d; up to %d offsets have come since, which the application replays at its start (--from-checkpoint adds them)", u.Topic, r.Partition, r.Held, n)
		}
	}
	return true
}

func (p *Plan) warnOnce(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(p.Warnings, w) {
		p.Warnings = append(p.Warnings, w)
	}
}

// forcedFile says since when a forced restore is under way: a run that was
// stopped is continued by the next one, a new one does everything.
func forcedFile(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "forced-"+appID+".json")
}

func readForced(stateDir, appID string) (since time.Time) {
	data, err := os.ReadFile(forcedFile(stateDir, appID))
	if err != nil || json.Unmarshal(data, &since) != nil {
		return time.Time{}
	}
	return since
}

// sameRestore reports whether two restores would give the same store.
func (id storeID) sameRestore(o storeID) bool {
	return id.Topic == o.Topic && id.TopicID == o.TopicID && id.ClusterID == o.ClusterID && id.Store == o.Store && id.Guarantee == o.Guarantee && id.Target == o.Target
}

// storeID is what the ledger would say of u before it is restored.
func (p *Plan) storeID(u *Unit) storeID {
	return storeID{Topic: u.Topic, TopicID: u.topicID, ClusterID: p.ClusterID, Store: u.Request.Store, Guarantee: p.Options.Guarantee, Target: p.Options.Target.String()}
}
