package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/streams"
)

// Start is what a start of the application does with a task or a store.
type Start struct {
	Will string `json:"will"` // "" when it cannot be told
	// Records are the offsets to replay; compaction and the markers of
	// transactions leave gaps, so there are at most as many records. null: not
	// known.
	Records *int64   `json:"records"`
	Seconds *float64 `json:"seconds"` // that the replay takes at the rate given; null: not known
	Why     string   `json:"why"`

	cause    cause
	corrupts bool // the whole task
}

// cause is what Start.Why is about.
type cause int

const (
	byOffset   cause = iota + 1 // none, or one that counts as none
	byStatus                    // not closed cleanly
	byRange                     // the offset is outside of the log
	byFiles                     // they are damaged
	bySegments                  // what lies among them
	byVersion                   // the store is of a newer one
	byTask                      // another store of the task
	bySkipping                  // the store is taken for complete
	byNothing                   // nothing was applied yet
	byAge                       // state.cleanup.dir.max.age.ms
)

// What Start.Will says, the mildest first.
const (
	WillNothing = "nothing" // there is nothing to restore
	WillResume  = "resume"  // goes on behind the stored offset
	WillRestore = "restore" // replays from the log start, over the rows that are there
	WillWipe    = "wipe"    // the task's directory is deleted, then replayed from the log start
	WillFail    = "fail"    // the application does not start
)

// severity orders outcomes: a task's is that of its worst store.
func (s Start) severity() int {
	if s.cause == byNothing { // a start from the log start like any other
		return 1
	}
	return slices.Index([]string{WillNothing, WillResume, "", WillRestore, WillWipe, WillFail}, s.Will)
}

// TaskStart is what the next start of the application does with one task that
// lies here.
type TaskStart struct {
	App  string `json:"application_id"`
	Task string `json:"task"`
	// Start is what happens under the processing guarantee that is known, else
	// under at-least-once; of an application that runs, after it was stopped.
	Start
	// ExactlyOnce is what happens under exactly-once when the guarantee is not
	// known and that is something else; null: the same.
	ExactlyOnce *Start `json:"if_exactly_once"`
	// Killed is what a start from the disk as it is now does, of an application
	// that runs; null: it does not.
	Killed *Start       `json:"if_killed_now"`
	Stores []StoreStart `json:"stores"` // of the same start as Start; of Killed when the application runs
}

// StoreStart is the same of one store.
type StoreStart struct {
	Store string `json:"store"`
	Start
}

// lyingTask is a task's directory, with what should be in it.
type lyingTask struct {
	app    *inspect.MapApp
	task   *inspect.MapTask
	stores []*inspect.MapStore
	// missing are stores that other tasks of the sub-topology have: one of each.
	missing []*inspect.MapStore
	held    bool      // the application runs
	newest  time.Time // of its files; zero: not known
	changed time.Time // of the directory itself, which the cleaner goes by
}

func (t *lyingTask) global() bool { return t.task.Task == streams.GlobalDir }

// partition of the task; ok is false for global/.
func (t *lyingTask) partition() (p int32, ok bool) {
	id, err := t.id()
	return int32(id.Partition), err == nil
}

func (t *lyingTask) id() (streams.TaskID, error) {
	name := t.task.Task
	if i := strings.LastIndex(name, "__"); i >= 0 { // of a named topology
		name = name[i+2:]
	}
	return streams.ParseTaskID(name)
}

// name says which task it is, with the application where there are several.
func (f *facts) name(t *lyingTask) string {
	if len(f.apps()) > 1 {
		return fmt.Sprintf("%s task %s", t.app.ID, t.task.Task)
	}
	return "task " + t.task.Task
}

// lyingTasks are all tasks that lie here.
func (f *facts) lyingTasks() []*lyingTask {
	if f.lying != nil {
		return f.lying
	}
	f.lying = []*lyingTask{}
	for _, a := range f.apps() {
		var mine []*lyingTask
		for i := range a.Tasks {
			t := &lyingTask{app: a, task: &a.Tasks[i], held: a.Lock.Held != nil && *a.Lock.Held}
			if t.task.Task == "" {
				continue
			}
			for j := range a.Stores {
				if s := &a.Stores[j]; s.Task == t.task.Task {
					t.stores = append(t.stores, s)
				}
			}
			t.times()
			mine = append(mine, t)
		}
		for _, t := range mine {
			t.missing = missingStores(t, mine)
		}
		f.lying = append(f.lying, mine...)
	}
	return f.lying
}

// times are of the task's files and of its directory.
func (t *lyingTask) times() {
	for _, s := range t.stores {
		if s.Newest != nil && s.Newest.After(t.newest) {
			t.newest = *s.Newest
		}
	}
	if st, err := os.Stat(filepath.Join(t.task.Dir, streams.CheckpointFile)); err == nil && st.ModTime().After(t.newest) {
		t.newest = st.ModTime()
	}
	if st, err := os.Stat(t.task.Dir); err == nil {
		t.changed = st.ModTime()
	}
}

