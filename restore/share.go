package restore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

// ShareOptions say how a restore is shared with other processes. They divide
// tasks as the members of a consumer group, and note in the group's committed
// offsets what they completed.
type ShareOptions struct {
	Group string
	Host  string        // this worker's; empty: the host's name
	Lost  []string      // hosts whose completions count no more: their disks are gone
	Poll  time.Duration // how often the group is looked at; 0: the longer the run lasts the less often
}

// Validate checks what can be checked without a cluster.
func (s *ShareOptions) Validate(o *Options) error {
	fit := func(given bool, flag string) error {
		if !given {
			return nil
		}
		return op.Errorf(op.Usage, "--share builds fresh state directories: %s does not fit", flag)
	}
	for _, err := range []error{
		fit(o.Measure, "--measure"), fit(o.Force, "--force"), fit(o.FromCheckpoint, "--from-checkpoint"), fit(o.partial(), "--to-offset or --to-time"),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case s.Group == "":
		return op.Errorf(op.Usage, "--share without a group").WithTry("--share GROUP, a name that no application uses")
	case s.Group == o.ApplicationID:
		return op.Errorf(op.Usage, "--share %s: that is the application's own group", s.Group).
			WithTry("another name, such as %s-restore", s.Group)
	case o.Into == "":
		return op.Errorf(op.Usage, "--share needs a state directory to build in").WithTry("--into DIR")
	}
	return nil
}

// shareGroup is the membership in the group: a kafka.TaskGroup.
type shareGroup interface {
	Commit(context.Context, []kafka.GroupOffset) error
	Rebalance()
	Leave()
}

// share is this process's part in a shared restore.
type share struct {
	p    *Plan
	o    ShareOptions
	sink op.Sink
	self place
	run  string

	tasks  []*shareTask // that are divided, and the local ones
	group  shareGroup
	read   func(context.Context) (map[kafka.GroupPartition]offsetRecord, error)
	cancel context.CancelCauseFunc
	poke   chan struct{} // the group is to be looked at now

	mu        sync.Mutex
	changed   chan struct{} // closed at the next change
	divisions int           // how many there were
	assigned  map[string]bool
	declared  map[string]bool // worked on, as told before the last division
	begun     map[*shareTask]*attempt
	order     []*attempt // begun, the oldest first
	held      map[string]bool
	records   map[string]shareRecord // as last read
	finished  bool
	asks      int
	asked     time.Time
	total     func(int64) // sets how much there is to replay
	root      string      // where tasks are built
}

