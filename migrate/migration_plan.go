package migrate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/registry"
	"sstool/internal/streams"
)

// MigrationOptions say what a migration moves.
type MigrationOptions struct {
	Kind           string // Rename, TopologyMigration, ApplicationChanged
	OldApp, NewApp string
	Moves          []StoreMove
	Topics         []TopicMove // besides the changelogs of the moves
	StateDir       string      // whose directories are cloned; "": topics only
	TempDir        string      // for what does not fit memory; "": the system's
	Ledger         string      // the migration file; "": named after the migration, in LedgerDir
	LedgerDir      string
	ClusterID      string // refuse any other cluster
	// WithRepartition copies repartition topics that hold records the application
	// has not processed; else they are refused.
	WithRepartition bool
	Wait            time.Duration // for members of the group to leave
	WithACLs        bool          // copy the ACLs that name an old topic
	SchemaRegistry  string        // whose subjects that name an old topic are listed; "": not asked
	Extra           []Step        // after all topics are verified and configured, before Clone
	Clone           Cloner        // nil: no directories
	Force           bool          // though the old version does not start beside the clones
	Warnings        []string
}

// Cloner clones the local directories of a migration.
type Cloner interface {
	Plan(ctx context.Context, m *Migration) (*ClonePlan, error)
	Apply(ctx context.Context, m *Migration, sink op.Sink) error
	Undo(ctx context.Context, m *Migration, sink op.Sink) error
	UndoList(ctx context.Context, m *Migration) ([]string, error)
	FinishList(ctx context.Context, m *Migration) ([]OldDirectory, error)
	Finish(ctx context.Context, m *Migration, sink op.Sink) ([]string, error)
}

// MigrationPlan is what a migration would do.
type MigrationPlan struct {
	Kind        string      `json:"migration"`
	ID          string      `json:"id"`
	ClusterID   string      `json:"cluster_id"`
	OldApp      string      `json:"old_application_id"`
	NewApp      string      `json:"new_application_id"`
	File        string      `json:"migration_file"`
	Resumed     bool        `json:"resumed"`   // an earlier run has begun it
	Completed   bool        `json:"completed"` // an earlier run has done all of it
	Moves       []StoreMove `json:"moves"`
	Topics      []TopicPlan `json:"topics"`
	Steps       []Step      `json:"steps"`
	Records     int64       `json:"records"` // at most, to be copied
	Bytes       *int64      `json:"bytes"`   // to be copied; null: the brokers do not tell
	Estimate    *Estimate   `json:"estimate"`
	SpaceNeeded *int64      `json:"broker_space_needed"` // with all replicas; null: not known
	SpaceFree   *int64      `json:"broker_space_free"`   // of the fullest broker; null: the brokers do not tell
	Clone       *ClonePlan  `json:"clone"`               // null: no state directory was given
	Subjects    []string    `json:"subjects"`            // of the schema registry, that name an old topic
	Warnings    []string    `json:"warnings"`

	o      MigrationOptions
	client *kafka.Client
	m      *Migration
	run    *running
	read   []byte // the migration file as it was
}

// TopicPlan is one topic of a plan.
type TopicPlan struct {
	TopicMove
	PartitionCount int               `json:"partition_count"`
	Replicas       int               `json:"replication_factor"`
	Records        int64             `json:"records"` // at most, to be copied
	Bytes          *int64            `json:"bytes"`   // on the broker; null: it does not tell
	Drained        bool              `json:"drained"` // nothing to copy: the application creates the new one itself
	Config         map[string]string `json:"config"`  // explicit settings of the old topic, which the new one gets
	ACLs           []string          `json:"acls"`    // that name the old topic
}

