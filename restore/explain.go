package restore

import (
	"fmt"
	"slices"
	"sort"

	"sstool/internal/op"
)

// explain names the bottleneck and what would help.
func (p *Plan) explain(r *Result) {
	best, share := op.Idle, 0.0
	sum := r.split.Sum().Seconds()
	for a, d := range r.split {
		if op.Activity(a) != op.Idle && d.Seconds() > 0 && d.Seconds()/sum > share {
			best, share = op.Activity(a), d.Seconds()/sum
		}
	}
	if sum == 0 || r.Total.Records == 0 {
		r.Bottleneck = "nothing to replay"
		return
	}
	why := map[op.Activity]string{
		op.Network: "waiting for the broker", op.Decode: "decoding records", op.Sort: "sorting rows", op.Write: "writing to RocksDB",
		op.Stall: "RocksDB write stalls", op.Flush: "flush and compaction", op.Verify: "verification",
	}[best]
	r.Bottleneck = fmt.Sprintf("%s takes %.0f %% of the workers' time", why, share*100)
	switch best {
	case op.Network:
		if r.Profile == Streams {
			r.Advice = append(r.Advice, "larger fetches: restore.consumer.max.partition.fetch.bytes and fetch.max.bytes"+map[bool]string{true: ", or more restore threads to fetch in parallel"}[len(r.units) > 1])
		} else {
			r.Advice = append(r.Advice, "a broker nearer to this host"+map[bool]string{true: "; more threads fetch in parallel"}[len(r.units) > 1])
		}
	case op.Write, op.Stall, op.Flush:
		if r.Profile == Streams {
			r.Advice = append(r.Advice, "`sstool restore --into` (bulk profile) builds the same rows without memtables and compaction before the application starts")
		}
	case op.Decode:
		if len(r.units) == 1 {
			break
		}
		r.Advice = append(r.Advice, "more threads: partitions are decoded in parallel")
	}
	if n := len(p.Tasks); r.Profile == Streams && r.Threads < n {
		r.Advice = append(r.Advice, fmt.Sprintf("more threads: %d tasks were restored by %d (num.stream.threads)", n, r.Threads))
	}
	if rec, old := r.Total.Records, r.Total.Superseded; old*2 > rec && old < rec {
		r.Advice = append(r.Advice, fmt.Sprintf("%.0f %% of records are superseded: a compacted changelog would restore %.1f× faster (min.cleanable.dirty.ratio, segment.ms of the changelog)",
			100*float64(old)/float64(rec), float64(rec)/float64(rec-old)))
	}
	if rec := r.Total.Records; r.Total.Expired*2 > rec {
		r.Advice = append(r.Advice, fmt.Sprintf("%.0f %% of records had expired: a shorter retention.ms of the changelog, or Kafka Streams 4.4, which starts later (KAFKA-13499)", 100*float64(r.Total.Expired)/float64(rec)))
	}
}

// project spreads the measured unit times over other thread counts, longest
// first, and scales by size.
func (p *Plan) project(r *Result) {
	if len(r.units) == 0 || r.Total.Records == 0 || r.Snapshot != nil {
		return // a tail says nothing about other sizes
	}
	var times []float64
	var bytes int64
	for _, ur := range r.units {
		t := ur.elapsed
		if p.Options.Profile == Streams {
			t += ur.extra()
		}
		times = append(times, t.Seconds())
	}
	bytes = r.Total.Bytes
	sort.Sort(sort.Reverse(sort.Float64Slice(times)))
	for _, n := range p.Options.Project {
		s := makespan(times, n)
		basis := "measured unit times, longest first"
		if r.Estimate != nil {
			basis = "estimated unit times of the application, longest first"
		}
		if n > p.cores {
			basis += fmt.Sprintf("; this host has %d cores", p.cores)
		}
		r.Projections = append(r.Projections, Projection{Threads: n, Seconds: s, Basis: basis})
		for _, size := range p.Options.ProjectFor {
			r.Projections = append(r.Projections, Projection{Threads: n, Bytes: size, Seconds: s * float64(size) / float64(max(bytes, 1)), Basis: basis + "; time grows with size"})
		}
	}
}

func makespan(times []float64, threads int) float64 {
	load := make([]float64, max(1, threads))
	for _, t := range times {
		i := 0
		for k := range load {
			if load[k] < load[i] {
				i = k
			}
		}
		load[i] += t
	}
	return slices.Max(load)
}
