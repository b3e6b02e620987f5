package migrate

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/zeebo/xxh3"
)

// ttlTally counts the rows that a worker judged.
type ttlTally struct {
	parts       map[int32]*ttlPart
	last        *ttlPart
	lastID      int32
	ages        []TTLAge // counts alone
	unknown     TTLUnknown
	bins        ttlBins
	whereFailed TTLFailures
	undecoded   TTLFailures
}

// ttlPart counts a partition's rows, and knows what they are held against.
type ttlPart struct {
	cutoff, reference    int64
	rows, bytes, unknown int64
	times                int64
	oldest, newest       int64
}

func newTTLTally(r *ttlRules) *ttlTally {
	return &ttlTally{parts: map[int32]*ttlPart{}, ages: make([]TTLAge, len(r.edges)+1), bins: ttlBins{counts: map[int64]int64{}}}
}

func (t *ttlTally) part(r *ttlRules, p int32) *ttlPart {
	if t.last == nil || t.lastID != p {
		t.last, t.lastID = t.parts[p], p
		if t.last == nil {
			t.last = &ttlPart{cutoff: r.cutoff(p), reference: r.reference(p)}
			t.parts[p] = t.last
		}
	}
	return t.last
}

func (t *ttlTally) row(r *ttlRules, row *ttlRow, ms int64, class timeClass) {
	p := t.part(r, row.partition)
	p.rows++
	p.bytes += row.size
	switch class {
	case timeMissing:
		t.unknown.Missing++
	case timeNegative:
		t.unknown.Negative++
	case timeFuture:
		t.unknown.Future++
	default:
		if p.times == 0 || ms < p.oldest {
			p.oldest = ms
		}
		if p.times == 0 || ms > p.newest {
			p.newest = ms
		}
		p.times++
		a := &t.ages[r.ageRange(p.reference-ms)]
		a.Rows++
		a.Bytes += row.size
		t.bins.add(ms)
		return
	}
	p.unknown++
}

// merge adds what another worker counted.
func (t *ttlTally) merge(r *ttlRules, o *ttlTally) {
	for id, x := range o.parts {
		p := t.part(r, id)
		p.rows += x.rows
		p.bytes += x.bytes
		p.unknown += x.unknown
		if x.times > 0 {
			if p.times == 0 || x.oldest < p.oldest {
				p.oldest = x.oldest
			}
			if p.times == 0 || x.newest > p.newest {
				p.newest = x.newest
			}
			p.times += x.times
		}
	}
	for i := range o.ages {
		t.ages[i].Rows += o.ages[i].Rows
		t.ages[i].Bytes += o.ages[i].Bytes
	}
	t.unknown.Missing += o.unknown.Missing
	t.unknown.Negative += o.unknown.Negative
	t.unknown.Future += o.unknown.Future
	for b, n := range o.bins.counts {
		t.bins.counts[b] += n
	}
	t.bins.rows += o.bins.rows
	t.whereFailed.merge(o.whereFailed)
	t.undecoded.merge(o.undecoded)
}

func (f *TTLFailures) add(key []byte, err error) {
	if f.Rows++; f.Rows == 1 {
		f.First = fmt.Sprintf("key %s: %v", hex.EncodeToString(key), err)
	}
}

func (f *TTLFailures) merge(o TTLFailures) {
	f.Rows += o.Rows
	f.First = cmp.Or(f.First, o.First)
}

// ttlBins counts timestamps by tenths of an hour. Rows beyond the most bins are
// counted as spread: then no hour holds nearly all.
type ttlBins struct {
	counts map[int64]int64
	rows   int64
	recent [512]ttlBin // of a bin's number modulo their count: what is not in counts yet
}

type ttlBin struct{ bin, n int64 }

const (
	binMillis = int64(time.Hour/time.Millisecond) / 10
	maxBins   = 1 << 17
)

func (b *ttlBins) add(ms int64) {
	b.rows++
	bin := ms / binMillis
	x := &b.recent[uint64(bin)%uint64(len(b.recent))]
	if x.bin != bin {
		b.move(x)
		x.bin = bin
	}
	x.n++
}

// move brings a recent bin into counts.
func (b *ttlBins) move(x *ttlBin) {
	if x.n == 0 {
		return
	}
	if _, ok := b.counts[x.bin]; ok || len(b.counts) < maxBins {
		b.counts[x.bin] += x.n
	}
	x.n = 0
}

func (b *ttlBins) flush() {
	for i := range b.recent {
		b.move(&b.recent[i])
	}
}

// spread is the hour that holds most timestamps; nil without any.
func (b *ttlBins) spread() *TTLSpread {
	b.flush()
	if b.rows == 0 {
		return nil
	}
	bins := make([]int64, 0, len(b.counts))
	for k := range b.counts {
		bins = append(bins, k)
	}
	slices.Sort(bins)
	var best, sum int64
	var at int64
	first := 0
	for _, k := range bins {
		sum += b.counts[k]
		for k-bins[first] >= 10 {
			sum -= b.counts[bins[first]]
			first++
		}
		if sum > best {
			best, at = sum, bins[first]
		}
	}
	return &TTLSpread{Hour: time.UnixMilli(at * binMillis).UTC(), Share: float64(best) / float64(b.rows)}
}

// ttlSamples keeps a few rows of all that are to go: those whose keys have the
// smallest hash, which is any rows, and the same ones in every run.
type ttlSamples struct {
	hashes []uint64
	list   []ttlSampleRow
}

type ttlSampleRow struct {
	key   []byte
	time  int64
	known bool
	size  int64
}

// ttlSampleKeys is how many are shown of a partition.
const ttlSampleKeys = 5

func (s *ttlSamples) add(v *ttlVictim) {
	x := xxh3.Hash(v.key)
	if len(s.hashes) == ttlSampleKeys && x >= s.hashes[ttlSampleKeys-1] {
		return
	}
	i, _ := slices.BinarySearch(s.hashes, x)
	s.hashes = slices.Insert(s.hashes, i, x)
	s.list = slices.Insert(s.list, i, ttlSampleRow{slices.Clone(v.key), v.time, v.class != timeMissing, max(v.size, 0)})
	if len(s.list) > ttlSampleKeys {
		s.hashes, s.list = s.hashes[:ttlSampleKeys], s.list[:ttlSampleKeys]
	}
}
