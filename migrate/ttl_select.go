package migrate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/op"
)

var errStopRows = errors.New("stopped")

// ttlSelection runs over the rows with several workers, and writes the keys
// that are to go in order.
type ttlSelection struct {
	rules   *ttlRules
	main    ttlSource
	others  []ttlSource // joined with main, by key: one worker then
	workers int
	out     *ttlOutput
	tally   *ttlTally
	sink    op.Sink

	begun    time.Time
	throttle op.Throttle
}

const victimsKept = 4 << 20 // bytes that a worker holds while it waits for its turn

// run judges all rows.
func (s *ttlSelection) run(ctx context.Context) error {
	workers := s.workers
	if len(s.others) > 0 {
		workers = 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turn := newTurn()
	stop := context.AfterFunc(ctx, turn.end)
	defer stop()
	var next atomic.Int64
	var mu sync.Mutex
	s.begun = time.Now()
	var wg sync.WaitGroup
	s.tally = newTTLTally(s.rules)
	for range workers {
		wg.Go(func() {
			j := &ttlJudge{ttlRules: s.rules, ctx: ctx, tally: newTTLTally(s.rules), matched: make([]*ttlRow, len(s.others))}
			if err := s.work(ctx, j, &next, turn); err != nil {
				cancel(err)
			}
			mu.Lock()
			defer mu.Unlock()
			j.tally.bins.flush()
			s.tally.merge(s.rules, j.tally)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (s *ttlSelection) work(ctx context.Context, j *ttlJudge, next *atomic.Int64, turn *turn) error {
	rd := s.main.reader()
	defer rd.close()
	for _, src := range s.others {
		p := newTTLPull(src)
		defer p.stop()
		if p.err != nil {
			return p.err
		}
		j.others = append(j.others, p)
	}
	for {
		unit := int(next.Add(1)) - 1
		if unit >= s.main.units() {
			break
		}
		mine, n := false, int64(0)
		write := func() error {
			if !mine && !turn.wait(unit) {
				return context.Cause(ctx)
			}
			mine = true
			err := s.out.write(j.victims)
			j.victims = j.victims[:0]
			return err
		}
		err := rd.each(unit, func(r *ttlRow) error {
			if n++; n%1024 == 0 {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
			if err := j.take(r); err != nil {
				return err
			}
			if len(j.victims) >= victimsKept {
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
		turn.done(unit)
		s.progress(unit)
	}
	if j.orphans {
		if err := j.others[j.companionAt].rest(j.orphan); err != nil {
			return err
		}
		return s.out.write(j.victims)
	}
	return nil
}

// progress counts units: they are of about the same size.
func (s *ttlSelection) progress(unit int) {
	now := time.Now()
	if s.sink == nil || !s.throttle.Ready(now) {
		return
	}
	done, total := int64(unit+1), int64(s.main.units())
	e := op.Event{Type: op.Progress, Name: "judge", Done: done, Total: total, Unit: "parts"}
	if spent := now.Sub(s.begun); spent > 0 {
		e.Rate = float64(done) / spent.Seconds()
		e.ETA = spent / time.Duration(done) * time.Duration(total-done)
	}
	s.sink.Emit(e)
}

// turn lets workers write one after the other, in the order of units.
type turn struct {
	mu    sync.Mutex
	cond  *sync.Cond
	next  int
	ended bool
}

func newTurn() *turn {
	t := &turn{}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// wait waits for a unit's turn; false when it will not come.
func (t *turn) wait(unit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != unit && !t.ended {
		t.cond.Wait()
	}
	return !t.ended
}

func (t *turn) done(unit int) {
	t.mu.Lock()
	t.next = unit + 1
	t.mu.Unlock()
	t.cond.Broadcast()
}

func (t *turn) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.cond.Broadcast()
}

// ttlOutput takes the keys that are to go, store by store and partition by
// partition. It belongs to whose turn it is.
type ttlOutput struct {
	rules    *ttlRules
	max      int64     // of rows, 0: all
	spool    *ttlSpool // where there is a maximum
	keep     []bool    // of the related stores: whether they are cleaned
	dir      string
	left     int64
	open     []ttlKeys // by store: the judged one, then the related ones
	counts   []TTLSelect
	parts    map[int32]*ttlOutPart
	last     *ttlOutPart
	ages     []TTLSelect
	victim   ttlVictim
	finished []map[int32]*KeySet
}

// ttlOutPart is what goes of a partition of the judged store.
type ttlOutPart struct {
	partition int32
	reference int64
	TTLSelect
	samples ttlSamples
}

// ttlKeys is the list of keys that is being written of a store: partitions come
// one after the other.
type ttlKeys struct {
	partition int32
	w         *keySetWriter
}

func newTTLOutput(r *ttlRules, keep []bool, dir string, most int64) *ttlOutput {
	o := &ttlOutput{rules: r, max: most, keep: keep, dir: dir, counts: make([]TTLSelect, 1+len(keep)), open: make([]ttlKeys, 1+len(keep)), parts: map[int32]*ttlOutPart{},
		ages: make([]TTLSelect, len(r.edges)+1)}
	for range 1 + len(keep) {
		o.finished = append(o.finished, map[int32]*KeySet{})
	}
	return o
}

// write adds what a worker selected.
func (o *ttlOutput) write(b []byte) (err error) {
	if o.max > 0 {
		if o.spool == nil {
			if o.spool, err = newTTLSpool(o.dir, len(o.keep), o.rules.latest+1); err != nil {
				return err
			}
		}
		return o.spool.write(b)
	}
	v := &o.victim
	for len(b) > 0 {
		if b, err = v.read(b, len(o.keep)); err == nil {
			err = o.take(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take adds a key.
func (o *ttlOutput) take(v *ttlVictim) error {
	if v.size >= 0 {
		if err := o.add(0, v, v.size); err != nil {
			return err
		}
		o.count(v)
	}
	for i, size := range v.others {
		if size >= 0 && o.keep[i] {
			if err := o.add(1+i, v, size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *ttlOutput) add(store int, v *ttlVictim, size int64) error {
	o.counts[store].Rows++
	o.counts[store].Bytes += size
	k := &o.open[store]
	if k.w == nil || k.partition != v.partition {
		if err := o.closeKeys(store); err != nil {
			return err
		}
		var err error
		if k.w, err = newKeySet(o.dir); err != nil {
			return err
		}
		k.partition = v.partition
	}
	return k.w.Add(v.key)
}

// closeKeys ends the list of a partition.
func (o *ttlOutput) closeKeys(store int) error {
	k := &o.open[store]
	if k.w == nil {
		return nil
	}
	set, err := k.w.Close()
	k.w = nil
	if err != nil {
		return err
	}
	if o.finished[store][k.partition] != nil {
		return op.Errorf(op.Failed, "the rows of partition %d came in two pieces", k.partition)
	}
	o.finished[store][k.partition] = set
	return nil
}

// count notes a row of the judged store.
func (o *ttlOutput) count(v *ttlVictim) {
	p := o.last // they come partition by partition
	if p == nil || p.partition != v.partition {
		if p = o.parts[v.partition]; p == nil {
			p = &ttlOutPart{partition: v.partition, reference: o.rules.reference(v.partition)}
			o.parts[v.partition] = p
		}
		o.last = p
	}
	p.Rows++
	p.Bytes += v.size
	p.samples.add(v)
	if v.class == timeKnown {
		a := &o.ages[o.rules.ageRange(p.reference-v.time)]
		a.Rows++
		a.Bytes += v.size
	}
}

// finish closes the lists of keys.
func (o *ttlOutput) finish() error {
	if o.spool != nil {
		if err := o.spool.oldest(o.max, o.take); err != nil {
			return err
		}
		o.left = max(0, o.spool.rows-o.max)
		o.spool.remove()
		o.spool = nil
	}
	for i := range o.open {
		if err := o.closeKeys(i); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the lists of a selection that failed.
func (o *ttlOutput) discard() {
	o.spool.remove()
	for _, k := range o.open {
		if k.w != nil {
			k.w.Discard()
		}
	}
	for _, parts := range o.finished {
		for _, s := range parts {
			s.Remove()
		}
	}
}
