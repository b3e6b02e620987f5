package verify

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"sstool/inspect"
	"sstool/internal/op"
)

// explain reads the records behind the lower of the two offsets: their keys may
// differ.
func (p *pair) explain(ctx context.Context) error {
	low, equal := p.offsets()
	if p.u.c == nil || p.u.topic == "" || low == nil || equal && p.idle() {
		return nil
	}
	p.touched = map[uint64]bool{}
	for n, applied := range low {
		if _, err := p.u.c.Topic(ctx, p.u.topic); applied < 0 && op.KindOf(err) == op.NotFound {
			p.touched = nil // a store that is not logged stores no offset
			return nil
		}
		ends, err := p.u.c.Offsets(ctx, p.u.topic, []int32{n})
		if err != nil {
			return err
		}
		e := ends[n]
		from := min(max(applied+1, e.Start), e.End)
		x := &part{Partition: Partition{Partition: n}}
		p.u.workers = 1 // of one map
		err = p.u.eachRecord(ctx, x, from, e.End, false, true, func(int, int64) (func(key []byte, e *entry) error, func() error) {
			return func(key []byte, _ *entry) error {
				if len(p.touched) < mostTouched {
					p.touched[xxh3.Hash(key)] = true
				}
				return nil
			}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// offsets are the lower of the two offsets of each partition, as last applied.
// An application that runs may not have stored one yet: then it is -1, and all
// records may lie between. Otherwise there are none where one is not stored.
func (p *pair) offsets() (low map[int32]int64, equal bool) {
	mine, theirs := stored(p.mine), stored(p.theirs)
	all := slices.Concat(slices.Collect(maps.Keys(mine)), slices.Collect(maps.Keys(theirs)))
	running := !p.idle()
	if len(all) == 0 && running && p.u.task.Partition != nil {
		all = append(all, *p.u.task.Partition)
	}
	low, equal = map[int32]int64{}, true
	for _, n := range all {
		a, known := mine[n]
		b, both := theirs[n]
		if known && both {
			low[n] = min(a, b)
			equal = equal && a == b
			continue
		}
		if !running {
			return nil, false
		}
		low[n], equal = -1, false
	}
	if len(low) == 0 {
		return nil, false
	}
	return low, equal
}

// stored are the offsets of a store, as last applied, by partition.
func stored(m *inspect.MapStore) map[int32]int64 {
	out := map[int32]int64{}
	for _, o := range storedOffsets(m) {
		if o.Offset != nil {
			out[o.Partition] = *o.Offset
		}
	}
	return out
}

// idle says whether neither store's application runs: nothing is on disk before
// its offset is.
func (p *pair) idle() bool {
	for _, r := range []*inspect.Rows{p.u.rows, p.w.rows} {
		if l := r.Lock(); l != nil && (l.Held == nil || *l.Held) {
			return false
		}
	}
	return true
}

func (p *pair) result() (*Task, error) {
	t := &Task{Task: p.u.task.Task, Dir: p.u.task.Dir, Counts: p.found.Counts, Verdict: Same, Local: &p.u.local, Partitions: storedOffsets(p.mine)}
	t.Against = &Copy{Dir: p.w.task.Dir, Rows: p.theirRows, Partitions: storedOffsets(p.theirs), Digest: &p.digest}
	for i := range p.found.first {
		d, err := p.difference(&p.found.first[i])
		if err != nil {
			return nil, err
		}
		t.Differences = append(t.Differences, *d)
	}
	t.More = p.found.Findings() - int64(len(t.Differences))
	if p.found.Findings() > 0 {
		t.Verdict = Differs
	}
	low, equal := p.offsets()
	young := slices.Contains(slices.Collect(maps.Values(low)), -1)
	switch {
	case young && p.touched != nil:
		t.Why = "an offset is not stored yet: differences of which the changelog has any record are counted as ahead"
	case low == nil || young:
		t.Why = "an offset is not stored: the two may have come to different places of the changelog"
	case equal:
	case p.touched == nil:
		t.Why = "the two have come to different offsets of the changelog: with --bootstrap-server rows are left out that the records between explain"
	default:
		t.Why = "the two have come to different offsets of the changelog: rows that the records between explain are counted as ahead"
	}
	if len(p.touched) == mostTouched {
		t.Why += fmt.Sprintf("; there are more than %d keys between, and those beyond are not explained", mostTouched)
	}
	return t, nil
}

func (p *pair) difference(f *finding) (*Difference, error) {
	d := &Difference{What: f.what, Part: f.part, KeyHex: hex.EncodeToString(f.key)}
	d.key = keyText(p.u.rows.RowOf(p.u.task.Task, p.u.family(), f.key, nil))
	switch f.what {
	case Missing:
		d.Why = "only the other store has it"
	case Extra:
		d.Why = "the other store does not have it"
	default:
		d.Why = "the other store has another " + f.part
	}
	if f.local != nil {
		family, value, ok, err := p.u.task.Get(f.key)
		if err != nil {
			return nil, err
		}
		if ok {
			row := p.u.rows.RowOf(p.u.task.Task, family, f.key, value)
			d.Local, d.local = row.AppendJSON(nil), valueText(row)
		}
	}
	if f.record == nil {
		return d, nil
	}
	key := f.key
	family, value, ok, err := p.w.task.Get(key)
	if err != nil || !ok {
		return d, err
	}
	row := p.u.rows.RowOf(p.w.task.Task, family, key, value)
	d.Other, d.other = row.AppendJSON(nil), valueText(row)
	return d, nil
}
