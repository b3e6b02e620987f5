package migrate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sstool/internal/applock"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// DeletionResult is what became of a Deletion.
type DeletionResult struct {
	ContinuedFrom   *time.Time     `json:"continued_from"` // when the run was begun that this one finished; null: this one
	Tombstones      int64          `json:"tombstones"`     // written by this run
	Earlier         int64          `json:"tombstones_earlier"`
	Verified        int64          `json:"tombstones_verified"` // read back
	Rate            float64        `json:"tombstones_per_second"`
	LocalRows       int64          `json:"local_deletes"`
	Seconds         float64        `json:"seconds"`
	Stores          []DeletedStore `json:"stores"`
	Compacted       *CompactResult `json:"compacted"` // null: was not asked for, or nothing was to do
	Warnings        []string       `json:"warnings"`
	LedgerRemaining string         `json:"ledger"` // where an unfinished run is noted; "" when finished
}

// DeletedStore is one store of it.
type DeletedStore struct {
	Store      string             `json:"store"`
	Topic      string             `json:"topic"`
	Partitions []DeletedPartition `json:"partitions"` // those with keys
}

// DeletedPartition is one partition of it.
type DeletedPartition struct {
	Partition  int32          `json:"partition"`
	PlannedEnd int64          `json:"planned_end"`
	Tombstones int64          `json:"tombstones"` // written by this run
	Earlier    int64          `json:"tombstones_earlier"`
	Last       *int64         `json:"last_offset"` // of the last tombstone; null before it was read back
	Verified   bool           `json:"verified"`
	Local      []DeletedLocal `json:"local"`
}

// deletionRun is one Apply.
type deletionRun struct {
	d    *Deletion
	c    *kafka.Client
	o    DeletionOptions
	sink op.Sink
	l    *ledger[deletionState]
	r    *DeletionResult
	ends []map[int32]int64 // of each store: where its partitions must end
	lock *applock.Lock
}

// Apply writes the tombstones, reads them back, and deletes the rows locally.
// After an error or an interruption the result tells how far it came, and the
// ledger is there for ContinueDeletion.
func (d *Deletion) Apply(ctx context.Context, c *kafka.Client, o DeletionOptions, sink op.Sink) (*DeletionResult, error) {
	begun := time.Now()
	run := &deletionRun{d: d, c: c, o: o, sink: sink, r: &DeletionResult{ContinuedFrom: d.begun, Stores: []DeletedStore{}, Warnings: []string{}}}
	if keys, _ := d.Keys(); keys == 0 {
		return run.r, nil
	}
	if o.StateDir != "" {
		if rocks.Version() == "" {
			return nil, op.Errorf(op.Failed, "this sstool was built without RocksDB, which deleting rows in a state directory needs").
				WithTry("build it with cgo (make build), or leave the state directory out: the application applies the tombstones when it starts")
		}
		var err error
		if run.lock, err = applock.Hold(filepath.Join(o.StateDir, d.ApplicationID)); err != nil {
			return nil, err
		}
		defer func() { run.lock.Release() }()
	}
	if err := run.begin(ctx); err != nil {
		run.l.close()
		return nil, run.explain(ctx, err)
	}
	defer run.l.close()
	run.r.LedgerRemaining = o.Ledger
	err := run.stores(ctx)
	if err == nil {
		err = run.local(ctx)
	}
	if err == nil {
		if err = endDeletion(run.l); err == nil {
			run.r.LedgerRemaining = ""
		}
	}
	if err == nil && o.Compact && o.StateDir != "" {
		run.lock.Release() // compacting holds it itself
		err = run.compact(ctx)
	}
	run.r.Seconds = time.Since(begun).Seconds()
	sink.Emit(op.Event{Type: op.Summary, Done: run.r.Tombstones, Unit: "tombstones"})
	return run.r, run.explain(ctx, err)
}

// explain says what an interruption left.
func (run *deletionRun) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if run.r.LedgerRemaining == "" {
		return &op.Error{Kind: op.Declined, What: run.d.Command, Err: fmt.Errorf("interrupted; nothing was changed: %w", ctx.Err())}
	}
	return &op.Error{Kind: op.Declined, What: run.d.Command, Try: "run it again for the rest",
		Err: fmt.Errorf("interrupted after %d tombstones; each of them is valid by itself: %w", run.r.Tombstones+run.r.Earlier, ctx.Err())}
}

