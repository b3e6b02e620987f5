package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// followUnit is one store of one task while it is followed.
type followUnit struct {
	task, topic string
	unit        *Unit // its ranges are those of the last restore
	action      FollowAction
	startedOver atomic.Int64

	mu      sync.Mutex // held while records are applied and flushed
	store   batchStore
	batch   pollBatch
	parts   []*followPart
	dirty   int64 // bytes applied since the last flush
	flushed time.Time
	flushes int64
	doing   followState

	whole atomic.Int64 // since when it may lack something, as of the last checkpoint; Unix nanoseconds
}

// followPart is one changelog partition of it. What is not constant is guarded
// by the unit's lock.
type followPart struct {
	partition int32
	retention time.Duration // delete.retention.ms; 0: tombstones stay

	from     int64         // where this run began to follow
	pos      int64         // the next offset to be read
	applied  int64         // the last record in the store; OffsetUnknown: none
	written  int64         // the same, as of the last checkpoint
	mark     kafka.LogMark // the store holds the records of a log that has this
	end      int64         // what can be read, as the leader said last
	answered time.Time
	// fresh is when there was nothing to read behind pos: tombstones written
	// since then are kept by the cleaner for delete.retention.ms at least.
	fresh  time.Time
	counts Counts
}

type followState string

const (
	followFollowing followState = "following"
	followRestoring followState = "restoring"
)

func newFollowUnit(s *FollowStart) *followUnit {
	u := &followUnit{task: s.Unit.Task.Name(), topic: s.Unit.Topic, action: s.Action}
	u.begin(s.Unit, s.parts)
	return u
}

// begin sets where following begins; the sums of an earlier round stay.
func (u *followUnit) begin(unit *Unit, parts []followPart) {
	u.mu.Lock()
	defer u.mu.Unlock()
	was := u.parts
	u.unit, u.parts, u.doing, u.flushed = unit, nil, followFollowing, time.Now()
	for i := range parts {
		x := parts[i]
		x.from, x.written, x.end, x.answered = x.pos, x.applied, x.pos, time.Now()
		x.counts = newCounts()
		if i < len(was) {
			x.counts.Records, x.counts.Bytes = was[i].counts.Records, was[i].counts.Bytes
		}
		u.parts = append(u.parts, &x)
	}
	fresh := time.Now()
	u.lines(&fresh)
	u.whole.Store(fresh.UnixNano())
}

func (u *followUnit) state(s followState) {
	u.mu.Lock()
	u.doing = s
	u.mu.Unlock()
}

