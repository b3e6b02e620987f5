package inspect

import (
	"bytes"
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
)

// KeyStrip is how tombstones lie along the keys of one column family: its
// entries in order of key, cut into pieces of equally many.
type KeyStrip struct {
	Family     string        `json:"column_family"`
	Entries    int64         `json:"entries"`
	Tombstones int64         `json:"tombstones"`
	Sampled    bool          `json:"sampled"` // the pieces are of a random part of the entries
	Pieces     []StripPiece  `json:"pieces"`
	Problems   []FileProblem `json:"problems"`
}

// StripPiece is a part of the key range.
type StripPiece struct {
	First      Key   `json:"first_key"`
	Entries    int64 `json:"entries"` // of the sample
	Tombstones int64 `json:"tombstones"`
}

// stripSample is how many entries are kept of each column family.
const stripSample = 1 << 15

// KeyStrips reads all entries of the selection once and cuts each column
// family, over all its databases, into at most n pieces. Memory is bounded.
func KeyStrips(ctx context.Context, sel Selection, n int) ([]KeyStrip, error) {
	var all []*stripReservoir
	rng := rand.New(rand.NewPCG(1, 2)) // the same picture for the same files
	scan, err := ScanSST(ctx, SSTScanOptions{Select: []Selection{sel}, KeepGoing: true}, func(e *SSTEntry) error {
		if isOffsets(e.Family) {
			return nil
		}
		i := slices.IndexFunc(all, func(r *stripReservoir) bool { return r.Family == e.Family })
		if i < 0 {
			i = len(all)
			all = append(all, &stripReservoir{KeyStrip: KeyStrip{Family: e.Family}})
		}
		all[i].add(e, rng)
		if all[i].Entries%4096 == 0 {
			return ctx.Err()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []KeyStrip
	for _, r := range all {
		r.Problems = scan.Problems
		out = append(out, r.cut(n))
	}
	return out, ctx.Err()
}

type stripEntry struct {
	key  []byte
	text string
	tomb bool
}

// stripReservoir is a uniform sample of a family's entries.
type stripReservoir struct {
	KeyStrip
	sample []stripEntry
}

func (r *stripReservoir) add(e *SSTEntry, rng *rand.Rand) {
	r.Entries++
	tomb := e.Kind.IsDelete()
	if tomb {
		r.Tombstones++
	}
	at := len(r.sample)
	if at < stripSample {
		r.sample = append(r.sample, stripEntry{})
	} else if at = int(rng.Int64N(r.Entries)); at >= stripSample {
		return
	}
	x := &r.sample[at]
	x.key, x.text, x.tomb = append(x.key[:0], e.Key...), "", tomb
	if at%64 == 0 || r.Entries <= 512 {
		x.text = e.KeyText()
	}
}

// cut sorts the sample and sums it up piece by piece.
func (r *stripReservoir) cut(n int) KeyStrip {
	slices.SortStableFunc(r.sample, func(a, b stripEntry) int { return bytes.Compare(a.key, b.key) })
	out := r.KeyStrip
	out.Sampled = r.Entries > int64(len(r.sample))
	n = max(1, min(n, len(r.sample)))
	for i := range n {
		part := r.sample[i*len(r.sample)/n : (i+1)*len(r.sample)/n]
		if len(part) == 0 {
			continue
		}
		p := StripPiece{First: Key{Text: part[0].text}, Entries: int64(len(part))}
		for _, e := range part {
			if e.tomb {
				p.Tombstones++
			}
		}
		if p.First.Text == "" {
			p.First.Text = rawText(part[0].key)
		}
		p.First.Hex = hex.EncodeToString(part[0].key)
		out.Pieces = append(out.Pieces, p)
	}
	return out
}
