package orphans

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

const atOnce = 8 // questions to the cluster

// collect asks cluster and disk once; everything is decided from that.
func (r *run) collect(ctx context.Context) error {
	if r.o.Client != nil {
		if err := r.askCluster(ctx); err != nil {
			return err
		}
	}
	if r.o.StateDir == "" {
		return nil
	}
	return r.readDisk(ctx)
}

func (r *run) askCluster(ctx context.Context) error {
	c := r.o.Client
	id, err := c.ClusterID(ctx)
	if err != nil {
		return err
	}
	r.res.ClusterID = &id
	r.sink.Emit(op.Event{Type: op.Phase, Name: "cluster"})
	topics, err := c.Topics(ctx)
	if err != nil {
		return err
	}
	r.topics = map[string]*kafka.TopicInfo{}
	for i := range topics {
		r.topics[topics[i].Name] = &topics[i]
	}
	r.groups, r.groupErrs, r.commits = map[string]*kafka.GroupUse{}, map[string]error{}, map[string][]kafka.GroupOffset{}
	ids, err := c.GroupIDs(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.groupsErr = err
		r.unmeasured("the groups of the cluster", err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	for _, a := range slices.Concat(r.o.Apps, r.o.Gone) {
		if !slices.Contains(ids, a) {
			ids = append(ids, a)
		}
	}
	var mu sync.Mutex
	each(ctx, len(ids), func(i int) {
		use, err := c.GroupUse(ctx, ids[i])
		var offsets []kafka.GroupOffset
		if err == nil {
			offsets, err = c.GroupOffsets(ctx, ids[i])
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			r.groups[ids[i]], r.commits[ids[i]] = use, offsets
		case op.KindOf(err) != op.NotFound: // share groups have neither
			r.groupErrs[ids[i]] = err
			r.unmeasured("group "+ids[i], err)
		}
	})
	return ctx.Err()
}

// readDisk maps the state directory. One that has nothing in it has no orphans.
func (r *run) readDisk(ctx context.Context) error {
	dir, err := filepath.Abs(r.o.StateDir)
	if err != nil {
		return &op.Error{Kind: op.Failed, What: r.o.StateDir, Err: err}
	}
	r.res.StateDir = dir
	t, err := inspect.Find(ctx, dir)
	if op.KindOf(err) == op.NotFound {
		if ok := isDir(dir); !ok {
			return op.Errorf(op.NotFound, "--state-dir: there is no directory %s", dir)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range t.Apps {
		if a.ID != "" && filepath.Dir(a.Dir) != dir {
			return op.Errorf(op.Usage, "%s is no state directory: it is, or lies below or above, %s of application %s", dir, a.Dir, a.ID).WithTry("--state-dir %s", filepath.Dir(a.Dir))
		}
	}
	r.tree = t
	r.disk, err = inspect.MapPath(ctx, inspect.MapOptions{Path: dir, Client: r.o.Client}, r.sink)
	if err != nil {
		return err
	}
	for _, u := range r.disk.Unreadable {
		r.res.Unmeasured = append(r.res.Unmeasured, Unmeasured{u.Where, u.What})
	}
	return nil
}

// measure adds size and last write to what was found.
func (r *run) measure(ctx context.Context) {
	var topics []kafka.TopicInfo
	for i := range r.res.Orphans {
		if x := &r.res.Orphans[i]; x.Kind == KindTopic {
			topics = append(topics, *r.topics[x.Name])
		}
	}
	var sizes map[string]int64
	if r.o.Client != nil {
		sizes = r.o.Client.TopicSizes(ctx, topics)
	}
	each(ctx, len(r.res.Orphans), func(i int) {
		switch x := &r.res.Orphans[i]; x.Kind {
		case KindTopic:
			if n, ok := sizes[x.Name]; ok {
				x.Bytes = &n
			} else {
				x.BytesWhy = "a broker does not tell (DESCRIBE on Cluster)"
			}
			r.measureTopic(ctx, x)
		case KindGroup, KindOffsets, KindCheckpoint, KindOffsetsRow:
			x.BytesWhy, x.LastWriteWhy = "no size worth telling", "nothing keeps it"
		default:
			size, newest, err := dirFacts(x.Name)
			switch {
			case err != nil:
				x.BytesWhy, x.LastWriteWhy = err.Error(), err.Error()
			case newest.IsZero():
				x.Bytes, x.LastWriteWhy = &size, "no file in it"
			default:
				x.Bytes, x.LastWrite = &size, &newest
			}
		}
	})
}

// newestBack is how many offsets before the end are looked at for the newest
// record: the last ones may be transaction markers.
const newestBack = 128

// measureTopic reads the ends and the newest record of a topic.
func (r *run) measureTopic(ctx context.Context, x *Orphan) {
	ends, err := r.o.Client.Offsets(ctx, x.Name, nil)
	if err != nil {
		x.LastWriteWhy = err.Error()
		return
	}
	records := int64(0)
	newest := int64(-1)
	x.Ends = map[int32]int64{}
	for p, e := range ends {
		records += e.End - e.Start
		x.Ends[p] = e.End
		if e.End == e.Start {
			continue
		}
		ts, err := r.o.Client.NewestTimestamp(ctx, x.Name, p, e.End, newestBack)
		if err != nil {
			x.LastWriteWhy = err.Error()
			continue
		}
		newest = max(newest, ts)
	}
	x.Records = &records
	switch {
	case newest >= 0 && x.LastWriteWhy == "":
		t := time.UnixMilli(newest).UTC()
		x.LastWrite = &t
	case x.LastWriteWhy == "":
		x.LastWriteWhy = "no records"
	}
}

// each calls fn for 0 … n-1, several at once.
func each(ctx context.Context, n int, fn func(i int)) {
	var wg sync.WaitGroup
	sem := make(chan struct{}, atOnce)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		sem <- struct{}{}
		wg.Go(func() {
			defer func() { <-sem }()
			fn(i)
		})
	}
	wg.Wait()
}