// followUnit opens the store and applies what comes until the context ends, or
// the store cannot be gone on with. It leaves the store flushed and closed.
func (f *follower) followUnit(ctx context.Context, u *followUnit) (err error) {
	dir := filepath.Join(appDir(f.opts.Into, f.opts.ApplicationID), u.task)
	u.unit.Resume = dir // it is there
	u.mu.Lock()
	u.store, err = f.run.openBatchStore(u.unit, dir)
	if err == nil {
		// An offset that is only in the store's oldest segment would go with it.
		err = f.flush(u)
	}
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.store == nil {
			return
		}
		var over *startOverError
		if !errors.As(err, &over) {
			err = errors.Join(err, f.flush(u))
		}
		f.unflushed.Add(-u.dirty)
		u.dirty = 0
		err = errors.Join(err, u.store.close())
		u.store = nil
	}()
	if err != nil {
		return err
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, part := range u.parts {
		wg.Go(func() {
			if err := f.followPart(ctx, u, part); err != nil {
				cancel(err)
			}
		})
	}
	wg.Go(func() {
		t := time.NewTicker(f.opts.FlushInterval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
			u.mu.Lock()
			err := f.flush(u)
			u.mu.Unlock()
			if err != nil {
				cancel(err)
			}
		}
	})
	wg.Wait()
	if outer.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// followPart reads one partition, through whatever befalls its leader.
func (f *follower) followPart(ctx context.Context, u *followUnit, part *followPart) error {
	for try := 0; ; try++ {
		before := part.pos
		err := f.read(ctx, u, part)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil { // a source topic, up to the committed offset
			try = -1
			continue
		}
		if part.pos != before {
			try = 0
		}
		if err = f.judge(ctx, u, part, err); err != nil {
			return err
		}
		wait(ctx, min(250*time.Millisecond<<min(try, 8), 15*time.Second))
	}
}

// judge says whether reading is to be tried again (nil) after this error.
func (f *follower) judge(ctx context.Context, u *followUnit, part *followPart, err error) error {
	name := fmt.Sprintf("%s-%d", u.topic, part.partition)
	var moved *kafka.LogStartMovedError
	var replaced *kafka.TopicReplacedError
	var cut *kafka.LogCutBackError
	var over *startOverError
	switch {
	case errors.As(err, &over):
		return err
	case errors.As(err, &moved):
		return &startOverError{fmt.Sprintf("the log of %s now starts at %d, behind the store's position %d", name, moved.LogStart, moved.Position)}
	case errors.As(err, &replaced):
		return &startOverError{fmt.Sprintf("%s was deleted and created anew", u.topic)}
	case errors.As(err, &cut):
		return &startOverError{err.Error()}
	case kafka.Denied(err):
		return err
	case op.KindOf(err) != op.Unreachable && op.KindOf(err) != op.NotFound:
		return err
	}
	// A log that was cut back (an unclean leader election) does not answer
	// behind its end.
	if offs, e := f.plan.client.Offsets(ctx, u.topic, []int32{part.partition}); e == nil {
		if end := offs[part.partition].End; end < part.pos {
			return &startOverError{fmt.Sprintf("the log of %s ends at %d, before the store's position %d", name, end, part.pos)}
		}
	}
	f.trouble.add(part, err)
	return nil
}

// read opens the partition where the store stands and applies what it yields.
func (f *follower) read(ctx context.Context, u *followUnit, part *followPart) error {
	to := int64(math.MaxInt64)
	if u.unit.Request.SourceTopic {
		var err error
		if to, err = f.committed(ctx, u, part); err != nil || to <= part.pos {
			if err == nil {
				f.trouble.gone(part)
				wait(ctx, time.Second)
			}
			return errors.Join(err, f.aged(u, part))
		}
	}
	o := f.run.readOptions(u.unit, PartRange{Partition: part.partition, From: part.pos, To: to}, nil)
	o.Follow, o.TopicID, o.Mark, o.MaxBytes, o.Prefetch = true, u.unit.id, part.mark, f.fetch, 1
	o.OnEvent = func(e kafka.ReadEvent) {
		switch e.Kind {
		case kafka.ReadRetry:
			f.trouble.add(part, e.Err)
		case kafka.ReadLeaderMoved:
			f.sink.Warn(fmt.Sprintf("%s-%d", e.Topic, e.Partition), e.Message)
		}
	}
	reader, err := f.plan.client.OpenPartition(ctx, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	var dec kafka.Decoder
	for {
		next, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		b, err := reader.Next(next)
		cancel()
		if ends, ok := reader.Ends(); ok {
			f.seen(u, part, ends)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil // up to the committed offset
		case errors.Is(err, context.DeadlineExceeded) && next.Err() != nil:
			if err := f.aged(u, part); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := f.apply(ctx, u, part, b, &dec); err != nil {
			return err
		}
		reader.Release(b)
	}
}

// committed is how far a source topic that serves as changelog is followed:
// beyond that the application processes the records again.
func (f *follower) committed(ctx context.Context, u *followUnit, part *followPart) (int64, error) {
	offs, err := f.plan.client.CommittedOffsets(ctx, f.opts.ApplicationID, u.topic)
	if err != nil {
		return 0, err
	}
	to, ok := offs[part.partition]
	if !ok {
		return part.pos, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	part.end, part.answered = max(to, part.pos), time.Now()
	if to <= part.pos {
		part.fresh = part.answered
	}
	return to, nil
}

// seen takes over what the leader said.
func (f *follower) seen(u *followUnit, part *followPart, e kafka.Ends) {
	f.trouble.answered(part, e.At)
	u.mu.Lock()
	defer u.mu.Unlock()
	part.answered = e.At
	if !u.unit.Request.SourceTopic {
		part.end = max(e.HighWatermark, part.pos)
	}
	if part.pos == e.Position && part.pos >= f.visible(e.HighWatermark, e.LastStable) {
		part.fresh = e.At
	}
}

// visible is where reading ends now.
func (f *follower) visible(highWatermark, lastStable int64) int64 {
	if f.plan.Committed {
		return lastStable
	}
	return highWatermark
}

// aged is the end of a store that has not held all there was for longer than
// the changelog keeps tombstones: deleted rows would live again.
func (f *follower) aged(u *followUnit, part *followPart) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	// Shorter ones are for tests of the cleaner: the first catch-up takes longer.
	limit := max(part.retention, time.Minute)
	if age := time.Since(part.fresh); part.retention > 0 && age > limit {
		return &startOverError{fmt.Sprintf("the store was whole %s ago, and tombstones are gone after delete.retention.ms=%s", age.Round(time.Second), part.retention)}
	}
	return nil
}

// apply writes the records of a block as a standby does, poll batch by poll
// batch.
func (f *follower) apply(ctx context.Context, u *followUnit, part *followPart, b *kafka.Block, dec *kafka.Decoder) error {
	if err := f.aged(u, part); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	f.slots <- struct{}{}
	defer func() { <-f.slots }()
	maxPoll := f.run.consumerInt("max.poll.records", DefaultMaxPoll)
	bytes := part.counts.Bytes
	write := func() error {
		if len(u.batch.records) == 0 {
			return nil
		}
		err := u.store.apply(u.batch.records, &part.counts)
		u.batch.reset()
		return err
	}
	u.batch.reset()
	stats, err := dec.Decode(b, func(rec *kafka.Record) error {
		if !part.counts.record(rec) {
			return nil
		}
		u.batch.add(rec, u.unit.Request.Headers)
		if len(u.batch.records) >= maxPoll {
			return write()
		}
		return nil
	})
	if err == nil {
		err = write()
	}
	if err != nil {
		return err
	}
	if err := f.run.checkTransactions(u.unit, stats); err != nil {
		return err
	}
	part.mark.Pass(b.Mark)
	part.pos = b.Next
	part.applied = max(part.applied, part.counts.LastApplied)
	if !u.unit.Request.SourceTopic {
		part.end = max(part.end, b.HighWatermark, part.pos)
	}
	if b.Next >= f.visible(b.HighWatermark, b.LastStable) {
		part.fresh = b.Asked
	}
	// What a row takes in a memtable besides key and value.
	n := part.counts.Bytes - bytes + 64*int64(stats.Records)
	u.dirty += n
	if sum := f.unflushed.Add(n); sum > f.plan.Options.Memory/2 && u.dirty >= sum/int64(len(f.units)) {
		return f.flush(u)
	}
	return nil
}

// flush makes what was applied durable, and then its offsets: a crash in between
// has records applied again, which changes nothing. The unit is locked.
func (f *follower) flush(u *followUnit) error {
	if u.dirty > 0 {
		if err := u.store.flush(); err != nil {
			return err
		}
		f.unflushed.Add(-u.dirty)
		u.dirty = 0
		u.flushes++
	}
	if err := f.checkpoint(u); err != nil {
		return err
	}
	u.flushed = time.Now()
	return nil
}

// checkpoint writes the unit's offsets, and as the file's time since when the
// task's stores may lack something.
func (f *follower) checkpoint(u *followUnit) error {
	f.checkpoints.Lock()
	defer f.checkpoints.Unlock()
	fresh := time.Now()
	lines := u.lines(&fresh)
	u.whole.Store(fresh.UnixNano())
	if len(lines) == 0 {
		return nil
	}
	path := filepath.Join(appDir(f.opts.Into, f.opts.ApplicationID), u.task, streams.CheckpointFile)
	before, statErr := os.Stat(path)
	foreign := false
	err := editCheckpoint(path, func(c streams.Checkpoint) {
		for at := range c {
			foreign = foreign || !f.follows(u.task, at.Topic)
		}
		for at, off := range lines {
			c[at] = off
		}
	})
	if err != nil {
		return err
	}
	for _, v := range f.units {
		if t := time.Unix(0, v.whole.Load()); v.task == u.task && t.Before(fresh) {
			fresh = t
		}
	}
	if statErr == nil && foreign && before.ModTime().Before(fresh) {
		fresh = before.ModTime() // stores of the task that nobody follows
	}
	return os.Chtimes(path, fresh, fresh)
}

// lines are the unit's lines of the checkpoint; fresh becomes the time since
// when one of its partitions may lack something, if that is earlier.
func (u *followUnit) lines(fresh *time.Time) streams.Checkpoint {
	out := streams.Checkpoint{}
	for _, part := range u.parts {
		at := streams.TopicPartition{Topic: u.topic, Partition: part.partition}
		switch {
		case u.unit.Request.Global && part.pos > 0:
			out[at] = part.pos // GlobalStateManagerImpl: the next offset
		case !u.unit.Request.Global && part.applied >= 0:
			out[at] = part.applied
		}
		part.written = part.applied
		if part.fresh.Before(*fresh) {
			*fresh = part.fresh
		}
	}
	return out
}

// follows says whether the topic is that of a store of the task that is
// followed.
func (f *follower) follows(task, topic string) bool {
	for _, u := range f.units {
		if u.task == task && u.topic == topic {
			return true
		}
	}
	return false
}