// PlanMigration looks at cluster and directories; it changes nothing. All that
// speaks against the migration is an error.
func PlanMigration(ctx context.Context, c *kafka.Client, o MigrationOptions, sink op.Sink) (*MigrationPlan, error) {
	p := &MigrationPlan{Kind: o.Kind, OldApp: o.OldApp, NewApp: o.NewApp, Moves: o.Moves, Topics: []TopicPlan{}, Steps: []Step{}, Subjects: []string{}, Warnings: slices.Clone(o.Warnings), o: o, client: c}
	if err := p.check(); err != nil {
		return nil, err
	}
	var err error
	if p.ClusterID, err = c.ClusterID(ctx); err != nil {
		return nil, err
	}
	if err := checkCluster(ctx, c, o.ClusterID); err != nil {
		return nil, err
	}
	moves := p.topicMoves()
	p.ID = migrationID(o.Kind, p.ClusterID, o.OldApp, o.NewApp, o.Moves, o.Topics)
	if p.File = o.Ledger; p.File == "" {
		p.File = filepath.Join(o.LedgerDir, p.ID+".json")
	}
	if err := p.resume(); err != nil {
		return nil, err
	}
	if p.m.Completed != nil {
		for i := range p.m.Topics {
			if err := checkStill(ctx, c, &p.m.Topics[i], p.File); err != nil {
				return nil, err
			}
		}
		p.Resumed, p.Completed = true, true
		p.steps()
		for i := range p.Steps {
			p.Steps[i].Done = true
		}
		return p, nil
	}
	for _, app := range slices.Compact([]string{o.OldApp, o.NewApp}) {
		if err := waitIdle(ctx, c, app, o.Wait, sink); err != nil {
			return nil, err
		}
	}
	all, err := c.Topics(ctx)
	if err != nil {
		return nil, err
	}
	exists := map[string]*kafka.TopicInfo{}
	for i := range all {
		exists[all[i].Name] = &all[i]
	}
	for _, t := range moves {
		if err := p.topic(ctx, t, exists); err != nil {
			return nil, err
		}
	}
	if o.SchemaRegistry != "" {
		var old []string
		for _, t := range p.Topics {
			old = append(old, t.Old)
		}
		if p.Subjects, err = registry.Subjects(ctx, o.SchemaRegistry, old); err != nil {
			return nil, err
		}
	}
	p.space(ctx)
	if err := p.estimate(ctx); err != nil {
		return nil, err
	}
	p.steps()
	for _, s := range o.Extra {
		if s.Check != nil && !p.m.done(s.ID) {
			if err := s.Check(ctx, p.m); err != nil {
				return nil, err
			}
		}
	}
	if o.Clone != nil {
		if p.Clone, err = o.Clone.Plan(ctx, p.m); err != nil {
			return nil, err
		}
		if err := p.Clone.checkOld(o.Force); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// check refuses what cannot be meant.
func (p *MigrationPlan) check() error {
	o := &p.o
	if err := cmp.Or(streams.ValidateApplicationID(o.OldApp), streams.ValidateApplicationID(o.NewApp)); err != nil {
		return err
	}
	if len(o.Moves) == 0 && len(o.Topics) == 0 {
		return op.Errorf(op.Usage, "there is nothing to migrate")
	}
	from, to := map[string]string{}, map[string]string{}
	for i := range o.Moves {
		m := &o.Moves[i]
		if err := m.check(); err != nil {
			return err
		}
		if m.OldTopic != m.NewTopic && (m.OldTopic == "" || m.NewTopic == "") {
			return op.Errorf(op.Usage, "store %q has a changelog under one of its names only", m.OldStore)
		}
		key := fmt.Sprint(m.OldStore, " ", sub(m.OldSub))
		if _, twice := from[key]; twice {
			return op.Errorf(op.Usage, "store %q is renamed twice", m.OldStore)
		}
		from[key] = m.NewStore
		key = fmt.Sprint(m.NewStore, " ", sub(m.NewSub))
		if old, twice := to[key]; twice {
			return op.Errorf(op.Usage, "stores %q and %q would both be called %q", old, m.OldStore, m.NewStore)
		}
		to[key] = m.OldStore
	}
	return nil
}

// topicMoves are all topics to be copied, each once: changelogs, then others.
func (p *MigrationPlan) topicMoves() []TopicMove {
	var out []TopicMove
	add := func(t TopicMove) {
		if t.Old != "" && t.Old != t.New && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, m := range p.o.Moves {
		add(TopicMove{Old: m.OldTopic, New: m.NewTopic, Why: ChangelogTopic})
	}
	for _, t := range p.o.Topics {
		add(t)
	}
	return out
}

// resume reads the migration file of an earlier run, or begins a new one.
func (p *MigrationPlan) resume() error {
	m, err := ReadMigration(p.File)
	p.read, _ = os.ReadFile(p.File)
	switch {
	case err == nil:
	case op.KindOf(err) == op.NotFound:
		p.m = p.fresh()
		return nil
	default:
		return err
	}
	switch {
	case m.ID != p.ID:
		return op.Errorf(op.Precondition, "%s is the file of another migration (%s of %s)", p.File, m.Kind, m.OldApp).WithTry("give another --ledger FILE")
	case m.Finished != nil:
		return op.Errorf(op.Precondition, "this migration was finished before (%s)", p.File).WithTry("move that file away to begin anew")
	case m.Aborted != nil:
		p.m = p.fresh()
		return nil
	}
	p.m, p.Resumed = m, true
	return nil
}

// fresh is a migration of which nothing is done.
func (p *MigrationPlan) fresh() *Migration {
	return &Migration{Format: migrationFormat, Kind: p.Kind, ID: p.ID, ClusterID: p.ClusterID, OldApp: p.OldApp, NewApp: p.NewApp,
		Moves: p.o.Moves, Topics: []CopiedTopic{}, Done: map[string]time.Time{}}
}

func (p *MigrationPlan) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(p.Warnings, w) {
		p.Warnings = append(p.Warnings, w)
	}
}
