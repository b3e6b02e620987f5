package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// MapOptions say what to map.
type MapOptions struct {
	Path   string
	Stores []string       // names; none: all
	Tasks  []string       // "0_1", "global"; none: all
	Kinds  []streams.Kind // none: all; a store of unknown kind is kept when it may be one of them
	SumBy  string         // "", "store", "task", "app"
	// Retention of windows and sessions, to tell which segments have expired; 0:
	// as Kafka Streams' own interval of segments tells.
	Retention time.Duration
	// Client asks the cluster too; nil does not. ClientErr is why there is none
	// although one was wanted: it is told in the map.
	Client    *kafka.Client
	ClientErr error
	Parallel  int // databases read at once; 0: twice the processors
	// Cache spares reading what has not changed since the last map of the same
	// path; nil: everything is read.
	Cache *MapCache
}

// What MapOptions.SumBy can be.
const (
	SumByStore = "store"
	SumByTask  = "task"
	SumByApp   = "app"
)

// MapPath tells what lies under o.Path. What cannot be read is told in the
// map; an error is only for a path with nothing in it, and for names that are
// not there (op.NotFound).
func MapPath(ctx context.Context, o MapOptions, sink op.Sink) (*Map, error) {
	t, err := Find(ctx, o.Path)
	if err != nil {
		return nil, err
	}
	if err := t.Keep(o.Stores, o.Tasks); err != nil {
		return nil, err
	}
	m := &Map{Path: t.Path, PathIs: t.Is, At: time.Now().UTC(), SumBy: o.SumBy}
	facts, err := readDatabases(ctx, t.Stores(), o, sink)
	if err != nil {
		return nil, err
	}
	// Of a part of a task, what is not there means nothing.
	filtered := len(o.Stores) > 0 || len(o.Tasks) > 0 || len(o.Kinds) > 0 || slices.Contains([]string{IsStore, IsDatabase, IsFile}, t.Is)
	for _, a := range t.Apps {
		app, err := mapApp(a, facts, o, filtered)
		if err != nil {
			return nil, err
		}
		m.Apps = append(m.Apps, app)
	}
	if len(o.Kinds) > 0 {
		if err := m.keepKinds(o.Kinds); err != nil {
			return nil, err
		}
	}
	for _, s := range t.Stores() {
		for _, d := range s.Databases {
			if f := facts[factKey{d.Dir, d.Only}]; f.err != nil {
				cure := ""
				if errors.Is(f.err, fs.ErrPermission) {
					cure = op.TryRights
				}
				m.Unreadable = append(m.Unreadable, Remark{Problem, f.err.Error(), d.Dir, cure})
			}
		}
	}
	for _, u := range t.Unreadable {
		m.Unreadable = append(m.Unreadable, Remark{Problem, "cannot be read: " + u.What, u.Path, op.TryRights})
	}
	for _, u := range t.Odd {
		m.Remarks = append(m.Remarks, Remark{Note, u.What, u.Path, ""})
	}
	if why := Temporary(t.Path); why != "" {
		m.Remarks = append(m.Remarks, Remark{Warning, "the state lies " + why + ": it is gone after a reboot or a clean-up, and everything is restored from the changelogs",
			t.Path, "set state.dir to a directory that lasts"})
	}
	if o.Client != nil || o.ClientErr != nil {
		m.askCluster(ctx, o, sink)
	}
	for _, s := range m.AllStores() {
		m.Damaged += len(s.damaged)
	}
	m.sum()
	return m, ctx.Err()
}

// factKey names a database in the facts.
type factKey struct{ dir, only string }

// readDatabases reads all databases of the stores, several at once.
func readDatabases(ctx context.Context, stores []*Store, o MapOptions, sink op.Sink) (map[factKey]*dbFacts, error) {
	var all []Database
	for _, s := range stores {
		all = append(all, s.Databases...)
	}
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = 2 * runtime.GOMAXPROCS(0)
	}
	out := make([]*dbFacts, len(all))
	r := &dbReader{}
	o.Cache.begin()
	defer o.Cache.end()
	var next, done atomic.Int64
	var tick op.Throttle
	var wg sync.WaitGroup
	for range max(1, min(parallel, len(all))) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				out[i] = o.Cache.read(ctx, r, all[i])
				if n := done.Add(1); tick.Ready(time.Now()) {
					sink.Emit(op.Event{Type: op.Progress, Name: "read", Done: n, Total: int64(len(all)), Unit: "databases"})
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	facts := make(map[factKey]*dbFacts, len(all))
	for i, d := range all {
		facts[factKey{d.Dir, d.Only}] = out[i]
	}
	return facts, nil
}

