package table

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestDigestIgnoresOrder(t *testing.T) {
	type r struct{ g, k, v string }
	var rows []r
	for i := range 500 {
		rows = append(rows, r{fmt.Sprint(i % 3), fmt.Sprint(i), fmt.Sprint(i * 7)})
	}
	sum := func(rows []r) (d Digest) {
		var half Digest
		for i, x := range rows {
			to := &d
			if i%2 == 0 {
				to = &half
			}
			to.Add(uint32(x.g[0]), []byte(x.k), []byte(x.v))
		}
		d.Merge(half)
		return d
	}
	want := sum(rows)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if got := sum(rows); got != want || got.Rows != 500 {
		t.Errorf("%v, want %v", got, want)
	}
	rows[7], rows[8] = r{rows[7].g, rows[7].k, rows[8].v}, r{rows[8].g, rows[8].k, rows[7].v}
	if got := sum(rows); got == want {
		t.Error("values changed places unnoticed")
	}
}

func TestDigestTellsRowsApart(t *testing.T) {
	seen := map[Digest]string{}
	add := func(name string, d Digest) {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
	var none Digest
	add("nothing", none)
	for _, g := range []uint32{0, 1, 256} {
		for _, k := range []string{"", "a", "ab", "b", "\x00", "\x00\x00"} {
			for _, v := range []string{"", "a", "b", "ba", "\x00"} {
				var one, two Digest
				one.Add(g, []byte(k), []byte(v))
				add(fmt.Sprintf("%d/%q=%q", g, k, v), one)
				two.Merge(one)
				two.Merge(one)
				add(fmt.Sprintf("twice %d/%q=%q", g, k, v), two)
			}
		}
	}
}

// Digests are written down and compared across versions: this one must never change.
func TestDigestIsStable(t *testing.T) {
	var d Digest
	d.AddBucket(&Bucket{Arena: []byte("keyvalue"), Rows: []Ref{{KeyLen: 3, ValOff: 3, ValLen: 5, Group: 2}, {ValOff: 8}}})
	const want = "2-abb168eaf13a176446410c14a93c3700"
	if d.String() != want {
		t.Errorf("digest %s, want %s", d, want)
	}
}

func BenchmarkDigest(b *testing.B) {
	key, value := make([]byte, 20), make([]byte, 100)
	var d Digest
	for b.Loop() {
		d.Add(0, key, value)
	}
}