func (p *Plan) newShare(o ShareOptions, sink op.Sink) (*share, error) {
	if o.Host == "" {
		var err error
		if o.Host, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	into, err := filepath.Abs(p.Options.Into)
	if err != nil {
		return nil, err
	}
	if len(into)+len(o.Host) > 2000 {
		return nil, op.Errorf(op.Usage, "--into %s: too long to be noted in the group", into)
	}
	s := &share{p: p, o: o, sink: sink, self: place{o.Host, into}, run: newRunID(), poke: make(chan struct{}, 1), changed: make(chan struct{}),
		assigned: map[string]bool{}, declared: map[string]bool{}, begun: map[*shareTask]*attempt{}, held: map[string]bool{}}
	s.read = func(ctx context.Context) (map[kafka.GroupPartition]offsetRecord, error) {
		return p.shareOffsets(ctx, o.Group)
	}
	divisible := 0
	for _, t := range p.Tasks {
		x := &shareTask{plan: t, local: t.Global, GroupTask: kafka.GroupTask{Name: t.Name()}, stats: map[kafka.GroupPartition]Counts{}}
		for _, u := range t.Units {
			for _, r := range u.Parts {
				x.Partitions = append(x.Partitions, kafka.GroupPartition{Topic: u.Topic, Partition: r.Partition})
				x.weight += max(r.Bytes, r.Records(), 1)
			}
		}
		if !x.local {
			divisible++
		}
		s.tasks = append(s.tasks, x)
	}
	if divisible == 0 {
		return nil, op.Errorf(op.Usage, "there is no task to divide: every worker restores global stores for itself").WithTry("leave out --share")
	}
	return s, nil
}

func newRunID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// shared are the tasks that are divided.
func (s *share) shared() []*shareTask {
	return slices.DeleteFunc(slices.Clone(s.tasks), func(t *shareTask) bool { return t.local })
}

// protocol names what is divided, so that workers that were told otherwise are
// refused by the broker.
func (s *share) protocol() string {
	o := &s.p.Options
	var tasks []kafka.GroupTask
	for _, t := range s.shared() {
		tasks = append(tasks, t.GroupTask)
	}
	told, err := json.Marshal(struct {
		App       string
		Guarantee Guarantee
		Target    string
		Committed bool
		AsTarget  bool
		Stores    []StoreRequest
		Tasks     []kafka.GroupTask
	}{o.ApplicationID, o.Guarantee, o.Target.String(), s.p.Committed, o.AsTarget, o.Stores, tasks})
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(told)
	return "sstool-tasks-" + hex.EncodeToString(sum[:8])
}

// RunShare restores this worker's share of the plan's tasks, and returns when
// every task is complete with some worker. The result tells of this worker's.
func (p *Plan) RunShare(ctx context.Context, sink op.Sink, o ShareOptions) (*Result, error) {
	if err := o.Validate(&p.Options); err != nil {
		return nil, err
	}
	s, err := p.newShare(o, sink)
	if err != nil {
		return nil, err
	}
	if _, err := s.read(ctx); err != nil {
		return nil, err
	}
	p.share = s
	if at := s.finishedBefore(); !at.IsZero() {
		sink.Warn(o.Group, fmt.Sprintf("the run of this group was finished at %s, and this directory took part: nothing to do (another group name begins a new run)", at.Format(time.RFC3339)))
		res := p.newResult()
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t *TaskPlan) bool { return !t.Done })
		p.finishResult(res)
		return res, nil
	}
	return p.Run(ctx, sink)
}

// shareOffsets reads what the group's workers noted. A group with offsets of
// somebody else's is refused: ours would overwrite them.
func (p *Plan) shareOffsets(ctx context.Context, group string) (map[kafka.GroupPartition]offsetRecord, error) {
	out, err := readShare(ctx, p.client, group)
	if err != nil {
		return nil, err
	}
	for at, o := range out {
		if o.App != p.Options.ApplicationID {
			return nil, op.Errorf(op.Precondition, "group %q shares the restore of application %s, not of %s (%s-%d)", group, o.App, p.Options.ApplicationID, at.Topic, at.Partition).
				WithTry("another group name")
		}
	}
	return out, nil
}

func readShare(ctx context.Context, client *kafka.Client, group string) (map[kafka.GroupPartition]offsetRecord, error) {
	all, err := client.GroupOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	out := map[kafka.GroupPartition]offsetRecord{}
	for _, o := range all {
		r, err := parseShareRecord(o.Metadata)
		if err != nil {
			return nil, op.Errorf(op.Precondition, "group %q has committed an offset of %s-%d that no shared restore wrote: it is another application's", group, o.Topic, o.Partition).
				WithTry("a group name of its own for --share")
		}
		out[kafka.GroupPartition{Topic: o.Topic, Partition: o.Partition}] = offsetRecord{o, r}
	}
	return out, nil
}

// shareNote is what a directory remembers of a finished run: from then on it is
// the application's, which moves tasks as it likes, and the group's offsets
// expire some days after its last member has gone.
type shareNote struct {
	Group      string    `json:"group"`
	FinishedAt time.Time `json:"finished_at"`
}

func shareFile(stateDir, appID string) string {
	return filepath.Join(ownDir(stateDir), "share-"+appID+".json")
}

// finishedBefore is when this directory took part in a run of the group that
// was finished; zero when it did not, or when a lost host's tasks are wanted.
func (s *share) finishedBefore() time.Time {
	var note shareNote
	if files.ReadJSON(shareFile(s.p.Options.Into, s.p.Options.ApplicationID), &note) != nil || note.Group != s.o.Group || len(s.o.Lost) > 0 {
		return time.Time{}
	}
	return note.FinishedAt
}

func (s *share) noteFinished() error {
	return files.WriteJSON(shareFile(s.p.Options.Into, s.p.Options.ApplicationID), shareNote{s.o.Group, time.Now().UTC()})
}
