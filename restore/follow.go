package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Defaults and bounds of FollowOptions.
const (
	DefaultFlushInterval = 10 * time.Second
	MinFlushInterval     = 100 * time.Millisecond
)

// FollowOptions say what to follow: the stores of Options, which are built in
// Options.Into first where they are not there.
type FollowOptions struct {
	Options
	FlushInterval time.Duration // stores are flushed and their offsets written this often
}

// Validate checks what can be checked without a cluster.
func (o *FollowOptions) Validate() error {
	switch {
	case o.Into == "":
		return op.Errorf(op.Usage, "--follow keeps a state directory up to date, and none is named").WithTry("--into DIR")
	case o.Snapshot != nil:
		return op.Errorf(op.Usage, "--follow builds what is not there from the changelogs").WithTry("restore --from-snapshot first, then --follow goes on behind it")
	case o.Measure:
		return op.Errorf(op.Usage, "--follow does not end by itself: there is nothing to --measure")
	case o.partial():
		return op.Errorf(op.Usage, "--follow goes on at the changelog's end: --to-offset and --to-time do not fit")
	case o.FromCheckpoint, o.SkipExisting:
		return op.Errorf(op.Usage, "--follow always goes on from what is there: --from-checkpoint and --skip-existing are not needed")
	case o.Repeat > 1, o.SLA > 0, len(o.Project) > 0, len(o.ProjectFor) > 0:
		return op.Errorf(op.Usage, "--follow measures nothing: --repeat, --sla and --project-… are for --measure")
	case o.Profile != "":
		return op.Errorf(op.Usage, "--follow builds what is not there by bulk and applies records as Kafka Streams does: --profile does not fit")
	case o.FlushInterval != 0 && o.FlushInterval < MinFlushInterval:
		return op.Errorf(op.Usage, "flushing every %s would make files faster than they can be merged; at least %s", o.FlushInterval, MinFlushInterval)
	}
	return o.Options.Validate()
}

// FollowAction is what a follower does with a store when it starts.
type FollowAction string

// The actions.
const (
	FollowRestore   FollowAction = "restore"    // nothing is there: built from the changelog
	FollowResume    FollowAction = "resume"     // goes on after the stored offset
	FollowStartOver FollowAction = "start over" // what is there is of no use: moved aside, and built
)

// FollowStart is one store of one task, and how following it begins.
type FollowStart struct {
	Unit   *Unit
	Action FollowAction
	Reason string // why it starts over
	// Own says that an earlier follower has kept this store: nobody needs to be
	// asked.
	Own   bool
	parts []followPart
}

// Positions are where it goes on, by partition.
func (s *FollowStart) Positions() map[int32]int64 {
	out := map[int32]int64{}
	for _, part := range s.parts {
		out[part.partition] = part.pos
	}
	return out
}

// FollowPlan is what a follower will do, resolved against the cluster and the
// directory.
type FollowPlan struct {
	*Plan
	Starts []*FollowStart

	opts  FollowOptions
	asked time.Time // before the first question to the cluster
	kept  followMark

	mu     sync.Mutex
	live   *follower // while it follows
	result *Result   // of the restore before that
}

// PlanFollow resolves what there is and where following begins. It reads only.
func PlanFollow(ctx context.Context, client *kafka.Client, o FollowOptions) (*FollowPlan, error) {
	if o.FlushInterval == 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := &FollowPlan{opts: o, asked: time.Now(), kept: readFollowMark(o.Into, o.ApplicationID)}
	inner := o.Options
	inner.follow = true
	var err error
	if f.Plan, err = MakePlan(ctx, client, inner); err != nil {
		return nil, err
	}
	for _, t := range f.Tasks {
		for _, u := range t.Units {
			s, err := f.start(ctx, u)
			if err != nil {
				return nil, err
			}
			f.Starts = append(f.Starts, s)
		}
	}
	if len(f.Starts) == 0 {
		return nil, op.Errorf(op.Usage, "no store that keeps anything on disk: there is nothing to follow")
	}
	return f, nil
}

// start looks at one store's place.
func (f *FollowPlan) start(ctx context.Context, u *Unit) (*FollowStart, error) {
	s := &FollowStart{Unit: u, Action: FollowRestore, Own: f.kept.has(u)}
	config, err := f.client.TopicConfig(ctx, u.Topic)
	if err != nil && u.Done {
		return nil, op.Errorf(op.KindOf(err), "store %q: whether it is too old to resume cannot be told: %w", u.Request.Name, err)
	}
	for _, r := range u.Parts {
		s.parts = append(s.parts, followPart{partition: r.Partition, pos: r.To, applied: streams.OffsetUnknown, fresh: f.asked, retention: deleteRetention(config), mark: f.kept.mark(u, r.Partition)})
	}
	if !u.Done {
		return s, nil
	}
	s.Action = FollowResume
	why, err := f.resumable(u, s.parts, config)
	if err != nil && op.KindOf(err) != op.Corrupt && op.KindOf(err) != op.Precondition {
		return nil, err
	}
	if err != nil {
		why = err.Error()
	}
	if why == "" {
		return s, nil
	}
	if !s.Own && !f.opts.Force {
		return nil, op.Errorf(op.Precondition, "store %q of task %s cannot be gone on with: %s", u.Request.Name, u.Task.Name(), why).
			WithTry("--force moves it aside into %s and restores it", ownDir(f.opts.Into))
	}
	s.Action, s.Reason = FollowStartOver, why
	return s, nil
}

