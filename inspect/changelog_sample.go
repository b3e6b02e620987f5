package inspect

import (
	"math"

	"sstool/internal/table"
)

const (
	samplePlaces = 16      // per partition, evenly spread
	sampleFetch  = 1 << 20 // bytes read at each
	sampleLast   = 200     // offsets before the end where the last one begins
)

// ranges are what is read of a partition: all of it, or a few places when a
// sample will do and the log is much larger.
func (r *changelogRun) ranges(part partitionRange) (ranges []offsetRange, sampled bool) {
	from, to := part.ends.Start, part.ends.LastStable
	whole := []offsetRange{{from: from, to: to}}
	n := to - from
	if !r.o.Sample || n < 2*sampleLast || part.disk >= 0 && part.disk <= 2*samplePlaces*sampleFetch {
		return whole, false
	}
	// The last place is near the end, for what is newest there.
	at := func(i int64) int64 { return from + (n-sampleLast)/(samplePlaces-1)*i }
	for i := range int64(samplePlaces) {
		end := at(i + 1)
		if i == samplePlaces-1 {
			end = to
		}
		ranges = append(ranges, offsetRange{from: at(i), to: end, sample: true})
	}
	return ranges, true
}

// extrapolate scales the counts of a sample to all offsets of the partition,
// what was counted in records by the offsets that were read, what was counted
// in batches by the offsets that these span. How many keys there are is Chao's
// estimate: of the keys seen once and twice, f1(f1-1)/2(f2+1) were not seen.
// What depends on the order or on the end cannot be had from a sample.
func (p *partitionScan) extrapolate(all, spanned int64, s table.KeyStats) {
	p.Estimate = true
	scale := func(seen int64, counts ...*int64) {
		for _, n := range counts {
			if seen > 0 {
				*n = int64(math.Round(float64(*n) * float64(all) / float64(seen)))
			}
		}
	}
	c := &p.LogCounts
	scale(c.Offsets, &c.Records, &c.Bytes, &c.Tombstones, &c.TombstoneBytes, &c.TombstonesFresh, &c.TombstonesKept, &c.TombstonesDue,
		&c.EmptyValues, &c.NullKeys, &c.WithHeaders, &c.HeaderBytes, &c.OutOfOrder, &c.WithoutTimestamp)
	scale(spanned, &c.LogBytes, &c.UncompressedBytes, &c.Control, &c.Aborted, &c.Transactional)
	for i := range p.codecs {
		scale(spanned, &p.codecs[i].Batches, &p.codecs[i].Bytes)
	}
	c.Offsets = all
	c.OffsetGaps = max(0, all-c.Records-c.Control-c.Aborted)
	p.TailUnmeasured = "only a sample was read"
	if s.Superseded == 0 {
		p.KeysUnmeasured = "no key was seen twice in the sample: there are too many to estimate how many"
		return
	}
	unseen := float64(s.Once) * float64(s.Once-1) / (2 * float64(s.Twice+1))
	withKey := c.Records - c.NullKeys
	distinct := min(s.Keys+int64(max(0, unseen)), withKey)
	part := func(n int64) int64 { return int64(math.Round(float64(distinct) * float64(n) / float64(s.Keys))) }
	p.Keys = &KeyCounts{
		Distinct: distinct, Live: part(s.Live), LiveBytes: part(s.LiveBytes), LiveEmpty: part(s.LiveEmpty),
		Deleted: part(s.Deleted), DeletedBytes: part(s.DeletedBytes), Superseded: max(0, withKey-distinct),
	}
	p.Keys.SupersededBytes = max(0, c.Bytes-p.Keys.LiveBytes-p.Keys.DeletedBytes)
	p.Keys.share()
}
