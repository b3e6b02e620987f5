package restore

import (
	"fmt"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Estimate is what a measured streams replay means for the application itself.
type Estimate struct {
	Seconds float64 `json:"seconds"`
	Basis   string  `json:"basis"`
}

// A Kafka Streams application does what the streams profile does and, for every
// record, what only a JVM has to do: consumer records and converters are
// allocated and collected, keys and values cross into RocksDB one by one. These
// factors are the application's time over the profile's for decoding and
// writing, as `make bench` measures them side by side on one machine (column
// "predicted vs Kafka Streams", which is near 1 with them).
const (
	plainFactor     = 1.4
	segmentedFactor = 1.6
)

func applicationFactor(k streams.Kind) float64 {
	if k.Segmented() {
		return segmentedFactor
	}
	return plainFactor
}

// extra is how much longer than this replay the application takes for a unit.
func (ur *unitResult) extra() time.Duration {
	busy := ur.split[op.Decode] + ur.split[op.Write]
	return time.Duration((applicationFactor(ur.unit.Request.Kind) - 1) * float64(busy))
}

// estimate tells the application's own time from that of a streams replay;
// nothing can be told from a bulk one.
func (p *Plan) estimate(r *Result) {
	r.Estimate = nil
	if p.Options.Profile != Streams || len(r.units) == 0 || len(r.Runs) == 0 {
		return
	}
	var extra time.Duration
	for i := range r.units {
		extra += r.units[i].extra()
	}
	// The last run tells the shape, the median of all the time.
	scale := 1 + extra.Seconds()/float64(r.parallel)/max(r.Elapsed, 1e-9)
	r.Estimate = &Estimate{Seconds: r.Median * scale,
		Basis: fmt.Sprintf("measured × %.2f: a JVM takes %.1f (key-value) to %.1f (windowed) times as long to decode and write a record", scale, plainFactor, segmentedFactor)}
}
