package migrate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sstool/internal/op"
)

// MigrationResult is the plan with what became of it.
type MigrationResult struct {
	MigrationPlan
	Copies  []TopicResult `json:"copies"`
	Seconds float64       `json:"seconds"`
}

// TopicResult is what was copied of a topic.
type TopicResult struct {
	Old        string   `json:"old"`
	New        string   `json:"new"`
	Partitions int      `json:"partitions"`
	Records    int64    `json:"records"`
	Keys       int64    `json:"keys"` // whose newest record has a value
	Verified   bool     `json:"verified"`
	Cleaned    bool     `json:"old_was_cleaned"`  // meanwhile; the tables are the same nevertheless
	Unmeasured []string `json:"table_unmeasured"` // partitions whose tables were not compared, and why
}

// running is a migration that is being applied.
type running struct {
	mu  sync.Mutex // guards the migration while a copy is noted
	led *ledger[Migration]
}

// note keeps the migration file.
func (p *MigrationPlan) note() error {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.run.led.State = *p.m
	return p.run.led.save()
}

// Apply does what is left of the migration. Everything is checked once more
// before. An error or an interruption leaves the old topics and directories as
// they were; a second run continues.
func (p *MigrationPlan) Apply(ctx context.Context, sink op.Sink) (*MigrationResult, error) {
	begun := time.Now()
	if p.Completed || len(p.Steps) == 0 {
		return p.result(begun), nil
	}
	led, _, err := openLedger[Migration](p.File)
	if err != nil {
		return nil, err
	}
	defer led.close()
	if now, _ := os.ReadFile(p.File); !bytes.Equal(now, p.read) {
		return nil, op.Errorf(op.Precondition, "another run has gone on with this migration since it was planned").WithTry("run it again")
	}
	p.run = &running{led: led}
	if err := p.recheck(ctx); err != nil {
		return nil, err
	}
	if p.m.Begun.IsZero() {
		p.m.Begun = time.Now().UTC().Truncate(time.Second)
	}
	if err := p.note(); err != nil {
		return nil, err
	}
	if err := runSteps(ctx, p.m, p.Steps, p.note, sink); err != nil {
		return p.result(begun), err
	}
	if p.o.Clone != nil { // what was planned may not all have been cloned
		if p.Clone, err = p.o.Clone.Plan(ctx, p.m); err != nil {
			return nil, err
		}
	}
	now := time.Now().UTC().Truncate(time.Second)
	p.m.Completed = &now
	p.Completed = true
	if err := p.note(); err != nil {
		return nil, err
	}
	sink.Emit(op.Event{Type: op.Summary, Done: p.Records, Unit: "records"})
	return p.result(begun), nil
}

// recheck makes sure that nothing has happened since the plan was made.
func (p *MigrationPlan) recheck(ctx context.Context) error {
	for _, app := range slices.Compact([]string{p.OldApp, p.NewApp}) {
		if err := checkIdle(ctx, p.client, app); err != nil {
			return err
		}
	}
	for i := range p.m.Topics {
		t := &p.m.Topics[i]
		planned := map[int32]int64{}
		for j := range t.Partitions {
			planned[t.Partitions[j].Partition] = t.Partitions[j].End
		}
		if err := checkEnds(ctx, p.client, t.Old, planned); err != nil {
			return err
		}
	}
	return nil
}

func (p *MigrationPlan) result(begun time.Time) *MigrationResult {
	r := &MigrationResult{MigrationPlan: *p, Copies: []TopicResult{}, Seconds: time.Since(begun).Seconds()}
	for i := range p.m.Topics {
		t := &p.m.Topics[i]
		c := TopicResult{Old: t.Old, New: t.New, Partitions: len(t.Partitions), Verified: p.m.done("verify:" + t.New), Unmeasured: []string{}}
		for j := range t.Partitions {
			cp := &t.Partitions[j]
			c.Records += cp.All.Rows
			if v := cp.Verified; v != nil {
				c.Keys += v.Keys
				c.Cleaned = c.Cleaned || v.Cleaned
				if v.Unmeasured != "" {
					c.Unmeasured = append(c.Unmeasured, fmt.Sprintf("%d: %s", cp.Partition, v.Unmeasured))
				}
			}
		}
		r.Copies = append(r.Copies, c)
	}
	return r
}

