package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// DefaultChangelogMemory is the budget of ChangelogOptions.Memory.
const DefaultChangelogMemory = 256 << 20

// ChangelogOptions say which changelogs are looked at and how closely.
type ChangelogOptions struct {
	Topics        []string // exact names
	ApplicationID string   // names the stores; without Topics, all its changelogs
	Partitions    []int32  // only these; none: all

	// What is known of the store; only with a single topic.
	Kind             streams.Kind
	Retention        time.Duration // of a windowed store
	HistoryRetention time.Duration // of a versioned store

	Sample       bool // look at a few places only, and estimate
	Threads      int  // 0: as many as cores
	Memory       int64
	TempDir      string // for keys that do not fit; "": the system's
	StallTimeout time.Duration
	Now          func() time.Time // nil: time.Now
}

// changelogRun is one run of Changelog.
type changelogRun struct {
	client   *kafka.Client
	o        ChangelogOptions
	sink     op.Sink
	throttle op.Throttle
	started  time.Time
	total    int64 // offsets to read
	done     atomic.Int64
	bytes    atomic.Int64
}

// changelogPlan is one topic, before it is read.
type changelogPlan struct {
	info   *kafka.TopicInfo
	config map[string]string
	parts  []partitionRange
}

// partitionRange is one partition, before it is read.
type partitionRange struct {
	partition int32
	ends      kafka.PartitionOffsets
	disk      int64 // -1: not told
}

func (p partitionRange) offsets() int64 { return max(0, p.ends.LastStable-p.ends.Start) }

// Changelog reads changelog topics and says what they hold. A topic that fails
// is in the result's Failed as long as there are others; then the error is an
// op.Partial, beside the result.
func Changelog(ctx context.Context, client *kafka.Client, o ChangelogOptions, sink op.Sink) (*ChangelogResult, error) {
	r := &changelogRun{client: client, o: o, sink: sink, started: time.Now()}
	if err := r.defaults(); err != nil {
		return nil, err
	}
	res := &ChangelogResult{Estimate: false, Topics: []ChangelogTopic{}, Failed: []ChangelogFailed{}}
	var err error
	if res.ClusterID, err = client.ClusterID(ctx); err != nil {
		return nil, err
	}
	names, err := r.topics(ctx)
	if err != nil {
		return nil, err
	}
	var plans []*changelogPlan
	var first error
	fail := func(name string, err error) {
		first = cmp.Or(first, err)
		res.Failed = append(res.Failed, ChangelogFailed{Topic: name, Kind: op.KindOf(err).String(), Error: err.Error()})
		if len(names) > 1 {
			sink.Emit(op.Event{Type: op.Item, Name: name, Err: err.Error()})
		}
	}
	for _, name := range names {
		p, err := r.plan(ctx, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			fail(name, err)
			continue
		}
		plans = append(plans, p)
		for _, part := range p.parts {
			r.total += part.offsets()
		}
	}
	r.started = time.Now()
	for _, p := range plans {
		sink.Emit(op.Event{Type: op.Phase, Name: "read", Message: "reading " + p.info.Name})
		t, err := r.topic(ctx, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s: %w", p.info.Name, ctx.Err())
		}
		if err != nil {
			fail(p.info.Name, err)
			continue
		}
		res.Topics = append(res.Topics, *t)
		res.Estimate = res.Estimate || t.Estimate
		sink.Emit(op.Event{Type: op.Item, Name: t.Topic, Done: t.Total.Records, Unit: "records"})
	}
	res.Seconds = time.Since(r.started).Seconds()
	sink.Emit(op.Event{Type: op.Summary, Done: r.done.Load(), Unit: "records", Bytes: r.bytes.Load()})
	switch {
	case first == nil:
		return res, nil
	case len(names) == 1:
		return nil, first
	}
	return res, op.Errorf(op.Partial, "%d of %d changelogs could not be read", len(res.Failed), len(names))
}