// missingStores are those of the other tasks of t's sub-topology. A task
// without any store was emptied, and nothing is missing in it.
func missingStores(t *lyingTask, all []*lyingTask) []*inspect.MapStore {
	id, err := t.id()
	if err != nil || len(t.stores) == 0 {
		return nil
	}
	prefix := strings.TrimSuffix(t.task.Task, id.String())
	var out []*inspect.MapStore
	for _, o := range all {
		oid, err := o.id()
		if err != nil || oid.Subtopology != id.Subtopology || strings.TrimSuffix(o.task.Task, oid.String()) != prefix {
			continue
		}
		for _, s := range o.stores {
			has := func(x *inspect.MapStore) bool { return x.Name == s.Name }
			if !slices.ContainsFunc(t.stores, has) && !slices.ContainsFunc(out, has) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *inspect.MapStore) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// starts is what the next start does with every task.
func (f *facts) starts() []TaskStart {
	out := []TaskStart{}
	for _, t := range f.lyingTasks() {
		s := TaskStart{App: t.app.ID, Task: t.task.Task}
		eos, known := f.exactlyOnce()
		s.Start, s.Stores = f.next(eos).task(t)
		if !known {
			if other, _ := f.next(true).task(t); other.Will != s.Will || !same(other.Records, s.Records) {
				s.ExactlyOnce = &other
			}
		}
		if t.held {
			killed := s.Start
			if s.ExactlyOnce != nil {
				killed = *s.ExactlyOnce
			}
			s.Killed, s.ExactlyOnce = &killed, nil
			s.Start = Start{Will: WillResume, Records: new(int64), Why: "the application runs, and writes down how far it is when it is stopped"}
		}
		out = append(out, s)
	}
	return out
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// next predicts the start by one version under one guarantee.
type next struct {
	f   *facts
	v   streams.Version
	eos bool
}

func (f *facts) next(eos bool) next {
	v, _ := f.kafka()
	return next{f, v, eos}
}

// task is what happens to a task, and to each of its stores.
func (n next) task(t *lyingTask) (Start, []StoreStart) {
	stores := []StoreStart{}
	for _, s := range t.stores {
		stores = append(stores, StoreStart{s.Name, n.store(t, s)})
	}
	for _, s := range t.missing {
		stores = append(stores, StoreStart{s.Name, n.absent(t, s)})
	}
	slices.SortStableFunc(stores, func(a, b StoreStart) int { return cmp.Compare(a.Store, b.Store) })
	out := Start{Will: WillNothing, Why: "no store lies in it"}
	if len(stores) > 0 {
		out.Why = ""
	}
	for _, s := range stores {
		if worse := s.severity() > out.severity(); worse || out.Will == s.Will && out.Why == "" {
			out.Will, out.Why, out.cause = s.Will, s.Why, s.cause
			if s.Why != "" && len(stores) > 1 && s.Will != WillResume {
				out.Why = s.Store + ": " + s.Why
			}
		}
	}
	if t.task.Unread != "" {
		out.Will, out.Why = WillFail, t.task.Unread
	}
	if t.global() {
		n.strayLines(t, &out)
	}
	if age, limit, ok := n.purged(t); ok && len(stores) > 0 {
		out = Start{Will: WillWipe, cause: byAge, Why: fmt.Sprintf("the directory was changed %s ago, and state.cleanup.dir.max.age.ms is %s", human.Duration(age), human.Duration(limit))}
		for i := range stores {
			if s := &stores[i]; s.Will != WillNothing {
				s.Start = Start{Will: WillWipe, Why: "with the whole task", Records: n.full(t, storeNamed(t, s.Store)), cause: byAge}
			}
		}
	}
	if slices.ContainsFunc(stores, func(s StoreStart) bool { return s.corrupts }) && out.Will != WillFail {
		for i := range stores { // every store of the task is replayed
			if s := &stores[i]; s.Will != WillNothing && !s.corrupts {
				s.Start = Start{Will: out.Will, Why: "with the whole task", Records: n.full(t, storeNamed(t, s.Store)), cause: byTask}
			}
		}
	}
	n.sum(t, &out, stores)
	return out, stores
}

// purged says whether the task's directory is deleted at the start because of
// its age (PI/StateDirectory.cleanOutdatedDirsOnStartup, KIP-1259).
func (n next) purged(t *lyingTask) (age, limit time.Duration, ok bool) {
	limit, set := n.f.millis("state.cleanup.dir.max.age.ms")
	age = n.f.o.Now.Sub(t.changed)
	return age, limit, set && limit >= 0 && !t.global() && !t.changed.IsZero() && age > limit && streams.OffsetsInStore(n.v)
}

// strayLines are those of global/.checkpoint that are of no store: up to 4.2 an
// error when the topology does not have the topic either.
func (n next) strayLines(t *lyingTask, out *Start) {
	c := n.f.cluster
	for _, o := range t.task.Others {
		if c == nil || c.err != nil || streams.OffsetsInStore(n.v) {
			return
		}
		if _, ok := c.topics[o.Topic]; !ok {
			out.Will, out.cause, out.Why = WillFail, byOffset, ".checkpoint has a line of "+o.Topic+", which no global store is of"
		}
	}
}

func storeNamed(t *lyingTask, name string) *inspect.MapStore {
	for _, s := range slices.Concat(t.stores, t.missing) {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// sum adds up what the stores replay, and how long that takes.
func (n next) sum(t *lyingTask, out *Start, stores []StoreStart) {
	if out.Will == WillFail || out.Will == "" {
		return
	}
	total, known := int64(0), true
	seconds, timed := 0.0, true
	for i := range stores {
		s := &stores[i]
		if s.Will == WillNothing {
			continue
		}
		if s.Records == nil {
			known = false
			continue
		}
		total += *s.Records
		rate := n.f.o.rate(storeNamed(t, s.Store))
		if rate <= 0 {
			timed = timed && *s.Records == 0
			continue
		}
		took := float64(*s.Records) / rate
		s.Seconds = &took
		seconds += took
	}
	if !known {
		return
	}
	out.Records = &total
	if timed && n.f.o.timed() {
		out.Seconds = &seconds
	}
}
