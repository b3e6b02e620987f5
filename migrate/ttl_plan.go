package migrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
	"sstool/internal/streams"
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
		if err := s.check(); err != nil {
			return err
		}
		s.topic = s.TTLStore.topic(o.ApplicationID)
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

// columns samples the changelogs: how keys and values look, and whether the
// records are those of the kind that the user says.
func (r *ttlRun) columns(ctx context.Context) error {
	for i, s := range r.stores {
		s.log.values = r.needsValues(i)
		seen := 0
		odd := map[string]int{}
		s.guesses.key, s.guesses.value = serde.Guesser{}, serde.Guesser{}
		err := s.log.look(ctx, func(rec *kafka.Record) {
			s.guesses.key.Add(rec.Key)
			s.guesses.value.Add(rec.Value)
			if rec.Value != nil {
				seen++
				odd[looksForeign(rec.Key, rec.Value, rec.Headers)]++
			}
		})
		if err != nil {
			return err
		}
		for what, n := range odd {
			if what != "" && n == seen && seen >= 3 && !s.Certain {
				return op.Errorf(op.Precondition, "all %d records of %s that were looked at are %s, and --kind says %s", seen, s.topic, what, s.Kind).
					WithTry("--state-dir, --spec or --topology, which tell the kind, if it is a key-value store nevertheless")
			}
		}
	}
	choose := func(stated serde.Serde, g *serde.Guesser) ttlColumn {
		if stated != nil {
			return ttlColumn{serde: stated}
		}
		return ttlColumn{serde: g.Serde(), guess: true}
	}
	main := r.stores[0]
	r.rules.key, r.rules.value = choose(r.o.Key, &main.guesses.key), choose(r.o.Value, &main.guesses.value)
	if r.o.Companion != nil {
		r.rules.companion = ttlColumn{serde: r.o.CompanionValue}
		if r.rules.companion.serde == nil {
			long, err := serde.Parse("long")
			if err != nil {
				return err
			}
			r.rules.companion.serde = long
			if g := r.stores[1].guesses.value.Serde(); g != nil {
				r.rules.companion = ttlColumn{serde: g, guess: true}
			}
		}
	}
	r.plan.KeyDecoder, r.plan.ValueDecoder = r.rules.key.decoder(), r.rules.value.decoder()
	return r.narrow()
}

// needsValues says whether a query looks at the values of a store.
func (r *ttlRun) needsValues(store int) bool {
	if store == 1 && r.o.Companion != nil {
		return true
	}
	return store == 0 && (r.o.Where != nil || r.o.Timestamp != nil && r.o.Companion == nil)
}

// narrow sets which keys are read at all.
func (r *ttlRun) narrow() error {
	var prefix []byte
	if r.o.Prefix != "" {
		prefix = []byte(r.o.Prefix)
		if s := r.rules.key.serde; s != nil {
			b, err := s.Encode(r.o.Prefix)
			if err != nil {
				return op.Errorf(op.Usage, "--prefix: %w", err)
			}
			prefix = b
		}
	}
	keys, err := r.keys()
	if err != nil || prefix == nil && keys == nil {
		return err
	}
	wanted := func(key []byte) bool {
		if keys != nil {
			if _, ok := keys[string(key)]; !ok {
				return false
			}
		}
		return bytes.HasPrefix(key, prefix)
	}
	for _, s := range r.stores {
		s.log.wanted = wanted
	}
	return nil
}

// keys are those of the file; nil without one.
func (r *ttlRun) keys() (map[string]struct{}, error) {
	if r.o.Keys == nil {
		return nil, nil
	}
	in, err := r.o.Keys()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	keys, held := map[string]struct{}{}, int64(0)
	err = eachKeyLine(in, r.rules.key.serde, func(key []byte) error {
		keys[string(key)] = struct{}{}
		if held += int64(len(key)) + keyOverhead; held > r.o.Memory/4 {
			return op.Errorf(op.Usage, "the first %d keys take a quarter of the memory, and there are more", len(keys)).WithTry("split the file, or give more with --memory")
		}
		return nil
	})
	if err != nil {
		return nil, &op.Error{Kind: op.KindOf(err), What: "keys from " + r.o.KeysWhy, Err: err}
	}
	n := int64(len(keys))
	r.plan.KeysGiven = &n
	return keys, nil
}

