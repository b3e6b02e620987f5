package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// Plan is what a restore will do: resolved against the cluster and the target
// directory, and shown before it is done.
type Plan struct {
	Options     Options
	ClusterID   string
	Committed   bool   // read_committed
	IsolationBy string // why
	Assumptions []string
	Warnings    []string
	Tasks       []*TaskPlan
	Skipped     []SkippedStore

	client *kafka.Client
	cores  int
	share  *share // with other processes; nil when all tasks are ours
	topics []changelogInfo
	begun  map[*Unit]bool   // an earlier run was killed while putting them in place
	was    map[*Unit]string // what stood in their places when the plan was made
	locked sync.Locker      // with the application's lock held already: held while a task is put in place
	// forcedSince is when the forced restore that this run continues was begun;
	// zero when it continues none.
	forcedSince time.Time
}

// SkippedStore is a store that has nothing on disk to restore.
type SkippedStore struct {
	Store  string `json:"store"`
	Reason string `json:"reason"`
}

// TaskPlan is one task directory: its stores are restored and put in place
// together.
type TaskPlan struct {
	Task   streams.TaskID
	Known  bool // the sub-topology is known, so the directory's name is
	Global bool
	Units  []*Unit
	Done   bool // an earlier run finished it
}

// Name is the task directory's name.
func (t *TaskPlan) Name() string {
	if t.Global {
		return "global"
	}
	if !t.Known {
		return "?_" + strconv.Itoa(t.Task.Partition)
	}
	return t.Task.String()
}

// Unit is one store of one task: one changelog partition, or all partitions
// of a global store's topic.
type Unit struct {
	Request StoreRequest
	Topic   string
	Parts   []PartRange
	Replace bool    // a non-empty store stands in its place
	Resume  string  // directory of the store to resume; empty: from the log start
	Origin  *Origin // the snapshot it comes from, or why it does not; nil when none is asked for, or needed
	Done    bool    // in place from an earlier run
	Kept    bool    // Done, because it was there: SkipExisting
	Task    *TaskPlan

	topicID string
	id      [16]byte // the same; zero before Kafka 2.8

	was string // fingerprint of what stood in its place when the plan was made

	replayed map[int32]Counts // by partition, once it is
}

// PartRange is the part of one changelog partition that is replayed.
type PartRange struct {
	Partition  int32
	LogStart   int64
	End        int64 // read_uncommitted end of the log
	LastStable int64
	From, To   int64
	Started    string // why From is where it is, when not the log start
	Bytes      int64  // size of the partition on its leader; -1 when unmeasured
	Held       int64  // of a store that is done before: the offset after the last one it holds
}

// Records is how many offsets the range spans.
func (r PartRange) Records() int64 { return max(0, r.To-r.From) }