// defaults completes the options and refuses what cannot be.
func (r *changelogRun) defaults() error {
	o := &r.o
	if len(o.Topics) == 0 && o.ApplicationID == "" {
		return op.Errorf(op.Usage, "which changelog?").WithTry("name topics, or --application-id ID for all changelogs of an application")
	}
	if o.ApplicationID != "" {
		if err := streams.ValidateApplicationID(o.ApplicationID); err != nil {
			return err
		}
	}
	for _, t := range o.Topics {
		if err := streams.ValidateTopic(t); err != nil {
			return err
		}
	}
	if len(o.Topics) != 1 && (o.Kind != "" || o.Retention != 0 || o.HistoryRetention != 0) {
		return op.Errorf(op.Usage, "kind and retention describe one store: name its changelog")
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Memory <= 0 {
		o.Memory = DefaultChangelogMemory
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// topics are the names of the topics to read: those given, each once, or all
// changelogs of the application.
func (r *changelogRun) topics(ctx context.Context) ([]string, error) {
	if len(r.o.Topics) > 0 {
		var out []string
		for _, t := range r.o.Topics {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
		return out, nil
	}
	all, err := r.client.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range all {
		if _, ok := streams.StoreOfChangelog(r.o.ApplicationID, t.Name); ok {
			out = append(out, t.Name)
		}
	}
	if len(out) == 0 {
		return nil, op.Errorf(op.NotFound, "there is no topic %s-…-changelog (or the user may not DESCRIBE it)", r.o.ApplicationID).
			WithTry("check --application-id; a source topic that serves as changelog has another name: give it as TOPIC")
	}
	return out, nil
}

// plan asks for the facts about a topic.
func (r *changelogRun) plan(ctx context.Context, name string) (*changelogPlan, error) {
	info, err := r.client.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	p := &changelogPlan{info: info}
	if p.config, err = r.client.TopicConfig(ctx, name); err != nil {
		if op.KindOf(err) != op.Unreachable || ctx.Err() != nil {
			return nil, err
		}
		r.sink.Warn(name, "its configuration is not known: "+err.Error())
	}
	ends, err := r.client.Offsets(ctx, name, r.o.Partitions)
	if err != nil {
		return nil, err
	}
	sizes := r.client.PartitionSizes(ctx, name)
	for n, e := range ends {
		part := partitionRange{partition: n, ends: e, disk: -1}
		if size, ok := sizes[n]; ok {
			part.disk = size
		}
		p.parts = append(p.parts, part)
	}
	slices.SortFunc(p.parts, func(a, b partitionRange) int { return cmp.Compare(a.partition, b.partition) })
	return p, nil
}

// topic reads one topic.
func (r *changelogRun) topic(ctx context.Context, p *changelogPlan) (*ChangelogTopic, error) {
	begun := time.Now()
	scans, err := r.scan(ctx, p)
	if err != nil {
		return nil, err
	}
	t := &ChangelogTopic{
		Topic: p.info.Name, PartitionCount: len(p.info.Partitions),
		KeyMethod: keyMethod, TailMethod: tailMethod, Codecs: []CodecUse{}, HeaderKeys: []string{},
	}
	for _, i := range p.info.Partitions {
		t.ReplicationFactor = max(t.ReplicationFactor, i.Replicas)
	}
	if r.o.ApplicationID != "" {
		t.Store, _ = streams.StoreOfChangelog(r.o.ApplicationID, t.Topic)
	}
	var looks keyLooks
	for i := range scans {
		t.Partitions = append(t.Partitions, scans[i].ChangelogPartition)
		t.Estimate = t.Estimate || scans[i].Estimate
		looks.add(&scans[i].looks)
		t.addCodecs(scans[i].codecs)
		for _, h := range scans[i].headers {
			if !slices.Contains(t.HeaderKeys, h) {
				t.HeaderKeys = append(t.HeaderKeys, h)
			}
		}
	}
	slices.Sort(t.HeaderKeys)
	slices.SortFunc(t.Codecs, func(a, b CodecUse) int { return cmp.Compare(b.Bytes, a.Bytes) })
	t.sum()
	t.Kind = r.kind(p.config, &looks)
	t.ActiveSegment = activeSegment(t, p.config)
	t.Config = r.checkConfig(t, p.config)
	t.Why = r.reasons(ctx, t, p.config)
	t.Seconds = time.Since(begun).Seconds()
	if t.Seconds > 0 && !t.Estimate {
		t.RecordsPerSecond = float64(t.Total.Records) / t.Seconds
	}
	return t, nil
}

func (t *ChangelogTopic) addCodecs(codecs []CodecUse) {
	for _, c := range codecs {
		i := slices.IndexFunc(t.Codecs, func(x CodecUse) bool { return x.Codec == c.Codec })
		if i < 0 {
			t.Codecs = append(t.Codecs, c)
			continue
		}
		t.Codecs[i].Batches += c.Batches
		t.Codecs[i].Bytes += c.Bytes
	}
}

// sum adds up the partitions. What is not known of one is not known in all.
func (t *ChangelogTopic) sum() {
	keys, tail := &KeyCounts{}, &TailCounts{NeverCleaned: true}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		t.Total.LogCounts.add(&p.LogCounts)
		t.Total.Times.add(p.Times)
		if p.Keys != nil {
			keys.add(p.Keys)
		} else {
			t.Total.KeysUnmeasured = cmp.Or(t.Total.KeysUnmeasured, fmt.Sprintf("partition %d: %s", p.Partition, p.KeysUnmeasured))
		}
		if p.Tail != nil {
			tail.add(p.Tail)
		} else {
			t.Total.TailUnmeasured = cmp.Or(t.Total.TailUnmeasured, fmt.Sprintf("partition %d: %s", p.Partition, p.TailUnmeasured))
		}
	}
	if t.Total.KeysUnmeasured == "" {
		t.Total.Keys = keys
	}
	if t.Total.TailUnmeasured == "" {
		t.Total.Tail = tail
	}
	if t.Total.Records == 0 || len(t.Partitions) < 2 {
		return
	}
	s := &ChangelogSkew{}
	most := int64(-1)
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if p.Records > most {
			most, s.LargestPartition = p.Records, p.Partition
		}
		if p.Records == 0 {
			s.Empty++
		}
	}
	s.LargestShare = float64(most) / float64(t.Total.Records)
	s.TimesMean = s.LargestShare * float64(len(t.Partitions))
	t.Skew = s
}

// progress notes what was read.
func (r *changelogRun) progress(topic string, offsets, bytes int64) {
	done := min(r.done.Add(offsets), r.total) // a partition may be read twice
	b := r.bytes.Add(bytes)
	now := time.Now()
	if r.sink == nil || !r.throttle.Ready(now) {
		return
	}
	e := op.Event{Type: op.Progress, Name: topic, Done: done, Total: r.total, Unit: "records", Bytes: b}
	if s := now.Sub(r.started).Seconds(); s > 0 {
		if e.Rate = float64(done) / s; e.Rate > 0 {
			e.ETA = time.Duration(float64(r.total-done) / e.Rate * float64(time.Second))
		}
	}
	r.sink.Emit(e)
}

// errMoved says that the log start passed the position.
func movedTo(err error) (int64, bool) {
	var moved *kafka.LogStartMovedError
	if errors.As(err, &moved) {
		return moved.LogStart, true
	}
	return 0, false
}
