package inspect

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
)

// TestKeyStrips: every entry is in one piece, in order of key, and the
// tombstones are those that are counted elsewhere.
func TestKeyStrips(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	for _, store := range []string{"rocksdb/plain-kv", "rocksdb/ts-kv", "session"} {
		sel := Selection{Path: filepath.Join(app, "0_0", store)}
		counted, err := InspectTombstones(context.Background(), TombstonesOptions{Select: sel}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 7, 72, 100_000} {
			strips, err := KeyStrips(context.Background(), sel, n)
			if err != nil {
				t.Fatal(err)
			}
			entries, tombstones := int64(0), int64(0)
			for _, s := range strips {
				if len(s.Pieces) > n || s.Sampled {
					t.Errorf("%s: %d pieces of %d, sampled %v", store, len(s.Pieces), n, s.Sampled)
				}
				sum, last := KeyStrip{}, ""
				for _, p := range s.Pieces {
					if p.First.Hex < last || p.Entries == 0 {
						t.Fatalf("%s: a piece of %d entries from %s, after %s", store, p.Entries, p.First.Hex, last)
					}
					last = p.First.Hex
					sum.Entries += p.Entries
					sum.Tombstones += p.Tombstones
				}
				if sum.Entries != s.Entries || sum.Tombstones != s.Tombstones {
					t.Errorf("%s: pieces have %d entries and %d tombstones of %d and %d", store, sum.Entries, sum.Tombstones, s.Entries, s.Tombstones)
				}
				entries += s.Entries
				tombstones += s.Tombstones
			}
			if got := counted.Total; entries != got.Entries || tombstones != got.Deletes || tombstones == 0 {
				t.Errorf("%s: %d entries, %d tombstones; counted %d and %d", store, entries, tombstones, got.Entries, got.Deletes)
			}
		}
	}
}

// TestKeyStripOfManyEntries: what is kept is bounded, and shows where the
// tombstones are all the same.
func TestKeyStripOfManyEntries(t *testing.T) {
	const entries = 10 * stripSample
	r := &stripReservoir{}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, i := range rng.Perm(entries) {
		e := &SSTEntry{Kind: lsm.KindPut, Key: binary.BigEndian.AppendUint32(nil, uint32(i)), Place: &Place{}}
		if i >= entries/2 {
			e.Kind = lsm.KindDelete
		}
		r.add(e, rng)
	}
	s := r.cut(10)
	if len(r.sample) != stripSample || !s.Sampled || s.Entries != entries || s.Tombstones != entries/2 {
		t.Fatalf("%d kept, %+v", len(r.sample), s)
	}
	for i, p := range s.Pieces {
		if share := float64(p.Tombstones) / float64(p.Entries); i < 4 && share > 0 || i > 5 && share < 1 {
			t.Errorf("piece %d: %d tombstones of %d", i, p.Tombstones, p.Entries)
		}
		key, err := hex.DecodeString(p.First.Hex)
		if err != nil {
			t.Fatal(err)
		}
		if first := binary.BigEndian.Uint32(key); int(first) < i*entries/10-entries/50 || int(first) > i*entries/10+entries/50 {
			t.Errorf("piece %d begins at %d", i, first)
		}
	}
}
