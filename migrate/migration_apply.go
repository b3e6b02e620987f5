package migrate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sstool/internal/kafka"
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

// forever is what no record is too old or too new for.
const forever = "9223372036854775807"

// largestRecord is what a copy takes while it is filled: the limit of the old
// topic may have been larger when its records were written.
const largestRecord = 32 << 20

// throttles name brokers of a reassignment under way: they are not the topic's.
var throttles = []string{"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}

// holding are the settings under which a copy is filled: nothing is removed, and
// every record is taken with the timestamp it has. known are all settings that
// the brokers have.
func holding(overrides, known map[string]string) map[string]string {
	out := maps.Clone(overrides)
	if out == nil {
		out = map[string]string{}
	}
	for _, k := range throttles {
		delete(out, k)
	}
	size, _ := strconv.Atoi(known["max.message.bytes"])
	for k, v := range map[string]string{
		"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "message.timestamp.type": "CreateTime",
		"message.timestamp.difference.max.ms": forever, "message.timestamp.before.max.ms": forever, "message.timestamp.after.max.ms": forever,
		"max.message.bytes": strconv.Itoa(max(size, largestRecord)),
	} {
		if _, ok := known[k]; ok {
			out[k] = v
		}
	}
	return out
}

// create makes the new topic. Its id is noted, so that no later run takes
// another topic of the same name for it.
func (p *MigrationPlan) create(ctx context.Context, t *CopiedTopic) error {
	known, err := p.client.TopicConfig(ctx, t.Old)
	if err != nil {
		return err
	}
	conf := holding(t.Overrides, known)
	err = p.client.CreateTopic(ctx, kafka.NewTopic{Name: t.New, Partitions: len(t.Partitions), ReplicationFactor: t.Replicas, Configs: conf})
	if op.KindOf(err) == op.Precondition && err != nil {
		// An earlier run may have been killed between making it and noting it.
		if ends, e := p.client.Offsets(ctx, t.New, nil); e != nil || written(ends) || !p.Resumed {
			return p.taken(t.New)
		}
		err = p.client.AlterTopicConfig(ctx, t.New, conf, nil)
	}
	if err != nil {
		return err
	}
	info, err := p.client.Topic(ctx, t.New)
	if err != nil {
		return err
	}
	if len(info.Partitions) != len(t.Partitions) {
		return p.taken(t.New)
	}
	p.run.mu.Lock()
	t.NewID = topicID(info.ID)
	p.run.mu.Unlock()
	return p.note()
}

func written(ends map[int32]kafka.PartitionOffsets) bool {
	for _, e := range ends {
		if e.End > 0 {
			return true
		}
	}
	return false
}

// configure gives the copy the explicit settings of the old topic, and takes
// back those it was filled with.
func (p *MigrationPlan) configure(ctx context.Context, t *CopiedTopic) error {
	is, err := p.client.TopicOverrides(ctx, t.New)
	if err != nil {
		return err
	}
	set := maps.Clone(t.Overrides)
	for _, k := range throttles {
		delete(set, k)
	}
	var remove []string
	for k, v := range is {
		switch want, ok := set[k]; {
		case !ok:
			remove = append(remove, k)
		case want == v:
			delete(set, k)
		}
	}
	slices.Sort(remove)
	return p.client.AlterTopicConfig(ctx, t.New, set, remove)
}

// copyACLs gives the copy the rules of the old topic. Those it has not yet are
// noted before they are made: abort removes exactly them.
func (p *MigrationPlan) copyACLs(ctx context.Context, old, new string) error {
	acls, err := p.client.TopicACLs(ctx, old)
	if err != nil {
		return err
	}
	is, err := p.client.TopicACLs(ctx, new)
	if err != nil {
		return err
	}
	p.run.mu.Lock()
	for _, a := range acls {
		if a.Topic == old && !a.Prefixed {
			if a.Topic = new; !slices.Contains(is, a) && !slices.Contains(p.m.ACLs, a) {
				p.m.ACLs = append(p.m.ACLs, a)
			}
		}
	}
	p.run.mu.Unlock()
	if err := p.note(); err != nil {
		return err
	}
	return p.client.CreateACLs(ctx, slices.DeleteFunc(slices.Clone(p.m.ACLs), func(a kafka.ACL) bool { return a.Topic != new }))
}

// commit commits the group's offsets of a repartition topic for its copy.
func (p *MigrationPlan) commit(ctx context.Context, t *CopiedTopic) error {
	all, err := p.client.GroupOffsets(ctx, p.OldApp)
	if err != nil {
		return err
	}
	var out []kafka.GroupOffset
	for _, o := range all {
		if o.Topic == t.Old && int(o.Partition) < len(t.Partitions) {
			o.Topic, o.Offset, o.LeaderEpoch = t.New, t.Partitions[o.Partition].Map.Position(o.Offset), -1
			out = append(out, o)
		}
	}
	return p.client.CommitGroupOffsets(ctx, p.NewApp, out)
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
