package tui

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

// snapshot is what the feed found, complete and never changed afterwards.
type snapshot struct {
	disk      *inspect.Map           // nil: nothing read (yet), or no path
	topics    *inspect.ChangelogList // of a cluster without a path
	clusterID string
	diskErr   error
	kafkaErr  error
	asked     bool // the cluster has answered, or refused, at least once
	at        time.Time
	took      time.Duration // of mapping the disk
	watching  string        // "" : files are watched; else why not
}

// Messages of the feed. gen tells the contexts apart: what an earlier one still
// sends is not shown.
type snapshotMsg struct {
	gen  int
	snap *snapshot
}

type readingMsg struct {
	gen  int
	what string // "" : at rest
}

// clockMsg moves the clock.
type clockMsg time.Time

// connection opens the cluster once for everybody.
type connection struct {
	open func(context.Context) (*kafka.Client, error)

	mu     sync.Mutex
	client *kafka.Client
	err    error
	tried  time.Time
}

const retryConnect = 5 * time.Second

// get is the client; a failure is remembered for a while.
func (c *connection) get(ctx context.Context) (*kafka.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return nil, op.Errorf(op.Usage, "there is no cluster in this context").WithTry("start with --bootstrap-server HOST:PORT, or :ctx to another context")
	}
	if c.client != nil || c.err != nil && time.Since(c.tried) < retryConnect {
		return c.client, c.err
	}
	c.client, c.err = c.open(ctx)
	c.tried = time.Now()
	if ctx.Err() != nil {
		c.tried = time.Time{} // not the cluster's fault
	}
	return c.client, c.err
}

// connection is that of the feed, or one without a cluster.
func (m *Model) connection() *connection {
	if m.feed == nil {
		return &connection{}
	}
	return m.feed.conn
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
	c.err, c.tried = op.Errorf(op.Declined, "closed"), time.Now().Add(24*time.Hour)
}

// feed watches one context and sends what it finds.
type feed struct {
	c       Context
	gen     int
	conn    *connection
	poll    time.Duration
	now     func() time.Time
	send    func(tea.Msg)
	refresh chan struct{}
	stopped chan struct{}
	cancel  context.CancelFunc
	cache   *inspect.MapCache
	dirty   time.Time // when a change was seen that is not read yet; zero: none
}

func startFeed(ctx context.Context, c Context, gen int, o *Options, send func(tea.Msg)) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{c: c, gen: gen, conn: &connection{open: c.Connect}, poll: o.poll(), now: o.now, send: send,
		refresh: make(chan struct{}, 1), stopped: make(chan struct{}), cancel: cancel, cache: inspect.NewMapCache()}
	go f.run(ctx)
	return f
}

// again asks for a fresh look.
func (f *feed) again() {
	select {
	case f.refresh <- struct{}{}:
	default:
	}
}

func (f *feed) stop() {
	f.cancel()
	<-f.stopped
	f.conn.close()
}

// rest is how long files may go on changing before they are mapped again, as a
// multiple of what the last map took: so mapping is a few hundredths of the
// time, however large the state is.
const (
	restFactor = 30
	leastRest  = time.Second
	mostRest   = 5 * time.Minute
	burst      = 300 * time.Millisecond
	blindRest  = 30 * time.Second // without anything that tells of changes
	goneRest   = 2 * time.Second  // while there is nothing to read

	leastPatience = 2 * time.Second // with a cluster; else four polls
)

func (f *feed) run(ctx context.Context) {
	defer close(f.stopped)
	defer f.caught()
	w := newWatcher()
	defer w.close()
	s := &snapshot{}
	mapDisk, ask := f.c.Path != "", f.c.Connect != nil
	var disk *inspect.Map
	var lastMap time.Time
	// The cluster is asked aside: when it does not answer, files are followed all
	// the same.
	answers := make(chan answer, 1)
	asking := false
	defer func() {
		if asking {
			f.cancel()
			<-answers
		}
	}()
	for ctx.Err() == nil {
		if mapDisk {
			f.send(readingMsg{f.gen, "reading " + f.c.Path})
			next := *s
			began := time.Now()
			m, err := inspect.MapPath(ctx, inspect.MapOptions{Path: f.c.Path, Cache: f.cache}, nil)
			if ctx.Err() != nil {
				return
			}
			next.took, lastMap = time.Since(began), time.Now()
			next.diskErr = err
			if err == nil {
				disk = m
				next.watching = w.watch(m, f.cache.Dirs())
			}
			if disk != nil {
				next.disk = carryLag(disk, s.disk)
			}
			next.at = f.now()
			s = &next
			f.send(snapshotMsg{f.gen, s})
			f.send(readingMsg{f.gen, ""})
			ask = f.c.Connect != nil
		}
		if ask && !asking {
			ask, asking = false, true
			go f.askCluster(ctx, disk, answers)
		}
		var got *answer
		mapDisk, got = f.wait(ctx, w, lastMap, s, asking, answers)
		switch {
		case got != nil:
			asking = false
			if got.panicked || ctx.Err() != nil {
				return
			}
			next := *s
			got.add(&next, disk)
			next.at = f.now()
			s = &next
			f.send(snapshotMsg{f.gen, s})
			ask = got.of != disk // there is a newer look already
		case !mapDisk:
			ask = f.c.Connect != nil
		}
	}
}

