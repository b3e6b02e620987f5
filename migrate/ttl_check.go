package migrate

import (
	"context"
	"runtime"
	"slices"

	"sstool/internal/op"
	"sstool/internal/spec"
)

// prepare looks at everything that can refuse before anything is read.
func (r *ttlRun) prepare(ctx context.Context) (err error) {
	o := &r.o
	main := &ttlStoreRun{TTLStore: o.Store, role: RoleStore, cleaned: true}
	r.stores = []*ttlStoreRun{main}
	if o.Companion != nil {
		also := slices.ContainsFunc(o.Also, func(s TTLStore) bool { return s.Name == o.Companion.Name })
		r.stores = append(r.stores, &ttlStoreRun{TTLStore: *o.Companion, role: RoleTimestamps, cleaned: also})
	}
	for _, s := range o.Also {
		if o.Companion == nil || s.Name != o.Companion.Name {
			r.stores = append(r.stores, &ttlStoreRun{TTLStore: s, role: RoleAlso, cleaned: true})
		}
	}
	for _, s := range r.stores {
		s.topic = s.TTLStore.topic(o.ApplicationID)
		if err := s.check(); err != nil {
			if s.Kind == "" { // a name that is mistyped is told as that
				if _, err := r.c.Topic(ctx, s.topic); op.KindOf(err) == op.NotFound {
					return err
				}
			}
			return err
		}
	}
	if r.plan.ClusterID, err = r.c.ClusterID(ctx); err != nil {
		return err
	}
	if !o.DryRun {
		return waitIdle(ctx, r.c, o.ApplicationID, o.Wait, r.sink)
	}
	err = checkIdle(ctx, r.c, o.ApplicationID)
	if ctx.Err() == nil { // also when nobody may know
		r.refused(err)
		err = nil
	}
	return err
}

// refusal is what would stop Apply: an error, in a dry run a line of the plan.
func (r *ttlRun) refusal(err error) error {
	if err == nil || !r.o.DryRun || op.KindOf(err) != op.Precondition {
		return err
	}
	r.refused(err)
	return nil
}

func (r *ttlRun) refused(err error) {
	if err != nil && !slices.Contains(r.plan.Refused, err.Error()) {
		r.plan.Refused = append(r.plan.Refused, err.Error())
	}
}

// facts asks for a changelog's facts, and refuses what must not be cleaned.
func (r *ttlRun) facts(ctx context.Context, s *ttlStoreRun) error {
	f, err := checkChangelog(ctx, r.c, r.o.ApplicationID, s.topic)
	if f == nil {
		return err
	}
	if err := r.refusal(err); err != nil {
		return err
	}
	if err := s.checkConfig(s.topic, f.Config); err != nil {
		return err
	}
	if s.cleaned {
		if err := r.refusal(checkWritable(ctx, r.c, s.topic)); err != nil {
			return err
		}
	}
	s.config, s.topicID = f.Config, f.ID()
	workers := max(1, runtime.GOMAXPROCS(0))
	s.log = &ttlChangelog{c: r.c, topic: s.topic, ends: f.Offsets, committed: r.o.Guarantee != spec.AtLeastOnce, stall: r.o.StallTimeout, sink: r.sink,
		workers: workers, tempDir: r.o.TempDir, latest: r.o.Now.Add(futureSlack).UnixMilli(), streamTime: map[int32]int64{}}
	var parts []int32
	for p := range f.Offsets {
		parts = append(parts, p)
	}
	slices.Sort(parts)
	s.log.parts = parts
	if s == r.stores[0] {
		r.parts = parts
	} else if !slices.Equal(parts, r.parts) {
		return op.Errorf(op.Precondition, "changelog %s has %d partitions and that of %s %d: their keys do not lie side by side", s.topic, len(parts), r.o.Store.Name, len(r.parts)).
			WithTry("name stores of the same sub-topology")
	}
	// Fetch buffers, the runtime, and a table for each store.
	buffers := int64(4 * workers)
	s.log.fetch = int32(min(max(r.o.Memory/8/buffers, 1<<20), 16<<20))
	rest := r.o.Memory - buffers*int64(s.log.fetch) - ttlReserve
	s.log.memory = max(max(rest, r.o.Memory/4)/int64(len(r.stores)), int64(workers)<<20)
	return nil
}

// checkTimes refuses to take all rows because none has a time: that is an
// expression or a store of times that does not fit.
func (r *ttlRun) checkTimes(t *ttlTally) error {
	if !r.o.DeleteUnknown || r.o.Timestamp == nil && r.o.Companion == nil {
		return nil
	}
	var rows, times int64
	for _, p := range t.parts {
		rows, times = rows+p.rows, times+p.times
	}
	if rows == 0 || times > 0 {
		return nil
	}
	return op.Errorf(op.Precondition, "none of the %d rows has a time (%s): --unknown-timestamps=delete would delete all of them", rows, r.ageFrom()).
		WithTry("see with --dry-run, and without --unknown-timestamps, what the expression gives; --where true is for all rows")
}