// begin checks everything once more and makes the run durable.
func (run *deletionRun) begin(ctx context.Context) error {
	d := run.d
	if err := checkCluster(ctx, run.c, d.ClusterID); err != nil {
		return err
	}
	if err := waitIdle(ctx, run.c, d.ApplicationID, run.o.Wait, run.sink); err != nil {
		return err
	}
	for i := range d.Stores {
		s := &d.Stores[i]
		f, err := checkChangelog(ctx, run.c, d.ApplicationID, s.Topic)
		if err != nil {
			return err
		}
		if f.ID() != s.TopicID {
			return op.Errorf(op.Precondition, "topic %q is not the one that was looked at: it was deleted and created anew", s.Topic).WithTry("run it again")
		}
		if err := checkWritable(ctx, run.c, s.Topic); err != nil {
			return err
		}
		if err := run.checkLocal(s); err != nil {
			return err
		}
		run.ends = append(run.ends, f.Ends())
		if d.begun == nil {
			if err := checkEnds(ctx, run.c, s.Topic, s.ends()); err != nil {
				return err
			}
		}
	}
	var found bool
	var err error
	if run.l, found, err = openLedger[deletionState](run.o.Ledger); err != nil {
		return err
	}
	if d.begun == nil {
		if found {
			return op.Errorf(op.Precondition, "another run is unfinished: %s", run.o.Ledger).WithTry("run it again: that one is continued")
		}
		return beginDeletion(run.l, d)
	}
	if !found || !run.l.State.Begun.Equal(*d.begun) {
		return op.Errorf(op.Precondition, "the run that was to be continued is no longer in %s", run.o.Ledger).WithTry("run it again")
	}
	if err := loadKeys(run.l); err != nil {
		return err
	}
	// What is there is up to the ends that were just seen.
	return reconcile(ctx, run.c, &run.l.State)
}

