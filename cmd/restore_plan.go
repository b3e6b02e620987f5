package cmd

import (
	"fmt"
	"path/filepath"
	"strconv"

	"sstool/restore"
)

// planDoc is a restore's plan as --dry-run prints it.
type planDoc struct {
	ApplicationID string                 `json:"application_id"`
	ClusterID     string                 `json:"cluster_id"`
	Into          string                 `json:"into"`
	Profile       restore.Profile        `json:"profile"`
	Isolation     string                 `json:"isolation"`
	IsolationFrom string                 `json:"isolation_from"`
	Assumptions   []string               `json:"assumptions"`
	Warnings      []string               `json:"warnings"`
	Steps         []planStep             `json:"steps"`
	Skipped       []restore.SkippedStore `json:"skipped"`
	Snapshot      *snapshotPlan          `json:"snapshot,omitempty"`
}

// planStep is one changelog partition of the plan.
type planStep struct {
	Task      string `json:"task"`
	Store     string `json:"store"`
	Kind      string `json:"kind"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	Bytes     *int64 `json:"bytes"`
	Action    string `json:"action"` // restore, replace, resume, from snapshot, keep, none
	Because   string `json:"started_at_because"`
}

func newPlanDoc(p *restore.Plan) planDoc {
	d := planDoc{
		ApplicationID: p.Options.ApplicationID, ClusterID: p.ClusterID, Into: p.Options.Into, Profile: p.Options.Profile,
		Isolation: "read_uncommitted", IsolationFrom: p.IsolationBy, Assumptions: p.Assumptions, Warnings: p.Warnings, Skipped: p.Skipped,
	}
	d.Snapshot = newSnapshotPlan(p)
	if p.Committed {
		d.Isolation = "read_committed"
	}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			for _, r := range u.Parts {
				s := planStep{
					Task: t.Name(), Store: u.Request.Name, Kind: string(u.Request.Kind), Topic: u.Topic,
					Partition: r.Partition, From: r.From, To: r.To, Action: action(u), Because: r.Started,
				}
				if r.Bytes >= 0 {
					s.Bytes = &r.Bytes
				}
				d.Steps = append(d.Steps, s)
			}
		}
	}
	return d
}

func action(u *restore.Unit) string {
	switch {
	case u.Kept:
		return "keep"
	case u.Done:
		return "none"
	case u.Origin != nil && u.Origin.InFull == "":
		return "from snapshot"
	case u.Resume != "":
		return "resume"
	case u.Replace:
		return "replace"
	}
	return "restore"
}

func renderPlan(w *tableWriter, d planDoc) {
	where := "a scratch directory, removed afterwards"
	if d.Into != "" {
		where = filepath.Join(d.Into, d.ApplicationID)
	}
	w.line("Plan: replay %s into %s (profile %s, %s: %s). Nothing is changed.", printable(d.ApplicationID), printable(where), d.Profile, d.Isolation, printable(d.IsolationFrom))
	w.line("")
	var rows [][]string
	for _, s := range d.Steps {
		size := "unmeasured"
		if s.Bytes != nil {
			size = w.bytes(*s.Bytes)
		}
		rows = append(rows, []string{
			s.Task, s.Store, s.Kind, s.Topic, strconv.Itoa(int(s.Partition)), w.count(s.From), w.count(s.To), size, s.Action, s.Because,
		})
	}
	w.table([]column{
		{name: "TASK"}, {name: "STORE"}, {name: "KIND"}, {name: "TOPIC", wide: true}, {name: "PARTITION", right: true},
		{name: "FROM", right: true}, {name: "TO", right: true}, {name: "LOG SIZE", right: true}, {name: "ACTION"}, {name: "BECAUSE", wide: true},
	}, rows)
	renderSnapshotPlan(w, d.Snapshot)
	w.explainTasks(func(yield func(string) bool) {
		for _, s := range d.Steps {
			if !yield(s.Task) {
				return
			}
		}
	})
	w.notes(d.Assumptions, d.Warnings, d.Skipped)
}

// changesOf lists what a restore would do to stores that are there already.
func changesOf(p *restore.Plan) []string {
	if p.Options.Into == "" {
		return nil
	}
	var out []string
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			switch {
			case u.Done:
			case u.Resume != "":
				out = append(out, fmt.Sprintf("resume store %s of task %s", u.Request.Name, t.Name()))
			case u.Replace:
				out = append(out, fmt.Sprintf("move store %s of task %s aside into %s and replace it", u.Request.Name, t.Name(), filepath.Join(p.Options.Into, ".sstool")))
			}
		}
	}
	return out
}