// mapApp maps one application.
func mapApp(a *App, facts map[factKey]*dbFacts, o MapOptions, filtered bool) (MapApp, error) {
	m := MapApp{ID: a.ID, Dir: a.Dir}
	if a.Dir != "" {
		m.Lock = LockHolder(filepath.Join(a.Dir, streams.LockFile))
		m.ProcessID = processID(a.Dir)
	} else {
		m.Lock.Why = "not in an application's directory"
	}
	offsets := map[*Task]*taskOffsets{}
	for _, t := range a.Tasks {
		offsets[t] = readTaskOffsets(t)
	}
	told, err := tellStores(a, facts, offsets)
	if err != nil {
		return m, err
	}
	for _, t := range a.Tasks {
		k := MapTask{Task: t.Name, Dir: t.Dir, Stores: len(t.Stores)}
		for _, s := range t.Stores {
			ms := mapStore(s, facts, told[s], offsets[t], m.Lock, o)
			k.Size += ms.Size
			m.Stores = append(m.Stores, ms)
		}
		if !filtered {
			k.Others = otherLines(offsets[t], m.Stores[len(m.Stores)-len(t.Stores):])
		}
		if offsets[t].err != nil {
			k.Unread, k.unreadTry = offsets[t].err.Error(), checkpointTry(offsets[t].err)
		}
		k.Remarks = taskRemarks(t, offsets[t], filtered)
		m.Size += k.Size
		m.Tasks = append(m.Tasks, k)
	}
	slices.SortStableFunc(m.Stores, func(x, y MapStore) int { return cmp.Compare(x.Name, y.Name) })
	m.Remarks = appRemarks(a, &m, told)
	m.Oldest, m.OldestWhy = oldestOf(m.Stores)
	return m, nil
}

// keepKinds drops the stores that are of none of the kinds.
func (m *Map) keepKinds(kinds []streams.Kind) error {
	wanted := func(s MapStore) bool {
		if s.Kind.Kind != nil {
			return slices.Contains(kinds, streams.Kind(*s.Kind.Kind))
		}
		return slices.ContainsFunc(s.Kind.Candidates, func(c string) bool { return slices.Contains(kinds, streams.Kind(c)) })
	}
	left := 0
	for i := range m.Apps {
		a := &m.Apps[i]
		a.Stores = slices.DeleteFunc(a.Stores, func(s MapStore) bool { return !wanted(s) })
		a.Tasks = slices.DeleteFunc(a.Tasks, func(k MapTask) bool {
			return !slices.ContainsFunc(a.Stores, func(s MapStore) bool { return s.Task == k.Task })
		})
		a.Size = 0
		for _, s := range a.Stores {
			a.Size += s.Size
		}
		for j := range a.Tasks {
			a.Tasks[j].Stores, a.Tasks[j].Size = 0, 0
			for _, s := range a.Stores {
				if s.Task == a.Tasks[j].Task {
					a.Tasks[j].Stores++
					a.Tasks[j].Size += s.Size
				}
			}
		}
		left += len(a.Stores)
	}
	m.Apps = slices.DeleteFunc(m.Apps, func(a MapApp) bool { return len(a.Stores) == 0 })
	if left == 0 {
		return op.Errorf(op.NotFound, "no store of kind %s there", joinKinds(kinds)).WithTry("sstool inspect %s, without --kind", m.Path)
	}
	return nil
}

// Damage is the error of a map with damaged databases in it: the rest is told,
// and what is wrong is among the remarks. nil when there is none.
func (m *Map) Damage() error {
	var all []Remark
	for _, s := range m.AllStores() {
		all = append(all, s.damaged...)
	}
	return damageOf(all)
}

func damageOf(list []Remark) error {
	if len(list) == 0 {
		return nil
	}
	first := list[0]
	return &op.Error{Kind: op.Corrupt, What: first.Where, Err: errors.New(first.What + andMore(len(list)-1)), Try: first.Cure}
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
