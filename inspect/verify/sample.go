package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// sample compares some keys of a task: some that lie on disk, spread over its
// files, and some of the changelog, each of which is as likely as any other.
// The changelog is read whole all the same, as nothing else tells the newest
// record of a key; what is spared are the scan of the store and the table.
type sample struct {
	u       *unit
	rows    map[uint64]*sampleKey // picked on disk, by hash of the key of the table
	mu      sync.Mutex
	records map[uint64]*sampleKey // picked in the changelog: those with the smallest hashes
	border  atomic.Uint64         // a key with a larger hash is not one of them
	limit   int
	closed  bool // no key is picked any more
}

type sampleKey struct {
	key     []byte
	entries []entry
}

// sampledLater bounds how many records behind the store's offset are kept of a
// key.
const sampledLater = 1000

func (u *unit) sample(ctx context.Context) (*Task, int, int, error) {
	if u.store.Kind == streams.Versioned {
		return nil, 0, 0, op.Errorf(op.Usage, "store %s is versioned: its keys have many rows, and all are compared or none", u.store.Name).WithTry("without --sample")
	}
	u.reset()
	if err := u.ownOffsets(); err != nil {
		return nil, 0, 0, err
	}
	s := &sample{u: u, rows: map[uint64]*sampleKey{}, records: map[uint64]*sampleKey{}, limit: u.o.Sample}
	s.border.Store(math.MaxUint64)
	u.progress.phase("rows")
	err := s.open(func(dbs []*inspect.RawDB) error { return s.pickRows(ctx, dbs) })
	if err != nil {
		return nil, 0, 0, err
	}
	if err := u.settle(ctx); err != nil {
		return nil, 0, 0, err
	}
	u.progress.phase("changelog")
	if err := s.read(ctx); err != nil {
		return nil, 0, 0, err
	}
	s.closed = true
	s.prune()
	if err := s.again(); err != nil {
		return nil, 0, 0, err
	}
	if err := s.readOn(ctx); err != nil {
		return nil, 0, 0, err
	}
	f, err := s.judge()
	if err != nil {
		return nil, 0, 0, err
	}
	t, err := u.result(ctx, f)
	if t != nil {
		t.Local, t.Changelog = nil, nil
	}
	return t, len(s.rows), len(s.records), err
}

// open calls fn with the task's databases.
func (s *sample) open(fn func([]*inspect.RawDB) error) error {
	dbs, err := s.u.task.Open()
	defer func() {
		for _, db := range dbs {
			db.Close()
		}
	}()
	if err != nil {
		return err
	}
	return fn(dbs)
}

// again looks up the keys of the changelog.
func (s *sample) again() error {
	return s.open(func(dbs []*inspect.RawDB) error { return s.lookUp(dbs, s.records) })
}

