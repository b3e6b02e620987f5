package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlanIsEven: whatever the order of arrival, buckets come out of similar size.
func TestPlanIsEven(t *testing.T) {
	const rows, buckets = 400_000, 128
	for _, c := range []struct {
		name string
		most float64 // of the largest bucket to the mean
		key  func(r *rand.Rand, i int) (uint32, []byte)
	}{
		{"random digits", 2, func(r *rand.Rand, _ int) (uint32, []byte) {
			return 0, fmt.Appendf(nil, "account-%012d", r.IntN(rows/4))
		}},
		{"random binary", 2, func(r *rand.Rand, _ int) (uint32, []byte) { return 0, binary.BigEndian.AppendUint64(nil, r.Uint64()) }},
		{"uuids", 2, func(r *rand.Rand, _ int) (uint32, []byte) {
			return 0, fmt.Appendf(nil, "%016x-%016x", r.Uint64(), r.Uint64())
		}},
		{"sorted digits", 2, func(_ *rand.Rand, i int) (uint32, []byte) { return 0, fmt.Appendf(nil, "order-%09d", 17_000_000+i) }},
		{"sorted binary", 2, func(_ *rand.Rand, i int) (uint32, []byte) {
			return 0, binary.BigEndian.AppendUint64(nil, uint64(i)*999)
		}},
		{"sorted, lengths grow", 10, func(_ *rand.Rand, i int) (uint32, []byte) { return 0, fmt.Appendf(nil, "order-%d", i) }},
		{"reverse", 2, func(_ *rand.Rand, i int) (uint32, []byte) { return 0, fmt.Appendf(nil, "%09d", rows-i) }},
		{"two streams", 3.5, func(_ *rand.Rand, i int) (uint32, []byte) { return 0, fmt.Appendf(nil, "%c-%09d", 'a'+i%2, i) }},
		{"moving window", 2, func(r *rand.Rand, i int) (uint32, []byte) { return 0, fmt.Appendf(nil, "%09d", i+r.IntN(rows/20)) }},
		{"windows", 3, func(r *rand.Rand, i int) (uint32, []byte) {
			return 7 + uint32(i*40/rows), fmt.Appendf(nil, "user-%06d", r.IntN(5000))
		}},
		{"windows of one day", 2.5, func(r *rand.Rand, i int) (uint32, []byte) {
			return 7 + uint32(r.IntN(3)), fmt.Appendf(nil, "user-%06d", r.IntN(50000))
		}},
		{"outliers", 2.5, func(r *rand.Rand, i int) (uint32, []byte) {
			if r.IntN(100) == 0 {
				return 0, binary.BigEndian.AppendUint64(nil, r.Uint64())
			}
			return 0, fmt.Appendf(nil, "tenant/eu-west-1/customer/%09d", r.IntN(rows))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			all := make([]Sample, rows)
			for i := range all {
				all[i].Group, all[i].Key = c.key(r, i)
			}
			var places [][]Sample
			for i := range 16 {
				at := (rows - 100) * i / 15
				places = append(places, all[at:at+100])
			}
			p := newPlan(places, buckets)
			size := make([]int, p.buckets())
			for i := range all {
				size[bucketOf(p, all[i])]++
			}
			mean := float64(rows) / buckets
			if most := float64(slices.Max(size)) / mean; most > c.most || p.buckets() < buckets*3/4 {
				t.Errorf("%d buckets, the largest %.1f × the mean", p.buckets(), most)
			} else {
				t.Logf("%d buckets, the largest %.1f × the mean", p.buckets(), most)
			}
		})
	}
}

func bucketOf(p *plan, s Sample) int {
	g, whole := p.find(s.Group)
	if g == nil {
		return whole
	}
	return g.bucket(s.Key)
}

// TestPlanIsExact compares with a binary search over the splitters and checks
// what is claimed about each bucket.
func TestPlanIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() Sample {
		k := make([]byte, r.IntN(14))
		for i := range k {
			k[i] = "\x00\x00ab\xff"[r.IntN(5)]
		}
		if r.IntN(3) > 0 {
			k = append([]byte("aaaaaaaaaaaa"), k...)
		}
		return Sample{uint32(r.IntN(4)), k}
	}
	for round := range 300 {
		var s []Sample
		for range r.IntN(200) {
			x := random()
			if round%2 == 0 {
				x.Group = 2
			}
			s = append(s, x)
		}
		p := newPlan([][]Sample{s}, 1+r.IntN(40))
		var split []Sample
		for _, g := range p.groups {
			for _, x := range g.split {
				split = append(split, Sample{g.group, x})
			}
		}
		if !slices.IsSortedFunc(split, compareSample) || len(split) != p.n {
			t.Fatalf("splitters %v", split)
		}
		for range 300 {
			x := random()
			x.Group += uint32(r.IntN(2))
			want := 0
			for want < len(split) && compareSample(split[want], x) <= 0 {
				want++
			}
			if got := bucketOf(p, x); got != want {
				t.Fatalf("bucket of %v is %d, want %d; splitters %v", x, got, want, split)
			}
			n, most := p.known(want)
			if x.Group > most {
				t.Fatalf("bucket %d holds group %d, at most %d was claimed", want, x.Group, most)
			}
			if n > 0 && !bytes.HasPrefix(x.Key, split[want].Key[:n]) {
				t.Fatalf("bucket %d holds key %q, prefix %q was claimed", want, x.Key, split[want].Key[:n])
			}
		}
	}
}

func BenchmarkBucket(b *testing.B) {
	for _, c := range []struct {
		name string
		key  func(r *rand.Rand) []byte
	}{
		{"digits", func(r *rand.Rand) []byte { return fmt.Appendf(nil, "account-%012d", r.IntN(2_000_000)) }},
		{"binary", func(r *rand.Rand) []byte { return binary.BigEndian.AppendUint64(nil, r.Uint64()) }},
		{"uuids", func(r *rand.Rand) []byte { return fmt.Appendf(nil, "%016x-%016x", r.Uint64(), r.Uint64()) }},
		{"outliers", func(r *rand.Rand) []byte {
			if r.IntN(20) == 0 {
				return []byte{byte(r.Uint32())}
			}
			return fmt.Appendf(nil, "account-%012d", r.IntN(2_000_000))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			keys := make([][]byte, 4096)
			var s []Sample
			for i := range keys {
				keys[i] = c.key(r)
				s = append(s, Sample{Key: keys[i]})
			}
			p := newPlan([][]Sample{s}, 128)
			sum, i := 0, 0
			for b.Loop() {
				sum += p.groups[0].bucket(keys[i%len(keys)])
				i++
			}
			if sum == 0 {
				b.Fatal("all in the first bucket")
			}
		})
	}
}
