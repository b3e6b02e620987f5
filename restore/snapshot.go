package restore

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
	"sstool/restore/snapshots"
)

// SnapshotOptions say which snapshots stores come from.
type SnapshotOptions struct {
	Bucket  *snapshot.Bucket
	Key     snapshot.Key
	ID      string // "": of every task the newest that holds it
	Require bool   // fail where a store would have to be restored in full
	// Unpinned lets a snapshot be used that does not say which cluster and topics
	// it is of: a changelog that was made anew since is then not noticed.
	Unpinned bool
}

func (s *SnapshotOptions) validate(o *Options) error {
	switch {
	case s == nil:
	case o.FromCheckpoint:
		return op.Errorf(op.Usage, "--from-snapshot brings stores with their offsets, --from-checkpoint goes on with those that are there: one of them")
	case o.partial():
		return op.Errorf(op.Usage, "--from-snapshot goes to the changelog's end: --to-offset and --to-time do not fit")
	case o.AsTarget:
		return op.Errorf(op.Usage, "--from-snapshot replays from the snapshot's offset: --as-target does not fit")
	case len(o.Project) > 0, len(o.ProjectFor) > 0:
		return op.Errorf(op.Usage, "a pull and a tail say nothing about other threads or sizes: --project-… does not fit --from-snapshot")
	}
	return nil
}