// steps are what Apply does, in order: no copy is configured, and may be
// cleaned from then on, before all are verified.
func (p *MigrationPlan) steps() {
	p.Steps = []Step{}
	add := func(s Step) {
		s.Done = p.m.done(s.ID)
		p.Steps = append(p.Steps, s)
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Drained {
			continue
		}
		old := t.Old
		add(Step{ID: "create:" + t.New, Text: fmt.Sprintf("create topic %s: %d partitions, replication factor %d, nothing is cleaned or deleted while it is filled", t.New, t.PartitionCount, t.Replicas),
			Do: func(ctx context.Context, m *Migration, _ op.Sink) error { return p.create(ctx, m.topic(old)) }})
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Drained {
			continue
		}
		old := t.Old
		text := fmt.Sprintf("copy %s to %s: up to %d records", t.Old, t.New, t.Records)
		if t.Bytes != nil {
			text += ", " + megabytes(*t.Bytes)
		}
		add(Step{ID: "copy:" + t.New, Text: text, Records: t.Records, Bytes: value(t.Bytes),
			Do: func(ctx context.Context, m *Migration, sink op.Sink) error {
				return p.copying(m.topic(old), sink).copyAll(ctx)
			}})
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Drained {
			continue
		}
		old := t.Old
		add(Step{ID: "verify:" + t.New, Text: fmt.Sprintf("compare %s with %s: all records, and the tables they make", t.New, t.Old), Records: 2 * t.Records, Bytes: 2 * value(t.Bytes),
			Do: func(ctx context.Context, m *Migration, sink op.Sink) error {
				return p.copying(m.topic(old), sink).verify(ctx)
			}})
	}
	first := true
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Drained {
			continue
		}
		old, check := t.Old, first
		first = false
		add(Step{ID: "configure:" + t.New, Text: fmt.Sprintf("give %s the configuration of %s: %s", t.New, t.Old, configText(t.Config)),
			Do: func(ctx context.Context, m *Migration, _ op.Sink) error {
				if check {
					if err := p.recheck(ctx); err != nil {
						return err
					}
				}
				return p.configure(ctx, m.topic(old))
			}})
	}
	if p.o.WithACLs {
		for i := range p.Topics {
			if t := &p.Topics[i]; len(t.ACLs) > 0 {
				add(Step{ID: "acls:" + t.New, Text: fmt.Sprintf("copy %d ACLs of %s to %s", len(t.ACLs), t.Old, t.New),
					Do: func(ctx context.Context, _ *Migration, _ op.Sink) error { return p.copyACLs(ctx, t.Old, t.New) }})
			}
		}
	}
	if p.Kind != ApplicationChanged {
		for i := range p.Topics {
			t := &p.Topics[i]
			if t.Why == ChangelogTopic || t.Drained {
				continue
			}
			old := t.Old
			add(Step{ID: "offsets:" + t.New, Text: fmt.Sprintf("commit offsets of group %s for %s, mapped from those for %s", p.NewApp, t.New, t.Old),
				Do: func(ctx context.Context, m *Migration, _ op.Sink) error { return p.commit(ctx, m.topic(old)) }})
		}
	}
	for _, s := range p.o.Extra {
		add(s)
	}
	if p.o.Clone != nil {
		add(Step{ID: "clone", Text: "clone the local directories below " + p.o.StateDir, Do: p.o.Clone.Apply})
	}
}

func (p *MigrationPlan) copying(t *CopiedTopic, sink op.Sink) *copying {
	return &copying{client: p.client, topic: t, tempDir: p.o.TempDir, note: p.note, mu: &p.run.mu, sink: sink}
}

func configText(conf map[string]string) string {
	if len(conf) == 0 {
		return "nothing of its own"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		out = append(out, k+"="+conf[k])
	}
	return strings.Join(out, ", ")
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