// caught makes a panic the program's.
func (f *feed) caught() {
	if v := recover(); v != nil {
		f.send(panicMsg{v, debug.Stack()})
	}
}

// wait sleeps until there is something to do: files are to be read, because
// something changed or somebody asked; the cluster has answered; or neither,
// and the cluster is to be asked again.
func (f *feed) wait(ctx context.Context, w *watcher, lastMap time.Time, s *snapshot, asking bool, answers <-chan answer) (mapDisk bool, got *answer) {
	rest := max(leastRest, min(mostRest, restFactor*s.took))
	var ask, blind <-chan time.Time
	if f.c.Connect != nil && !asking {
		t := time.NewTimer(f.poll)
		defer t.Stop()
		ask = t.C
	}
	if f.c.Path != "" && (w.broken != "" || s.diskErr != nil) {
		after := max(blindRest, rest)
		if s.diskErr != nil { // nothing there that could tell that it is back
			after = goneRest
		}
		t := time.NewTimer(after)
		defer t.Stop()
		blind = t.C
	}
	changed := w.changed
	if f.c.Path == "" {
		changed = nil
	}
	var due <-chan time.Time
	// Files come in bursts: they are read a little later, and not too often. A
	// change that was seen is remembered while something else is done.
	later := func() {
		changed = nil
		t := time.NewTimer(max(0, time.Until(f.dirty.Add(burst)), time.Until(lastMap.Add(rest))))
		due = t.C
	}
	if !f.dirty.IsZero() {
		later()
	}
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-f.refresh:
			f.dirty = time.Time{}
			return f.c.Path != "", nil
		case a := <-answers:
			return false, &a
		case <-ask:
			return false, nil
		case <-blind:
			return true, nil
		case <-changed:
			f.dirty = time.Now()
			later()
		case <-due:
			f.dirty = time.Time{}
			return true, nil
		}
	}
}

// answer is what the cluster said.
type answer struct {
	of        *inspect.Map // what it was asked about
	disk      *inspect.Map // the same with what it said
	topics    *inspect.ChangelogList
	clusterID string
	err       error
	panicked  bool
}

// add puts the answer into a snapshot; disk may be newer than what it is of.
func (a *answer) add(s *snapshot, disk *inspect.Map) {
	s.asked, s.kafkaErr = true, a.err
	switch {
	case a.disk != nil && a.of == disk:
		s.disk = a.disk
	case a.disk != nil:
		s.disk = carryLag(disk, a.disk)
	}
	if a.topics != nil {
		s.topics = a.topics
	}
	if a.clusterID != "" {
		s.clusterID = a.clusterID
	}
}

// askCluster asks for everything the cluster knows, but not for ever.
func (f *feed) askCluster(ctx context.Context, disk *inspect.Map, answers chan<- answer) {
	a := answer{of: disk, panicked: true}
	defer func() { answers <- a }()
	defer f.caught()
	limit := max(leastPatience, 4*f.poll)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := f.conn.get(ctx)
	a.err = err
	switch {
	case disk != nil:
		a.disk = disk.WithCluster(ctx, inspect.MapOptions{Path: f.c.Path, Client: client, ClientErr: err}, nil)
		if c := a.disk.Cluster; c.ID != nil {
			a.clusterID = *c.ID
		}
		if a.err == nil && a.disk.Cluster.Error != "" {
			a.err = op.Errorf(op.Unreachable, "%s", a.disk.Cluster.Error)
		}
	case err == nil && f.c.Path == "":
		var apps []string
		if f.c.ApplicationID != "" {
			apps = []string{f.c.ApplicationID}
		}
		if a.topics, a.err = inspect.ListChangelogs(ctx, client, apps); a.err == nil {
			a.clusterID = a.topics.ClusterID
		}
	}
	if ctx.Err() == context.DeadlineExceeded {
		a.err = op.Errorf(op.Unreachable, "no answer within %v", limit).WithTry("check that the brokers run and can be reached")
	}
	a.panicked = false
}

// carryLag keeps what the cluster said before, until it is asked again: figures
// do not blink.
func carryLag(fresh, old *inspect.Map) *inspect.Map {
	if old == nil || old.Cluster == nil {
		return fresh
	}
	lags := map[string]*inspect.MapLag{}
	for _, a := range old.Apps {
		for i := range a.Stores {
			lags[storeID(&a.Stores[i])] = a.Stores[i].Cluster
		}
	}
	m := fresh.Copy()
	m.Cluster = old.Cluster
	for i := range m.Apps {
		for j := range m.Apps[i].Stores {
			s := &m.Apps[i].Stores[j]
			s.Cluster = lags[storeID(s)]
		}
	}
	return m
}

// storeID tells a store of a task from all others.
func storeID(s *inspect.MapStore) string {
	return s.App + "\x00" + s.Task + "\x00" + s.Name + "\x00" + s.Dir
}