// Origin is where a store comes from: a snapshot, or, when that cannot be used,
// the changelog.
type Origin struct {
	Task     string    `json:"task"`
	Store    string    `json:"store"`
	Snapshot string    `json:"snapshot"` // "": none holds it
	Host     string    `json:"host"`
	Created  time.Time `json:"created"`
	AsOf     time.Time `json:"as_of"` // when the store held all that there was
	Age      float64   `json:"age_seconds"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Tail     int64     `json:"tail_records"`    // offsets to replay after it
	InFull   string    `json:"in_full_because"` // "" when the snapshot is used

	m     *snapshot.Manifest
	task  *snapshot.Task
	store *snapshot.Store
	limit time.Duration // delete.retention.ms; 0: tombstones stay
}

// used says whether the store comes from the snapshot.
func (o *Origin) used() bool { return o != nil && o.InFull == "" }

// planSnapshot finds the snapshot of each store, and why one cannot be used.
// Each store for itself: what a store holds is a matter of its changelog alone.
func (p *Plan) planSnapshot(ctx context.Context) error {
	o := &p.Options
	ms, err := snapshots.Select(ctx, o.Snapshot.Bucket, o.ApplicationID, o.Snapshot.ID)
	if err != nil {
		return err
	}
	configs := map[string]map[string]string{}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Done || !u.Request.Kind.OnDisk() {
				continue
			}
			config, asked := configs[u.Topic]
			if !asked {
				if config, err = p.client.TopicConfig(ctx, u.Topic); err != nil {
					config = nil
				}
				configs[u.Topic] = config
			}
			if err := p.originate(ms, t, u, config); err != nil {
				return err
			}
		}
	}
	return nil
}

// originate lets a store come from a snapshot, or says why it does not.
func (p *Plan) originate(ms []*snapshot.Manifest, t *TaskPlan, u *Unit, config map[string]string) error {
	g := &Origin{Task: t.Name(), Store: u.Request.Name}
	u.Origin = g
	if i := slices.IndexFunc(ms, func(m *snapshot.Manifest) bool { return m.Task(t.Name()) != nil }); i >= 0 {
		g.m, g.task = ms[i], ms[i].Task(t.Name())
		g.Snapshot, g.Created, g.Host = g.m.ID, g.m.Created, g.m.Host
		if j := slices.IndexFunc(g.task.Stores, func(s snapshot.Store) bool { return s.Name == u.Request.Name }); j >= 0 {
			g.store = &g.task.Stores[j]
		}
	}
	empty := true
	for _, r := range u.Parts {
		empty = empty && r.Records() == 0
	}
	why := p.unusable(u, g, config)
	if why == "" {
		g.measure(u)
		return nil
	}
	if _, known := g.offset(u.Topic, u.Parts[0].Partition); empty && !known {
		u.Origin = nil // nothing was there then, and nothing is now
		return nil
	}
	g.InFull = why
	for _, r := range u.Parts {
		g.Tail += r.Records()
	}
	if p.Options.Snapshot.Require {
		return p.required(g)
	}
	p.warnOnce("task %s, store %q is restored in full: %s", g.Task, g.Store, why)
	return nil
}

func (p *Plan) required(g *Origin) error {
	return op.Errorf(op.Precondition, "task %s, store %q cannot come from a snapshot: %s", g.Task, g.Store, g.InFull).
		WithTry("leave out --require-snapshot to restore such stores in full")
}

// offset is the stored offset that the manifest tells.
func (g *Origin) offset(topic string, partition int32) (snapshot.Offset, bool) {
	if g.store == nil {
		return snapshot.Offset{}, false
	}
	i := slices.IndexFunc(g.store.Offsets, func(o snapshot.Offset) bool { return o.Topic == topic && o.Partition == partition })
	if i < 0 || g.store.Offsets[i].Offset == streams.OffsetUnknown {
		return snapshot.Offset{}, false
	}
	return g.store.Offsets[i], true
}

// unusable says why the store cannot come from its snapshot, or sets where the
// replay goes on.
func (p *Plan) unusable(u *Unit, g *Origin, config map[string]string) string {
	o := &p.Options
	switch {
	case !u.Task.Known:
		return "the task directory's name is not known (--subtopology N)"
	case g.m == nil:
		return "no snapshot holds the task"
	case g.store == nil:
		return fmt.Sprintf("snapshot %s does not hold it", g.Snapshot)
	case g.m.ClusterID != "" && g.m.ClusterID != p.ClusterID:
		return fmt.Sprintf("snapshot %s is of cluster %s, and this is %s", g.Snapshot, g.m.ClusterID, p.ClusterID)
	case g.m.ClusterID == "" && !o.Snapshot.Unpinned:
		return fmt.Sprintf("snapshot %s was pushed without a cluster, so that a changelog that was made anew would not be noticed (--accept-unpinned uses it nevertheless)", g.Snapshot)
	case o.Guarantee == ExactlyOnce && g.m.Guarantee == string(AtLeastOnce):
		return fmt.Sprintf("snapshot %s was pushed as of at_least_once: it may hold rows of an aborted transaction", g.Snapshot)
	case config == nil:
		return "the changelog's configuration cannot be read: whether tombstones are gone cannot be told"
	}
	if why := otherForm(u.Request.Store, g.store); why != "" {
		return why
	}
	g.limit = deleteRetention(config)
	froms := make([]int64, len(u.Parts))
	for i, r := range u.Parts {
		at := streams.TopicPartition{Topic: u.Topic, Partition: r.Partition}
		off, ok := g.offset(u.Topic, r.Partition)
		if !ok {
			return fmt.Sprintf("snapshot %s has no offset of it for %s", g.Snapshot, at)
		}
		if froms[i] = off.Offset + 1; u.Request.Global {
			froms[i] = off.Offset
		}
		if old := g.asOf(off); g.AsOf.IsZero() || old.Before(g.AsOf) {
			g.AsOf = old
		}
		switch {
		case off.TopicID == "" && !o.Snapshot.Unpinned:
			return fmt.Sprintf("the cluster had no topic %s when snapshot %s was pushed", u.Topic, g.Snapshot)
		case off.TopicID != "" && off.TopicID != u.topicID:
			return fmt.Sprintf("%s was deleted and created anew since snapshot %s", u.Topic, g.Snapshot)
		case froms[i] < 0 || froms[i] > r.End:
			return fmt.Sprintf("its offset %d is beyond the end %d of %s", off.Offset, r.End, at)
		case froms[i] < r.LogStart:
			return fmt.Sprintf("its offset %d is below the log start %d of %s: records between are gone", off.Offset, r.LogStart, at)
		case g.tooOld() && froms[i] < r.End:
			return g.old(u.Topic)
		case g.limit > 0 && froms[i] < r.End && time.Until(g.AsOf) > clockSkew:
			return fmt.Sprintf("it is dated %s, which is to come: how old it is, and so whether tombstones of %s are gone, cannot be told", g.AsOf.UTC().Format(time.RFC3339), u.Topic)
		}
	}
	for i := range u.Parts {
		u.Parts[i].From, u.Parts[i].Started = froms[i], "snapshot "+g.Snapshot
	}
	return ""
}

// clockSkew is how far the clocks of two hosts may be apart.
const clockSkew = 10 * time.Minute

func (g *Origin) tooOld() bool { return g.limit > 0 && time.Since(g.AsOf) > g.limit }

func (g *Origin) old(topic string) string {
	return fmt.Sprintf("it is as of %s ago, and tombstones of %s are gone after delete.retention.ms=%s: deleted rows would live again", time.Since(g.AsOf).Round(time.Second), topic, g.limit)
}

// asOf is when the store held everything up to its offset: the time of the
// .checkpoint that says so, otherwise that of its newest file. A file cannot be
// younger than the snapshot that holds it.
func (g *Origin) asOf(off snapshot.Offset) time.Time {
	at := g.store.Written
	if off.Home == streams.CheckpointFile {
		for _, f := range g.task.Files {
			if f.Path == streams.CheckpointFile {
				at = f.Modified
			}
		}
	}
	if g.m.Created.Before(at) {
		at = g.m.Created
	}
	return at
}

// measure fills in what there is to pull and to replay.
func (g *Origin) measure(u *Unit) {
	g.Age = time.Since(g.AsOf).Seconds()
	g.Files, g.Bytes = len(g.store.Files), 0
	for _, f := range g.store.Files {
		g.Bytes += f.Size
	}
	for _, r := range u.Parts {
		g.Tail += r.Records()
	}
}

// otherForm says whether the store in the snapshot is laid out differently from
// what the specification says.
func otherForm(s streams.Store, in *snapshot.Store) string {
	if in.Segmented != s.Kind.Segmented() {
		return fmt.Sprintf("the snapshot's store is %ssegmented, and a store of kind %s is not so", map[bool]string{false: "not "}[in.Segmented], s.Kind)
	}
	if !s.Kind.Segmented() && in.Databases != 1 {
		return fmt.Sprintf("the snapshot's store has %d databases", in.Databases)
	}
	want := s.ColumnFamilies()
	for _, f := range in.Families {
		if f != streams.OffsetsFamily && !slices.Contains(want, f) {
			return fmt.Sprintf("the snapshot's store has a column family %q, and one of kind %s has %s", f, s.Kind, strings.Join(want, " and "))
		}
	}
	for _, f := range want {
		if len(in.Families) > 0 && !slices.Contains(in.Families, f) {
			return fmt.Sprintf("the snapshot's store has no column family %q, as one of kind %s has", f, s.Kind)
		}
	}
	if !in.Segmented {
		return ""
	}
	for _, f := range in.Files {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, in.Dir()+"/"), "/")
		ms, ok := streams.ParseSegmentDir(s.Name, name)
		if !ok {
			return fmt.Sprintf("the snapshot's store has a directory %q that is no segment", path.Base(name))
		}
		if at := filepath.Base(streams.DatabaseDir("", s, s.SegmentID(ms))); at != name {
			return fmt.Sprintf("the snapshot's store has a segment %q, which does not fit the segment interval %s", name, s.SegmentInterval)
		}
	}
	return ""
}