// keyOverhead is what a map takes for a key besides its bytes.
const keyOverhead = 48

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

// ttlBoth is one source after the other: of different partitions.
type ttlBoth struct{ first, second ttlSource }

func (b *ttlBoth) units() int { return b.first.units() + b.second.units() }
func (b *ttlBoth) close() error {
	return cmp.Or(b.first.close(), b.second.close())
}
func (b *ttlBoth) reader() ttlReader {
	return &ttlBothReader{b.first.reader(), b.second.reader(), b.first.units()}
}

type ttlBothReader struct {
	first, second ttlReader
	border        int
}

func (r *ttlBothReader) each(unit int, fn func(*ttlRow) error) error {
	if unit < r.border {
		return r.first.each(unit, fn)
	}
	return r.second.each(unit-r.border, fn)
}

func (r *ttlBothReader) close() error { return cmp.Or(r.first.close(), r.second.close()) }

// copies decides which partitions of a store are read from its local copies.
func (r *ttlRun) copies(ctx context.Context, store int) error {
	s := r.stores[store]
	s.why = map[int32]string{}
	if len(s.Databases) == 0 {
		return nil
	}
	all := r.notLocal(store)
	local := &ttlLocal{kind: s.Kind, values: s.log.values, wanted: s.log.wanted, sink: r.sink}
	var rest []int32
	for _, p := range s.log.parts {
		i := slices.IndexFunc(s.Databases, func(d TTLDatabase) bool { return d.Partition == p })
		switch {
		case all != "":
			s.why[p] = all
		case i < 0:
			s.why[p] = "there is no local copy"
		default:
			cp, why, err := r.copyOf(ctx, s, s.Databases[i], r.timed(store))
			if err != nil {
				return err
			}
			if why == "" {
				local.copies = append(local.copies, cp)
				continue
			}
			s.why[p] = why
		}
		rest = append(rest, p)
	}
	if len(local.copies) == 0 || len(r.stores) > 1 && len(rest) > 0 { // a join needs one order of all partitions
		for _, c := range local.copies {
			s.why[c.partition] = "another partition has no current local copy, and stores are joined"
		}
		return nil
	}
	s.local, s.log.parts = local, rest
	if store == 0 && len(r.stores) == 1 {
		return local.divide(s.log.workers)
	}
	return local.divide(1)
}

// notLocal says why no local copy of the store may be read.
func (r *ttlRun) notLocal(store int) string {
	switch {
	case r.o.StreamTime && store == 0:
		return "stream time is in the changelog"
	case r.stores[store].Kind == streams.KV && r.timed(store):
		return "rows of a kv store do not have their time"
	}
	return ""
}

// timed says whether the rows' own times count.
func (r *ttlRun) timed(store int) bool {
	return store == 0 && (r.o.Where != nil || r.rules.hasCutoff && r.o.Timestamp == nil && r.o.Companion == nil)
}

// copyOf opens a local copy and reads what it lacks.
func (r *ttlRun) copyOf(ctx context.Context, s *ttlStoreRun, d TTLDatabase, timed bool) (*ttlCopy, string, error) {
	cp, why := openCopy(d, s.topic, s.log.ends[d.Partition], timed)
	if why != "" {
		return nil, why, nil
	}
	oldest := retained(s.config, r.o.Now)
	if oldest > 0 && cp.offset+1 < s.log.end(d.Partition) {
		// Tombstones right behind its offset may be gone without a trace.
		at, err := r.c.OffsetForTime(ctx, s.topic, d.Partition, oldest)
		if err != nil {
			return nil, "", err
		}
		if at > cp.offset+1 {
			return nil, tooOld, nil
		}
	}
	why, err := cp.readTail(ctx, s.log, oldest)
	return cp, why, err
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