// stores writes and verifies one store after the other.
func (run *deletionRun) stores(ctx context.Context) error {
	st := &run.l.State
	total, _ := st.Deletion.Keys()
	for i := range st.Deletion.Stores {
		s := &st.Deletion.Stores[i]
		out := DeletedStore{Store: s.Store, Topic: s.Topic, Partitions: []DeletedPartition{}}
		var todo []*partWriter
		var busy []*DeletionPart
		_ = st.parts(func(store int, p *DeletionPart, progress *partProgress) error {
			if store != i || p.Keys == nil || p.Keys.Keys == 0 {
				return nil
			}
			run.r.Earlier += progress.Written
			busy = append(busy, p)
			out.Partitions = append(out.Partitions, DeletedPartition{Partition: p.Partition, PlannedEnd: p.End, Earlier: progress.Written, Local: []DeletedLocal{}})
			if progress.Written < p.Keys.Keys {
				todo = append(todo, &partWriter{part: p, progress: progress})
			}
			return nil
		})
		run.r.Stores = append(run.r.Stores, out)
		err := run.write(ctx, i, s, todo, total)
		_ = st.parts(func(store int, p *DeletionPart, progress *partProgress) error {
			for j := range busy {
				if store == i && busy[j] == p {
					dp := &run.r.Stores[i].Partitions[j]
					dp.Tombstones = progress.Written - dp.Earlier
				}
			}
			return nil
		})
		if err == nil {
			err = run.verify(ctx, i, s, busy)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (run *deletionRun) write(ctx context.Context, i int, s *DeletionStore, todo []*partWriter, total int64) error {
	if len(todo) == 0 {
		return nil
	}
	run.sink.Emit(op.Event{Type: op.Phase, Name: "write", Message: "tombstones for " + s.Topic})
	begun, before := time.Now(), run.r.Tombstones
	w := &tombWriter{c: run.c, o: &run.o, app: run.d.ApplicationID, store: s, save: run.l.save, ends: run.ends[i], tell: func(n int64) {
		run.r.Tombstones += n
		done := run.r.Tombstones + run.r.Earlier
		rate := float64(run.r.Tombstones-before) / max(time.Since(begun).Seconds(), 1e-3)
		e := op.Event{Type: op.Progress, Name: s.Topic, Done: done, Total: total, Unit: "tombstones", Rate: rate}
		if rate > 0 {
			e.ETA = time.Duration(float64(total-done) / rate * float64(time.Second))
		}
		run.r.Rate = rate
		run.sink.Emit(e)
	}}
	return w.write(ctx, todo)
}

// verify reads the tombstones of a store back.
func (run *deletionRun) verify(ctx context.Context, i int, s *DeletionStore, busy []*DeletionPart) error {
	run.sink.Emit(op.Event{Type: op.Phase, Name: "verify", Message: "read " + s.Topic + " back"})
	keys, _ := s.keys()
	done := int64(0)
	for j, p := range busy {
		w, err := verifyTombstones(ctx, run.c, s.Topic, p, run.ends[i][p.Partition])
		if err != nil {
			return err
		}
		dp := &run.r.Stores[i].Partitions[j]
		dp.Verified = true
		if w.last >= 0 {
			dp.Last = &w.last
		}
		run.r.Verified += p.Keys.Keys
		done += p.Keys.Keys
		if w.again > 0 {
			run.warn(fmt.Sprintf("%s-%d: %d tombstones are there twice: a batch of the run that was stopped came late", s.Topic, p.Partition, w.again))
		}
		run.sink.Emit(op.Event{Type: op.Progress, Name: s.Topic, Done: done, Total: keys, Unit: "tombstones"})
	}
	return nil
}

func (run *deletionRun) warn(text string) {
	run.r.Warnings = append(run.r.Warnings, text)
	run.sink.Warn(run.d.Command, text)
}

// compact rewrites the local stores that lost rows.
func (run *deletionRun) compact(ctx context.Context) error {
	o := CompactOptions{Target: run.o.Target}
	for _, s := range run.r.Stores {
		for _, p := range s.Partitions {
			for _, l := range p.Local {
				o.Stores = append(o.Stores, CompactStore{ApplicationID: run.d.ApplicationID, AppDir: filepath.Join(run.o.StateDir, run.d.ApplicationID),
					Task: l.Task, Name: s.Store, Databases: []string{l.Dir}})
			}
		}
	}
	if len(o.Stores) == 0 {
		return nil
	}
	plan, err := PlanCompact(ctx, o)
	if err != nil {
		return err
	}
	run.r.Compacted, err = plan.Apply(ctx, run.sink)
	return err
}

// local deletes the rows in the state directory.
func (run *deletionRun) local(ctx context.Context) error {
	if run.o.StateDir == "" {
		return nil
	}
	run.sink.Emit(op.Event{Type: op.Phase, Name: "local", Message: "rows in " + run.o.StateDir})
	// The application has not written behind the tombstones.
	for i := range run.l.State.Deletion.Stores {
		if err := checkEnds(ctx, run.c, run.l.State.Deletion.Stores[i].Topic, run.ends[i]); err != nil {
			return fmt.Errorf("the tombstones are written, the rows in %s are not deleted: %w", run.o.StateDir, err)
		}
	}
	var failed error
	for i := range run.l.State.Deletion.Stores {
		s := &run.l.State.Deletion.Stores[i]
		for j := range run.r.Stores[i].Partitions {
			dp := &run.r.Stores[i].Partitions[j]
			stores, err := findLocal(run.o.StateDir, run.d.ApplicationID, s.Store, dp.Partition)
			if err != nil {
				return err
			}
			for _, ls := range stores {
				res, err := run.deleteLocal(ctx, ls, s, dp)
				dp.Local = append(dp.Local, res)
				run.r.LocalRows += res.Deletes
				if ctx.Err() != nil {
					return ctx.Err()
				}
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// part is the planned partition of a result.
func (s *DeletionStore) part(partition int32) *DeletionPart {
	for i := range s.Parts {
		if s.Parts[i].Partition == partition {
			return &s.Parts[i]
		}
	}
	return nil
}

// checkLocal refuses local stores that are not what they must be, before
// anything is written to Kafka.
func (run *deletionRun) checkLocal(s *DeletionStore) error {
	if run.o.StateDir == "" {
		return nil
	}
	for i := range s.Parts {
		if s.Parts[i].Keys == nil {
			continue
		}
		stores, err := findLocal(run.o.StateDir, run.d.ApplicationID, s.Store, s.Parts[i].Partition)
		if err != nil {
			return err
		}
		for _, ls := range stores {
			db, err := lookAt(ls.dir)
			if err != nil {
				return err
			}
			for _, f := range db.Families {
				switch f {
				case streams.DefaultFamily, streams.TimestampFamily, streams.TimestampHeadersFamily, streams.OffsetsFamily:
				default:
					return op.Errorf(op.Precondition, "%s has the column family %q: it is no key-value store", ls.dir, f)
				}
			}
		}
	}
	return nil
}
