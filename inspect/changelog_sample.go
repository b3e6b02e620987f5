package inspect

import (
	"math"

	"sstool/internal/table"
)

const (
	samplePlaces = 16      // per partition, evenly spread
	sampleFetch  = 1 << 20 // bytes read at each
)

// ranges are what is read of a partition: all of it, or a few places when a
// sample will do and the log is much larger.
func (r *changelogRun) ranges(part partitionRange) (ranges []offsetRange, sampled bool) {
	from, to := part.ends.Start, part.ends.LastStable
	whole := []offsetRange{{from: from, to: to}}
	n := to - from
	if !r.o.Sample || n < samplePlaces*2 || part.disk >= 0 && part.disk <= 2*samplePlaces*sampleFetch {
		return whole, false
	}
	for i := range int64(samplePlaces) {
		at := from + n/samplePlaces*i
		end := from + n/samplePlaces*(i+1)
		if i == samplePlaces-1 {
			end = to
		}
		ranges = append(ranges, offsetRange{from: at, to: end, sample: true})
	}
	return ranges, true
}

// extrapolate scales the counts of a sample to the whole partition and
// estimates how many keys there are: Chao's estimator takes the keys that were
// seen once and twice, f1²/2f2, for how many were not seen at all. What
// depends on an order or on an end cannot be had from a sample.
func (p *partitionScan) extrapolate(part partitionRange, s table.KeyStats) {
	all, seen := part.offsets(), p.Offsets
	if seen >= all {
		// Every place reached the next: the partition was read whole.
		seen = all
	}
	p.Estimate = true
	scale := func(n *int64) {
		if seen > 0 {
			*n = int64(math.Round(float64(*n) * float64(all) / float64(seen)))
		}
	}
	c := &p.LogCounts
	for _, n := range []*int64{
		&c.Records, &c.Bytes, &c.LogBytes, &c.Tombstones, &c.TombstoneBytes, &c.TombstonesFresh, &c.TombstonesKept, &c.TombstonesDue,
		&c.EmptyValues, &c.NullKeys, &c.Control, &c.Aborted, &c.Transactional, &c.OffsetGaps, &c.WithHeaders, &c.HeaderBytes,
		&c.OutOfOrder, &c.WithoutTimestamp, &c.UncompressedBytes,
	} {
		scale(n)
	}
	for i := range p.codecs {
		scale(&p.codecs[i].Batches)
		scale(&p.codecs[i].Bytes)
	}
	c.Offsets = all
	if p.DiskBytes != nil {
		c.LogBytes = *p.DiskBytes
	}
	p.TailUnmeasured = "only a sample was read"
	if s.Twice == 0 {
		p.KeysUnmeasured = "no key was seen exactly twice in the sample: too few repeat to estimate from"
		return
	}
	withKey := c.Records - c.NullKeys
	distinct := s.Keys + int64(float64(s.Once)*float64(s.Once)/(2*float64(s.Twice)))
	distinct = min(distinct, withKey)
	part1 := func(n int64) int64 { return int64(math.Round(float64(distinct) * float64(n) / float64(s.Keys))) }
	p.Keys = &KeyCounts{
		Distinct: distinct, Live: part1(s.Live), LiveBytes: part1(s.LiveBytes), LiveEmpty: part1(s.LiveEmpty),
		Deleted: part1(s.Deleted), DeletedBytes: part1(s.DeletedBytes), Superseded: max(0, withKey-distinct),
	}
	p.Keys.SupersededBytes = max(0, c.Bytes-p.Keys.LiveBytes-p.Keys.DeletedBytes)
	p.Keys.share()
}
