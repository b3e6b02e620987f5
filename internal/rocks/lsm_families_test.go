//go:build cgo

package rocks

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"sstool/internal/lsm"
)

// TestEachRow goes through random rows of three families as one, both ways,
// whole and in the parts that Split makes: of the same key the first family's.
func TestEachRow(t *testing.T) {
	families := []string{"newest", "newer", DefaultFamily}
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		dir := filepath.Join(t.TempDir(), "db")
		db, err := Create(dir, Options{Families: []string{DefaultFamily, "newer", "newest", "alien"}})
		must(t, err)
		rows := map[string]string{}
		b := db.Batch()
		for f, name := range []string{DefaultFamily, "newer", "newest"} { // the one that wins last
			if seed == 3 && f != 1 {
				continue // two are empty
			}
			for i := range 1 + rnd.IntN(6000) {
				key := fmt.Sprintf("key-%05d", rnd.IntN(20_000))
				value := fmt.Sprintf("%s %d %s", name, i, bytes.Repeat([]byte("v"), rnd.IntN(100)))
				b.Put(f, []byte(key), []byte(value))
				rows[key] = name + " " + value
				if i%1500 == 0 {
					must(t, db.Write(b))
					must(t, db.Flush())
				}
			}
		}
		must(t, db.Write(b))
		b.Close()
		must(t, db.Flush())
		if seed%2 == 0 {
			must(t, db.CompactRange())
		}
		must(t, db.Close())

		var want []string
		for key, row := range rows {
			want = append(want, key+" "+row)
		}
		slices.Sort(want)
		d, err := lsm.OpenDB(dir)
		must(t, err)
		having := d.Having(append(families, "absent"))
		if !slices.Equal(having, families) {
			t.Fatal(having)
		}
		read := func(rg lsm.Range, reverse bool) (out []string) {
			_, err := d.EachRow(having, rg, reverse, func(family string, key, value []byte) error {
				out = append(out, fmt.Sprintf("%s %s %s", key, family, value))
				return nil
			})
			must(t, err)
			return out
		}
		if got := read(lsm.Range{}, false); !slices.Equal(got, want) {
			t.Errorf("seed %d: %d rows, want %d", seed, len(got), len(want))
		}
		keys := d.Split(having, 8<<10)
		if len(keys) < 3 || !slices.IsSortedFunc(keys, bytes.Compare) {
			t.Errorf("seed %d: %d parts", seed, len(keys))
		}
		var got, back []string
		var rg lsm.Range
		for _, to := range append(keys, nil) {
			rg.To = to
			part := read(rg, false)
			if len(part) > len(want)/2 {
				t.Errorf("seed %d: a part has %d rows of %d", seed, len(part), len(want))
			}
			got = append(got, part...)
			again := read(rg, true)
			slices.Reverse(again)
			back = append(back, again...)
			rg.From = to
		}
		if !slices.Equal(got, want) || !slices.Equal(back, want) {
			t.Errorf("seed %d: parts have %d and %d rows, want %d", seed, len(got), len(back), len(want))
		}
	}
}