// resumable fills in where each partition of a store that is there goes on, or
// says why it cannot.
func (f *FollowPlan) resumable(u *Unit, parts []followPart, config map[string]string) (why string, err error) {
	dir := filepath.Join(appDir(f.opts.Into, f.opts.ApplicationID), u.Task.Name())
	store := streams.StoreDir(dir, u.Request.Store)
	if cluster := f.kept.cluster(u); cluster != "" && cluster != f.ClusterID {
		return fmt.Sprintf("it was kept from cluster %s, and this is %s", cluster, f.ClusterID), nil
	}
	if f.kept.topicID(u) != "" && f.kept.topicID(u) != u.topicID {
		return fmt.Sprintf("%s was deleted and created anew since", u.Topic), nil
	}
	if f.opts.Guarantee == ExactlyOnce {
		if err := closedCleanly(dir, u.Request.Store); err != nil {
			return "", err
		}
		if !f.kept.has(u) {
			if err := notFlushedSince(dir, u.Request.Store); err != nil {
				return "", err
			}
		}
	}
	offsets, err := storedOffsets(dir, f.opts.Target)
	if err != nil {
		return "", err
	}
	since := wholeAt(dir, store)
	for i := range parts {
		part, r := &parts[i], u.Parts[i]
		at := streams.TopicPartition{Topic: u.Topic, Partition: r.Partition}
		part.fresh = since
		off, ok := offsets[at]
		if !ok || off == streams.OffsetUnknown {
			empty, err := holdsNothing(dir, u.Request.Store)
			if err != nil {
				return "", err
			}
			if !empty {
				return fmt.Sprintf("it has no stored offset for %s", at), nil
			}
			part.pos, part.fresh = r.From, f.asked
			continue
		}
		part.pos, part.applied = off+1, off
		if part.pos >= r.End {
			part.fresh = f.asked
		}
		if u.Request.Global {
			part.pos, part.applied = off, off-1
		}
		switch {
		case part.pos > r.End:
			return fmt.Sprintf("its offset %d is beyond the end %d of %s", off, r.End, at), nil
		case part.pos < r.LogStart:
			return fmt.Sprintf("its offset %d is below the log start %d of %s", off, r.LogStart, at), nil
		}
		if age := time.Since(since); part.retention > 0 && age > part.retention && part.pos < r.End {
			return fmt.Sprintf("it was whole %s ago, and tombstones of %s are gone after delete.retention.ms=%s: deleted rows would live again", age.Round(time.Second), at, part.retention), nil
		}
	}
	return "", nil
}

// wholeAt is when the store held all there was: a follower leaves that as the
// time of the checkpoint; without one the newest of the store's files tells.
func wholeAt(taskDir, store string) time.Time {
	if i, err := os.Stat(filepath.Join(taskDir, streams.CheckpointFile)); err == nil {
		return i.ModTime()
	}
	return lastWritten(taskDir, store)
}

// deleteRetention is how long the changelog keeps tombstones; 0: for ever, or
// not known. That the setting is 0 is told as the shortest time there is.
func deleteRetention(config map[string]string) time.Duration {
	ms, err := strconv.ParseInt(config["delete.retention.ms"], 10, 64)
	if err != nil || !compacted(config) {
		return 0
	}
	return time.Duration(min(max(ms, 1), maxRetention.Milliseconds())) * time.Millisecond
}

const maxRetention = 100 * 365 * 24 * time.Hour

// holdsNothing says whether there is no row in any family of the store.
func holdsNothing(taskDir string, s streams.Store) (bool, error) {
	dbs, err := madeDatabases(taskDir, s)
	if err != nil {
		return false, err
	}
	found := errors.New("a row")
	for _, db := range dbs {
		v, err := lsm.ReadManifest(db)
		if err != nil {
			return false, err
		}
		for _, family := range s.ColumnFamilies() {
			if _, ok := v.Family(family); !ok {
				continue
			}
			switch err := lsm.Rows(db, family, func(_, _ []byte) error { return found }); {
			case errors.Is(err, found):
				return false, nil
			case err != nil:
				return false, err
			}
		}
	}
	return true, nil
}

// followMark remembers which stores are kept by a follower, and from what: a
// topic that was made anew while nobody followed has another id.
type followMark struct {
	Stores map[string]followedFrom `json:"stores"` // by task/store
}

type followedFrom struct {
	ClusterID string `json:"cluster_id"`
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"`
	// Marks are, by partition, where in their logs the store was when a run began
	// or ended.
	Marks map[int32]kafka.LogMark `json:"marks,omitempty"`
}

func followFile(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "follow-"+appID+".json")
}

func readFollowMark(stateDir, appID string) followMark {
	var m followMark
	// One that cannot be read is none: stores are then refused, not replaced.
	_ = files.ReadJSON(followFile(stateDir, appID), &m)
	if m.Stores == nil {
		m.Stores = map[string]followedFrom{}
	}
	return m
}

func markName(u *Unit) string { return u.Task.Name() + "/" + u.Request.Name }

func (m followMark) has(u *Unit) bool { return m.Stores[markName(u)].Topic == u.Topic }

func (m followMark) topicID(u *Unit) string {
	if !m.has(u) {
		return ""
	}
	return m.Stores[markName(u)].TopicID
}

func (m followMark) cluster(u *Unit) string {
	if !m.has(u) {
		return ""
	}
	return m.Stores[markName(u)].ClusterID
}

func (m followMark) mark(u *Unit, partition int32) kafka.LogMark {
	if !m.has(u) {
		return kafka.LogMark{}
	}
	return m.Stores[markName(u)].Marks[partition]
}

// note writes that the stores are kept from these topics.
func (m followMark) note(p *Plan, units ...*Unit) error {
	for _, u := range units {
		m.Stores[markName(u)] = followedFrom{ClusterID: p.ClusterID, Topic: u.Topic, TopicID: u.topicID}
	}
	return files.WriteJSON(followFile(p.Options.Into, p.Options.ApplicationID), m)
}
