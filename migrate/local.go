package migrate

import (
	"context"
	"fmt"

	"sstool/internal/op"
	"sstool/internal/rocks"
)

// LocalOptions say which migration's directories are cloned on this host.
type LocalOptions struct {
	File     string // of the migration
	StateDir string
	Force    bool // though the old version does not start beside the clones
}

// LocalPlan is what cloning does on one host, and afterwards what it has done:
// the document migrate.apply-local.
type LocalPlan struct {
	Kind      string     `json:"migration"`
	ID        string     `json:"id"`
	ClusterID string     `json:"cluster_id"`
	OldApp    string     `json:"old_application_id"`
	NewApp    string     `json:"new_application_id"`
	File      string     `json:"migration_file"`
	Clone     *ClonePlan `json:"clone"`

	m      *Migration
	cloner Cloner
}

// PlanLocal reads a migration file, which another host has written, and looks at
// this host's directories. It needs no cluster.
func PlanLocal(ctx context.Context, o LocalOptions) (*LocalPlan, error) {
	m, err := ReadMigration(o.File)
	if err != nil {
		return nil, err
	}
	if err := m.mapsWhole(o.File); err != nil {
		return nil, err
	}
	p := &LocalPlan{Kind: m.Kind, ID: m.ID, ClusterID: m.ClusterID, OldApp: m.OldApp, NewApp: m.NewApp, File: o.File, m: m, cloner: NewCloner(o.StateDir)}
	if p.Clone, err = p.cloner.Plan(ctx, m); err != nil {
		return nil, err
	}
	if err := p.Clone.checkOld(o.Force); err != nil {
		return nil, err
	}
	return p, nil
}

// mapsWhole refuses a file whose topics are not all copied and compared: its
// maps do not go up to the end.
func (m *Migration) mapsWhole(file string) error {
	if m.Aborted != nil {
		return op.Errorf(op.Precondition, "%s: this migration was aborted", file)
	}
	for i := range m.Topics {
		if t := &m.Topics[i]; !m.done("verify:" + t.New) {
			return op.Errorf(op.Precondition, "%s: topic %s is not copied and compared yet", file, t.Old).
				WithTry("run the migration to its end on the host where it was begun, then bring its file here again")
		}
	}
	return nil
}

// Steps are what Apply does, for people.
func (p *LocalPlan) Steps() []string { return p.Clone.Steps() }

// Steps are what cloning does, for people.
func (p *ClonePlan) Steps() []string {
	var out []string
	for i := range p.Tasks {
		t := &p.Tasks[i]
		for k := range t.Stores {
			s := &t.Stores[k]
			switch {
			case s.State == ToClone && t.From == t.To:
				out = append(out, fmt.Sprintf("task %s: clone store %q as %q: %d files linked, %d copied (%s)", t.From, s.Old, s.New, s.Links, s.Copies, megabytes(s.CopyBytes)))
			case s.State == ToClone:
				out = append(out, fmt.Sprintf("task %s: clone store %q into task %s as %q: %d files linked, %d copied (%s)", t.From, s.Old, t.To, s.New, s.Links, s.Copies, megabytes(s.CopyBytes)))
			case s.State == LeftOut:
				out = append(out, fmt.Sprintf("task %s: store %q is not cloned: %s", t.From, s.Old, s.Reason))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, "nothing is left to clone in "+p.StateDir)
	}
	return out
}

// NeedsRocksDB says whether offsets must be written into databases.
func (p *ClonePlan) needsRocksDB() (dir string, needs bool) {
	p.stores(func(_ *CloneTask, s *CloneStore) {
		for i := range s.dbs {
			if s.State == ToClone && s.dbs[i].offsets && s.move.OldTopic != s.move.NewTopic {
				dir, needs = s.dbs[i].dir, true
			}
		}
	})
	return dir, needs
}

// checkOld refuses clones beside which the old version does not start.
func (p *ClonePlan) checkOld(force bool) error {
	if len(p.BlockOld) == 0 || force {
		return nil
	}
	return op.Errorf(op.Precondition, "sub-topology %d is that of a global store in the old version: beside cloned task directories with this number it does not start on this host", p.BlockOld[0]).
		WithTry("--force clones them all the same; the way back to the old version is then sstool migrate abort FILE --state-dir DIR before its start")
}

// CheckRocksDB refuses, before anything is done, what this build cannot do.
func (p *ClonePlan) CheckRocksDB() error {
	if dir, needs := p.needsRocksDB(); needs && rocks.Version() == "" {
		return op.Errorf(op.Failed, "%s keeps its offsets in the database (Kafka 4.3 or later), and this sstool was built without RocksDB", dir).
			WithTry("build it with cgo: make build")
	}
	return nil
}

// Apply clones and returns the plan as it is then.
func (p *LocalPlan) Apply(ctx context.Context, sink op.Sink) (*LocalPlan, error) {
	sink.Emit(op.Event{Type: op.Phase, Name: "clone"})
	if err := p.cloner.Apply(ctx, p.m, sink); err != nil {
		return nil, err
	}
	done := *p
	var err error
	if done.Clone, err = p.cloner.Plan(ctx, p.m); err != nil {
		return nil, err
	}
	sink.Emit(op.Event{Type: op.Summary, Done: int64(done.Clone.Count(Cloned)), Unit: "stores"})
	return &done, nil
}
