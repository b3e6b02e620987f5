package migrate

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The oldest rows of any number are those that sorting gives, in the order in
// which they came.
func TestTTLOldest(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		const unknown = int64(1_000_000_000_000)
		s, err := newTTLSpool(dir, 0, unknown)
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			n    int
			rank int64
		}
		var rows []row
		spread := []int64{1, 10, 1000, 1 << 39}[rnd.IntN(4)]
		var b []byte
		for i := range 1 + rnd.IntN(3000) {
			r := row{i, rnd.Int64N(spread)}
			class := timeKnown
			if rnd.IntN(20) == 0 {
				r.rank, class = unknown, []timeClass{timeMissing, timeFuture, timeNegative}[rnd.IntN(3)]
			}
			rows = append(rows, r)
			at := &ttlRow{key: binary.BigEndian.AppendUint32(nil, uint32(i))}
			b = appendVictim(b, at, at, r.rank, class, nil)
			if rnd.IntN(100) == 0 {
				if err := s.write(b); err != nil {
					t.Fatal(err)
				}
				b = b[:0]
			}
		}
		if err := s.write(b); err != nil {
			t.Fatal(err)
		}
		n := rnd.IntN(len(rows)+len(rows)/10+1) + 1
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b row) int { return cmp.Compare(a.rank, b.rank) })
		want = want[:min(n, len(want))]
		slices.SortFunc(want, func(a, b row) int { return cmp.Compare(a.n, b.n) })
		var got []row
		err = s.oldest(int64(n), func(v *ttlVictim) error {
			got = append(got, row{int(binary.BigEndian.Uint32(v.key)), s.rank(v)})
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d: %d of %d rows, want %d: %v", seed, len(got), len(rows), len(want), err)
		}
		s.remove()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