// pickRows takes rows at places that are evenly spread over the files.
func (s *sample) pickRows(ctx context.Context, dbs []*inspect.RawDB) error {
	c, err := newCanon(s.u.store)
	if err != nil {
		return err
	}
	type place struct {
		db  *inspect.RawDB
		key []byte
	}
	var places []place
	for _, db := range dbs {
		places = append(places, place{db, nil})
		for _, k := range db.Split(samplePiece) {
			places = append(places, place{db, k})
		}
	}
	rnd := rand.New(rand.NewPCG(uint64(len(places)), 9))
	each := (s.limit + len(places) - 1) / max(1, len(places))
	step := max(1, float64(len(places))/float64(s.limit))
	take := func(key []byte, e *entry) error {
		if h := xxh3.Hash(key); s.rows[h] == nil {
			s.rows[h] = &sampleKey{key: slices.Clone(key)}
		}
		return nil
	}
	for at := 0.0; int(at) < len(places) && len(s.rows) < s.limit; at += step {
		p := places[int(at)]
		skip, got := rnd.IntN(sampleSkip), 0
		err := p.db.Seek(p.key, func(family string, key, value []byte) (bool, error) {
			if skip--; skip >= 0 {
				return true, ctx.Err()
			}
			if got++; got > each || len(s.rows) >= s.limit {
				return false, nil
			}
			skip = rnd.IntN(sampleSkip)
			s.u.store.WithIndex = s.u.store.WithIndex || indexRow(s.u.store.Kind, key)
			return true, c.row(family, key, value, take)
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(s.lookUp(dbs, s.rows), s.u.rows.Wrong())
}

const (
	samplePiece = 64 << 10 // bytes between two places
	sampleSkip  = 8        // rows that are passed over, at most
)

// lookUp finds the rows of keys.
func (s *sample) lookUp(dbs []*inspect.RawDB, keys map[uint64]*sampleKey) error {
	c, err := newCanon(s.u.store)
	if err != nil {
		return err
	}
	ordered := slices.SortedFunc(maps.Values(keys), func(a, b *sampleKey) int { return bytes.Compare(a.key, b.key) })
	for _, k := range ordered {
		size, seen := len(k.key), map[string]bool{}
		if numbered(s.u.store.Kind) {
			size += seqBytes
		}
		take := func(_ []byte, e *entry) error {
			s.u.rowCount++
			k.entries = slices.Insert(k.entries, 0, *e)
			return nil
		}
		for _, db := range dbs {
			err := db.Seek(k.key, func(family string, key, value []byte) (bool, error) {
				if !bytes.HasPrefix(key, k.key) || len(key) != size && !numbered(s.u.store.Kind) {
					return false, nil
				}
				if len(key) != size || seen[string(key)] {
					return true, nil // the key of another application's key, or of an older family
				}
				seen[string(key)] = true
				return true, c.row(family, key, value, take)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read goes through the whole changelog for the keys that were picked, and picks
// as many.
func (s *sample) read(ctx context.Context) error {
	u := s.u
	for _, p := range u.parts {
		if err := u.ranges(ctx, p, func(from, to int64, committed, later bool) error {
			return s.readRange(ctx, p, from, to, committed, later)
		}); err != nil {
			return err
		}
	}
	return nil
}

// readOn reads what was written since: rows of keys of the changelog were looked
// up after it was read.
func (s *sample) readOn(ctx context.Context) error {
	for _, p := range s.u.parts {
		ends, err := s.u.c.Offsets(ctx, s.u.topic, []int32{p.Partition.Partition})
		if err != nil {
			return err
		}
		from := p.End
		p.End = ends[p.Partition.Partition].End
		if err := s.readRange(ctx, p, from, p.End, false, true); err != nil {
			return err
		}
	}
	return nil
}

func (s *sample) readRange(ctx context.Context, p *part, from, to int64, committed, later bool) error {
	return s.u.eachRecord(ctx, p, from, to, committed, later, func(int, int64) (take func(key []byte, e *entry) error, done func() error) {
		return s.take, nil
	})
}

// take keeps an entry of a key that was picked, or is to be.
func (s *sample) take(key []byte, e *entry) error {
	h := xxh3.Hash(key)
	row := s.rows[h]
	if row == nil && h > s.border.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if row != nil {
		row.add(key, e)
		return nil
	}
	k := s.records[h]
	if k == nil {
		if s.closed || h > s.border.Load() { // lowered meanwhile: it was left out before
			return nil
		}
		k = &sampleKey{key: slices.Clone(key)}
		s.records[h] = k
		s.prune()
	}
	k.add(key, e)
	return nil
}

// add keeps the newest record up to the store's offset, and those behind it.
func (k *sampleKey) add(key []byte, e *entry) {
	if !slices.Equal(key, k.key) {
		return // another key with the same hash: nothing is lost by leaving it out
	}
	n := 0
	for i := range k.entries {
		o := &k.entries[i]
		same := !o.local && o.later == e.later && o.part == e.part && o.aux == e.aux
		if same && !e.later {
			if e.offset > o.offset {
				*o = *e
			}
			return
		}
		if o.later {
			n++
		}
	}
	if n < sampledLater {
		k.entries = append(k.entries, *e)
	}
}

// prune keeps the keys with the smallest hashes: a key that is kept at the end
// was kept from its first record on.
func (s *sample) prune() {
	if len(s.records) <= 2*s.limit && !s.closed || len(s.records) <= s.limit {
		return
	}
	all := make([]uint64, 0, len(s.records))
	for h := range s.records {
		all = append(all, h)
	}
	slices.Sort(all)
	for _, h := range all[s.limit:] {
		delete(s.records, h)
	}
	s.border.Store(all[s.limit-1])
}

// judge judges the keys that were picked.
func (s *sample) judge() (*found, error) {
	j := &judge{u: s.u}
	var keys []*sampleKey
	for _, m := range []map[uint64]*sampleKey{s.rows, s.records} {
		for _, k := range m {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b *sampleKey) int { return slices.Compare(a.key, b.key) })
	for _, k := range keys {
		j.key, j.open, j.slot, j.list = append(j.key[:0], k.key...), true, slot{}, k.entries
		slices.SortStableFunc(k.entries, func(a, b entry) int {
			switch {
			case a.local != b.local && a.local:
				return -1
			case a.local != b.local:
				return 1
			}
			return int(min(max(a.offset-b.offset, -1), 1))
		})
		if !s.u.manyRows() {
			for i := range k.entries {
				j.slot.add(s.u, &k.entries[i])
			}
		} else if len(k.entries) == 0 {
			continue
		}
		if err := j.end(); err != nil {
			return nil, err
		}
	}
	f := j.found
	f.Rows = s.u.rowCount
	return &f, nil
}

// blind says what a sample cannot see.
func blind(picked int) string {
	if picked == 0 {
		return "nothing was picked"
	}
	return fmt.Sprintf("a fault of fewer than about 1 row in %d is likely missed (with %d keys picked, 95 of 100 samples see one of 3 in %d); only all rows prove that none differs", max(1, picked/3), picked, picked)
}

// compared is the task as asked for: all of it, or a sample. RocksDB may flush a
// row of an application that runs before the producer has sent its record: what
// is found then counts when it is found again, with more time for that.
func (u *unit) compared(ctx context.Context, res *Result) (*Task, error) {
	rows, records := 0, 0
	run := u.compare
	if u.o.Sample > 0 {
		run = func(ctx context.Context) (t *Task, err error) {
			t, rows, records, err = u.sample(ctx)
			return t, err
		}
	}
	t, err := run(ctx)
	if err == nil && u.running && t.Findings() > t.Replaced {
		u.patience = inFlight
		u.sink.Warn(u.name(), "the application runs, and what differs may be on its way to the changelog: compared anew")
		t, err = run(ctx)
	}
	if err != nil || u.o.Sample == 0 {
		return t, err
	}
	if res.Sample == nil {
		res.Sample = &Sample{}
	}
	res.Sample.RowKeys += rows
	res.Sample.RecordKeys += records
	res.Sample.Blind = blind(res.Sample.RowKeys + res.Sample.RecordKeys)
	return t, nil
}
