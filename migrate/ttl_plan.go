package migrate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
)

// ttlRun is one planning.
type ttlRun struct {
	o      TTLOptions
	c      *kafka.Client
	sink   op.Sink
	plan   *TTLPlan
	rules  *ttlRules
	stores []*ttlStoreRun // the judged store, then the related ones, the companion first
	parts  []int32
}

// ttlStoreRun is a store of the plan.
type ttlStoreRun struct {
	TTLStore
	role    string
	topic   string
	topicID string
	cleaned bool
	config  map[string]string
	log     *ttlChangelog
	local   *ttlLocal
	why     map[int32]string // of a partition whose local copy was not taken
	source  ttlSource
	guesses struct{ key, value serde.Guesser }
}

// PlanTTL finds the rows that are to go. It only reads.
func PlanTTL(ctx context.Context, c *kafka.Client, o TTLOptions, sink op.Sink) (*TTLPlan, error) {
	begun := time.Now()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Memory = cmp.Or(o.Memory, DefaultTTLMemory)
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	if o.Now.IsZero() {
		o.Now = begun
	}
	r := &ttlRun{o: o, c: c, sink: sink, plan: &TTLPlan{ApplicationID: o.ApplicationID, Request: o.Request(), Created: o.Now.UTC()}}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	defer r.close()
	for try := 1; ; try++ {
		err := r.attempt(ctx)
		if start, ok := logMoved(err); ok && try < logRestarts && ctx.Err() == nil {
			sink.Warn(r.stores[0].topic, fmt.Sprintf("a log start moved to %d while the changelog was read: read again", start))
			r.close()
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	r.plan.Seconds = time.Since(begun).Seconds()
	return r.plan, nil
}

// attempt is one reading from the changelogs' facts to the plan.
func (r *ttlRun) attempt(ctx context.Context) error {
	for _, s := range r.stores {
		if err := r.facts(ctx, s); err != nil {
			return err
		}
	}
	r.rules = &ttlRules{o: &r.o, now: r.o.Now.UnixMilli(), latest: r.o.Now.Add(futureSlack).UnixMilli(), cutoffs: map[int32]int64{}, references: map[int32]int64{},
		hasCutoff: r.o.OlderThan > 0 || r.o.Before != nil, others: len(r.stores) - 1, companionAt: -1}
	if r.o.Companion != nil {
		r.rules.companionAt, r.rules.orphans = 0, r.stores[1].cleaned
	}
	r.rules.edges = ttlEdges(&r.o)
	if err := r.columns(ctx); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	r.cutoffs()
	return r.choose(ctx)
}

// read brings the rows of every store into reach.
func (r *ttlRun) read(ctx context.Context) error {
	for i, s := range r.stores {
		if err := r.copies(ctx, i); err != nil {
			return err
		}
		if len(s.log.parts) > 0 {
			r.sink.Emit(op.Event{Type: op.Phase, Name: "read " + s.topic})
			if err := s.log.read(ctx); err != nil {
				return err
			}
		}
		if n := s.log.stats.Aborted; n > 0 && r.o.Guarantee == "" {
			return op.Errorf(op.Precondition, "changelog %s has %d records of aborted transactions, and whether the application restores them depends on its processing guarantee", s.topic, n).
				WithTry("--processing-guarantee exactly_once_v2 (or at_least_once)")
		}
		s.source = s.rows()
		r.plan.Bytes += s.log.wire.Load()
		if n := s.log.nullKeys; n > 0 {
			r.warn("%d records of %s have no key: they are not rows, Kafka Streams passes over them too", n, s.topic)
		}
	}
	return nil
}

func (r *ttlRun) warn(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.plan.Warnings, s) {
		r.plan.Warnings = append(r.plan.Warnings, s)
	}
}

// rows is where the store's rows come from.
func (s *ttlStoreRun) rows() ttlSource {
	switch {
	case s.local == nil:
		return s.log
	case len(s.log.parts) == 0:
		return s.local
	}
	return &ttlBoth{s.local, s.log}
}

// cutoffs sets from when on a row is too old.
func (r *ttlRun) cutoffs() {
	for _, p := range r.parts {
		switch {
		case r.o.Before != nil:
			r.rules.cutoffs[p] = *r.o.Before
		case r.o.StreamTime:
			if ms, ok := r.stores[0].log.streamTime[p]; ok && ms >= 0 {
				r.rules.references[p] = ms
				r.rules.cutoffs[p] = ms - r.o.OlderThan.Milliseconds()
			}
		case r.o.OlderThan > 0:
			r.rules.cutoffs[p] = r.rules.now - r.o.OlderThan.Milliseconds()
		}
	}
}

// choose judges the rows and completes the plan.
func (r *ttlRun) choose(ctx context.Context) error {
	r.sink.Emit(op.Event{Type: op.Phase, Name: "judge the rows"})
	sel := &ttlSelection{rules: r.rules, main: r.stores[0].source, workers: r.stores[0].log.workers, sink: r.sink}
	var keep []bool
	for _, s := range r.stores[1:] {
		sel.others = append(sel.others, s.source)
		keep = append(keep, s.cleaned)
	}
	sel.out = newTTLOutput(r.rules, keep, r.o.TempDir, r.o.MaxRows)
	err := sel.run(ctx)
	if err == nil {
		err = r.refusal(r.checkTimes(sel.tally))
	}
	if err == nil {
		err = sel.out.finish()
	}
	if err != nil {
		sel.out.discard()
		return err
	}
	r.finish(sel)
	return nil
}

// close frees tables and copies.
func (r *ttlRun) close() {
	for _, s := range r.stores {
		if s.log != nil {
			s.log.close()
		}
		s.local = nil
	}
}
