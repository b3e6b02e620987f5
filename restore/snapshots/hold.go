package snapshots

import (
	"context"
	"path/filepath"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/standby"
	"sstool/internal/streams"
)

// hold sees to it that nobody writes while it is pushed: it holds the
// application's lock, or asks the follower that does for a checkpoint. It returns
// the directory to push, and what to call afterwards.
func hold(ctx context.Context, app string, o *PushOptions, sink op.Sink, res *PushResult, dry bool) (dir string, release func(), err error) {
	none := func() {}
	if o.Checkpoint {
		return app, none, nil
	}
	if res.Follower = standby.Kept(o.StateDir, o.ApplicationID); res.Follower && dry {
		o.ClosedCleanly = true // as the checkpoint would be
		return app, none, nil
	}
	if res.Follower {
		return askFollower(ctx, app, o, sink)
	}
	// A plan writes nothing, not even the lock's file.
	if dry && !files.Exists(filepath.Join(app, streams.LockFile)) {
		return app, none, nil
	}
	lock, err := applock.Hold(app)
	if op.KindOf(err) == op.InUse {
		err = &op.Error{Kind: op.InUse, Err: err, Try: "while it runs: push what a standby keeps in another directory (sstool restore --follow), or a snapshot of the file system (--checkpoint)"}
	}
	if err != nil {
		return "", nil, err
	}
	if !dry {
		if err := standby.Sweep(o.StateDir, o.ApplicationID); err != nil {
			sink.Warn(o.StateDir, "what a killed push has left stays: "+err.Error())
		}
	}
	return app, lock.Release, nil
}

// askFollower has the follower make a checkpoint, which is pushed as one. The
// follower knows besides what the snapshot is of.
func askFollower(ctx context.Context, app string, o *PushOptions, sink op.Sink) (dir string, release func(), err error) {
	names, err := files.Subdirs(app)
	if err == nil {
		err = checkTasks(app, names, o.Tasks)
	}
	if err != nil {
		return "", nil, err
	}
	sink.Emit(op.Event{Type: op.Phase, Name: "ask", Message: "waiting for the follower's checkpoint"})
	c, err := standby.Ask(ctx, o.StateDir, o.ApplicationID, o.Tasks, standby.Patience)
	if err != nil {
		return "", nil, err
	}
	release = func() {
		if err := c.Remove(); err != nil {
			sink.Warn(o.StateDir, "the checkpoint stays until the next push: "+err.Error())
		}
	}
	if err := o.from(c); err != nil {
		release()
		return "", nil, err
	}
	return filepath.Join(c.StateDir, o.ApplicationID), release, nil
}

// from takes over what the follower says of its checkpoint.
func (o *PushOptions) from(c *standby.Checkpoint) error {
	switch {
	case o.Guarantee == ExactlyOnce && !c.Committed:
		return op.Errorf(op.Precondition, "the follower reads records of aborted transactions too (read_uncommitted): no snapshot for exactly-once can be made of its stores").
			WithTry("restore --follow with --processing-guarantee exactly_once_v2, into another directory")
	case o.Guarantee == "" && c.Committed:
		o.Guarantee = c.Guarantee
	case o.Guarantee == "":
		o.Guarantee = AtLeastOnce
	}
	given := o.Cluster
	if given != nil && given.ID != c.ClusterID {
		return op.Errorf(op.Precondition, "the follower keeps stores of cluster %s, and this is cluster %s", c.ClusterID, given.ID)
	}
	if o.KafkaVersion == "" {
		o.KafkaVersion = c.KafkaVersion
	}
	o.Checkpoint, o.followed = true, map[string]bool{}
	ids := map[string]string{} // as they were when following began
	for _, s := range c.Stores {
		o.followed[s.Task+"/"+s.Store] = true
		ids[s.Topic] = s.TopicID
	}
	o.Cluster = &Cluster{ID: c.ClusterID, follower: given == nil, TopicID: func(ctx context.Context, topic string) (string, error) {
		if id, ok := ids[topic]; ok || given == nil {
			return id, nil
		}
		return given.TopicID(ctx, topic)
	}}
	return nil
}
