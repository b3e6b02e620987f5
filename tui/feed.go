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
	f := &feed{c: c, gen: gen, conn: &connection{open: c.Connect}, poll: o.Poll, now: o.now, send: send,
		refresh: make(chan struct{}, 1), stopped: make(chan struct{}), cancel: cancel, cache: inspect.NewMapCache()}
	if f.poll <= 0 {
		f.poll = 5 * time.Second
	}
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
)

func (f *feed) run(ctx context.Context) {
	defer close(f.stopped)
	defer func() {
		if v := recover(); v != nil {
			f.send(panicMsg{v, debug.Stack()})
		}
	}()
	w := newWatcher()
	defer w.close()
	s := &snapshot{}
	mapDisk := f.c.Path != ""
	var disk *inspect.Map
	var lastMap time.Time
	for ctx.Err() == nil {
		next := *s
		if mapDisk {
			mapDisk = false
			f.send(readingMsg{f.gen, "reading " + f.c.Path})
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
		}
		if f.c.Connect != nil {
			next := *s
			f.askCluster(ctx, disk, &next)
			if ctx.Err() != nil {
				return
			}
			next.at = f.now()
			s = &next
			f.send(snapshotMsg{f.gen, s})
		}
		mapDisk = f.wait(ctx, w, lastMap, s.took)
	}
}

// wait sleeps until there is something to do, and says whether the disk is to
// be read: something changed there, or somebody asked.
func (f *feed) wait(ctx context.Context, w *watcher, lastMap time.Time, took time.Duration) bool {
	rest := max(leastRest, min(mostRest, restFactor*took))
	var ask, blind <-chan time.Time
	if f.c.Connect != nil {
		t := time.NewTimer(f.poll)
		defer t.Stop()
		ask = t.C
	}
	if w.broken != "" && f.c.Path != "" {
		t := time.NewTimer(max(blindRest, rest))
		defer t.Stop()
		blind = t.C
	}
	changed := w.changed
	if f.c.Path == "" {
		changed = nil
	}
	var due <-chan time.Time
	// Files come in bursts: they are read a little later, and not too often. A
	// change that was seen is remembered while the cluster is asked.
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
			return false
		case <-f.refresh:
			f.dirty = time.Time{}
			return f.c.Path != ""
		case <-ask:
			return false
		case <-blind:
			return true
		case <-changed:
			f.dirty = time.Now()
			later()
		case <-due:
			f.dirty = time.Time{}
			return true
		}
	}
}

// askCluster adds what the cluster says to the snapshot.
func (f *feed) askCluster(ctx context.Context, disk *inspect.Map, s *snapshot) {
	client, err := f.conn.get(ctx)
	s.asked = true
	s.kafkaErr = err
	switch {
	case disk != nil:
		s.disk = disk.WithCluster(ctx, inspect.MapOptions{Path: f.c.Path, Client: client, ClientErr: err}, nil)
		if c := s.disk.Cluster; c.ID != nil {
			s.clusterID = *c.ID
		}
		if s.kafkaErr == nil && s.disk.Cluster.Error != "" {
			s.kafkaErr = op.Errorf(op.Unreachable, "%s", s.disk.Cluster.Error)
		}
	case err == nil && f.c.Path == "":
		var apps []string
		if f.c.ApplicationID != "" {
			apps = []string{f.c.ApplicationID}
		}
		list, err := inspect.ListChangelogs(ctx, client, apps)
		s.kafkaErr = err
		if err == nil {
			s.topics, s.clusterID = list, list.ClusterID
		}
	}
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