// MakePlan resolves opts against the cluster and the target. It reads only.
func MakePlan(ctx context.Context, client *kafka.Client, opts Options) (*Plan, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	cores := runtime.GOMAXPROCS(0)
	opts.setDefaults(cores)
	opts.Stores = slices.Clone(opts.Stores) // what is derived does not become the caller's statement
	p := &Plan{Options: opts, client: client, cores: cores}
	p.Committed, p.IsolationBy = opts.readCommitted()
	var err error
	if p.ClusterID, err = client.ClusterID(ctx); err != nil {
		return nil, err
	}
	if opts.Target == (streams.Version{}) {
		p.Assumptions = append(p.Assumptions, "Kafka version of the application not stated: the classic layout, which 3.0 to 4.4 accept, and a full replay")
	}
	if opts.Profile == Streams {
		p.assume("%d restore threads: an application restores with num.stream.threads (--threads)", opts.Threads)
	}
	tasks := map[string]*TaskPlan{}
	for i := range p.Options.Stores {
		if err := p.addStore(ctx, &p.Options.Stores[i], tasks); err != nil {
			return nil, err
		}
	}
	for _, t := range tasks {
		p.Tasks = append(p.Tasks, t)
	}
	sort.Slice(p.Tasks, func(i, j int) bool {
		a, b := p.Tasks[i], p.Tasks[j]
		if a.Global != b.Global {
			return a.Global
		}
		if a.Task.Subtopology != b.Task.Subtopology {
			return a.Task.Subtopology < b.Task.Subtopology
		}
		return a.Task.Partition < b.Task.Partition
	})
	if err := p.checkSelection(); err != nil {
		return nil, err
	}
	if opts.Into != "" {
		if err := p.findBegun(); err != nil {
			return nil, err
		}
		if err := p.checkTarget(); err != nil {
			return nil, err
		}
	}
	if opts.Snapshot != nil {
		if err := p.planSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	if opts.FromCheckpoint {
		if err := p.planResume(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Plan) addStore(ctx context.Context, req *StoreRequest, tasks map[string]*TaskPlan) error {
	o := &p.Options
	topic := req.Topic
	if topic == "" {
		topic = streams.ChangelogTopic(o.ApplicationID, req.Name)
	}
	info, err := p.client.Topic(ctx, topic)
	if err != nil {
		return err
	}
	config, err := p.client.TopicConfig(ctx, topic)
	if err != nil {
		// Describing configurations is a right of its own; without it only the
		// derived values are missing.
		p.Warnings = append(p.Warnings, fmt.Sprintf("configuration of %s unmeasured: %v", topic, err))
		config = nil
	}
	if err := p.fill(req, topic, config); err != nil {
		return err
	}
	if !req.Kind.OnDisk() && o.Into != "" {
		p.topics = append(p.topics, changelogInfo{req, topic, len(info.Partitions)})
		p.Skipped = append(p.Skipped, SkippedStore{req.Name, fmt.Sprintf("kind %s keeps nothing on disk: the application restores it from the changelog at every start", req.Kind)})
		return nil
	}
	parts := p.selectPartitions(req, len(info.Partitions))
	p.topics = append(p.topics, changelogInfo{req, topic, len(info.Partitions)})
	if len(parts) == 0 {
		return nil
	}
	ranges, err := p.ranges(ctx, topic, parts, req)
	if err != nil {
		return err
	}
	if req.Global {
		t := tasks["global"]
		if t == nil {
			t = &TaskPlan{Global: true, Known: true}
			tasks["global"] = t
		}
		t.Units = append(t.Units, &Unit{Request: *req, Topic: topic, Parts: ranges, Task: t, topicID: fmt.Sprintf("%x", info.ID), id: info.ID})
		return nil
	}
	for _, r := range ranges {
		id := streams.TaskID{Subtopology: -1, Partition: int(r.Partition)}
		sub := req.Subtopology
		if sub == nil {
			sub = p.namedSubtopology(int(r.Partition))
		}
		if sub != nil {
			id.Subtopology = *sub
		}
		t := tasks[id.String()]
		if t == nil {
			t = &TaskPlan{Task: id, Known: sub != nil}
			tasks[id.String()] = t
		}
		t.Units = append(t.Units, &Unit{Request: *req, Topic: topic, Parts: []PartRange{r}, Task: t, topicID: fmt.Sprintf("%x", info.ID), id: info.ID})
	}
	return nil
}

// ranges finds where each partition's replay begins and ends.
func (p *Plan) ranges(ctx context.Context, topic string, parts []int32, req *StoreRequest) ([]PartRange, error) {
	offs, err := p.client.Offsets(ctx, topic, parts)
	if err != nil {
		return nil, err
	}
	var committed map[int32]int64
	if req.SourceTopic {
		// StoreChangelogReader: a source topic is restored up to the group's
		// committed offset; beyond it the application processes the records again.
		if committed, err = p.client.CommittedOffsets(ctx, p.Options.ApplicationID, topic); err != nil {
			return nil, err
		}
	}
	sizes := p.client.PartitionSizes(ctx, topic)
	var out []PartRange
	for _, part := range parts {
		x, ok := offs[part]
		if !ok {
			return nil, op.Errorf(op.NotFound, "no offsets for %s-%d", topic, part)
		}
		r := PartRange{Partition: part, LogStart: x.Start, End: x.End, LastStable: x.LastStable, From: x.Start, To: x.End, Bytes: -1}
		if n, ok := sizes[part]; ok {
			r.Bytes = n
		}
		if _, ok := committed[part]; req.SourceTopic && !ok {
			text := fmt.Sprintf("group %s has committed no offset of %s-%d: the application processes the topic from its start, and nothing of it is restored", p.Options.ApplicationID, topic, part)
			if p.Options.Into != "" && len(committed) == 0 {
				return nil, op.Errorf(op.Precondition, "%s", text).WithTry("check --application-id; without commits there is nothing to prepare")
			}
			p.warnOnce("%s", text)
		}
		if req.SourceTopic {
			r.To = min(x.End, max(committed[part], x.Start))
		}
		if req.Global && p.Committed {
			// The global consumer is read_committed under exactly-once: its end is
			// the last stable offset.
			r.To = x.LastStable
		}
		if p.Options.follow && p.Committed {
			r.To = min(r.To, x.LastStable) // the rest comes while following
		}
		if err := p.cutRange(ctx, topic, &r, req); err != nil {
			return nil, err
		}
		if p.Committed && x.LastStable < r.To {
			p.Warnings = append(p.Warnings, p.openTransaction(ctx, topic, r))
		}
		out = append(out, r)
	}
	return out, nil
}

// cutRange applies --to-offset, --to-time and the target version's own start
// of windowed replays.
func (p *Plan) cutRange(ctx context.Context, topic string, r *PartRange, req *StoreRequest) error {
	o := &p.Options
	if o.ToOffset >= 0 {
		r.To = min(r.To, max(o.ToOffset, r.From))
	}
	if !o.ToTime.IsZero() {
		off, err := p.firstSince(ctx, topic, *r, o.ToTime.UnixMilli())
		if err != nil {
			return err
		}
		r.To = min(r.To, max(off, r.From))
	}
	if !o.AsTarget || !req.Kind.Windowed() || r.To == r.From {
		return nil
	}
	for _, back := range streams.WindowedProbes(o.Target, o.Guarantee == ExactlyOnce) {
		newest, err := p.client.NewestTimestamp(ctx, topic, r.Partition, r.End, back)
		if err != nil {
			return err
		}
		start, seek := streams.RestoreStartTime(req.Kind, newest, req.Retention)
		if newest < 0 || !seek {
			continue
		}
		from, err := p.client.OffsetForTime(ctx, topic, r.Partition, start)
		if err != nil {
			return err
		}
		if from > r.From {
			r.From = min(from, r.To)
			r.Started = fmt.Sprintf("as %s: newest record's time minus retention", o.Target)
		}
		break
	}
	return nil
}

// firstSince is the offset of the first record with a time of ms or later. The
// broker's answer may be a transaction marker, whose time is the broker's own
// and may be far ahead of the records': from there it is looked for.
func (p *Plan) firstSince(ctx context.Context, topic string, r PartRange, ms int64) (int64, error) {
	off, err := p.client.OffsetForTime(ctx, topic, r.Partition, ms)
	if err != nil || off >= r.To {
		return off, err
	}
	reader, err := p.client.OpenPartition(ctx, kafka.ReadOptions{Topic: topic, Partition: r.Partition, From: max(off, r.From), To: r.To, StallTimeout: p.Options.StallTimeout})
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	var dec kafka.Decoder
	found := int64(-1)
	for found < 0 {
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return r.To, nil
		}
		if err != nil {
			return 0, err
		}
		if _, err := dec.Decode(b, func(rec *kafka.Record) error {
			if rec.Timestamp >= ms && found < 0 {
				found = rec.Offset
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	return found, nil
}

func (p *Plan) openTransaction(ctx context.Context, topic string, r PartRange) string {
	msg := fmt.Sprintf("%s-%d: an open transaction holds the last stable offset at %d, %d before the end %d", topic, r.Partition, r.LastStable, r.End-r.LastStable, r.End)
	txns, err := p.client.OpenTransactions(ctx, topic, r.Partition)
	if err != nil {
		return msg + fmt.Sprintf(" (producers unmeasured: %v)", err)
	}
	for _, t := range txns {
		msg += fmt.Sprintf("; producer id %d, open since offset %d, last wrote %s ago", t.ProducerID, t.StartOffset, time.Since(t.LastTimestamp).Round(time.Second))
	}
	return msg
}

// checksum is the kind of SST checksum to write: what every version reads,
// unless the version that will read it is known. A measurement writes what the
// measured application would.
func (p *Plan) checksum() rocks.Checksum {
	o := &p.Options
	switch {
	case o.Target.IsZero() && o.Into == "" && o.Profile == Streams:
		return rocks.XXH3 // as the newest version does
	case o.Target.IsZero():
		return rocks.CRC32C
	case o.Profile == Streams && o.Target.Major < 4:
		return rocks.CRC32C // RocksDB 7.9.2's default
	case o.Target.AtLeast(streams.Version{Major: 3, Minor: 2}):
		return rocks.XXH3
	}
	return rocks.CRC32C
}

// Totals of the plan, for showing it and for checking space.
func (p *Plan) totals() (offsets, bytes int64, measured bool) {
	measured = true
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Done {
				continue
			}
			for _, r := range u.Parts {
				offsets += r.Records()
				if r.Bytes < 0 {
					measured = false
					continue
				}
				// The share of the log that is read.
				if n := r.End - r.LogStart; n > 0 {
					bytes += int64(float64(r.Bytes) * float64(r.Records()) / float64(n))
				}
			}
		}
	}
	return
}
