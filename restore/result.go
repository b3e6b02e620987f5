package restore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Result is what a restore did and what it measured; it is the JSON document.
// Durations are seconds.
type Result struct {
	ApplicationID string   `json:"application_id"`
	ClusterID     string   `json:"cluster_id"`
	Profile       Profile  `json:"profile"`
	Guarantee     string   `json:"processing_guarantee"` // "" when not stated
	Isolation     string   `json:"isolation"`
	IsolationBy   string   `json:"isolation_from"`
	TargetKafka   string   `json:"target_kafka"` // "" when not stated
	Into          string   `json:"into"`         // "" for a measurement in a scratch directory
	ScratchCopy   bool     `json:"scratch_copy"` // the range ends before the changelog's end
	Threads       int      `json:"threads"`
	MemoryBudget  int64    `json:"memory_budget_bytes"`
	Assumptions   []string `json:"assumptions"`
	Warnings      []string `json:"warnings"`

	Snapshot   *SnapshotResult   `json:"snapshot,omitempty"` // with SnapshotOptions
	Partitions []PartitionResult `json:"partitions"`
	Skipped    []SkippedStore    `json:"skipped"`
	Total      Totals            `json:"total"`

	Elapsed       float64      `json:"elapsed_seconds"` // of the last run; Runs has all
	Runs          []float64    `json:"runs_seconds"`
	Min           float64      `json:"min_seconds"`
	Median        float64      `json:"median_seconds"`
	Max           float64      `json:"max_seconds"`
	RecordsPerSec float64      `json:"records_per_second"`
	MBPerSec      float64      `json:"mb_per_second"`
	Workers       int          `json:"workers"`
	Where         []SplitShare `json:"where_time_went"`
	Bottleneck    string       `json:"bottleneck"`
	Advice        []string     `json:"advice"`
	Projections   []Projection `json:"projections"`
	Estimate      *Estimate    `json:"application_estimate"` // of the streams profile
	SLA           *SLAResult   `json:"sla"`

	StoreBytes int64         `json:"store_bytes"`
	TempBytes  int64         `json:"temporary_bytes"` // spilled rows, the most at once of every unit, summed
	PeakMemory Measured      `json:"peak_memory_bytes"`
	Space      SpaceEstimate `json:"space"`

	split    op.Split
	parallel int // units at once
	units    []unitResult
}

// PartitionResult is one changelog partition.
type PartitionResult struct {
	Store      string       `json:"store"`
	Kind       streams.Kind `json:"kind"`
	Task       string       `json:"task"`
	Topic      string       `json:"topic"`
	Partition  int32        `json:"partition"`
	LogStart   int64        `json:"log_start"`
	LogEnd     int64        `json:"log_end"`
	LastStable int64        `json:"last_stable"`
	From       int64        `json:"from"`
	To         int64        `json:"to"`
	Started    string       `json:"started_at_because"` // "" when at the log start
	State      string       `json:"state"`              // restored, resumed, done before, left as it was, not restored
	// Unmeasured says why rows, live keys and superseded records are not known.
	Unmeasured string `json:"unmeasured,omitempty"`
	Counts
	Elapsed      float64      `json:"elapsed_seconds"`
	RecordsPer   float64      `json:"records_per_second"`
	MBPer        float64      `json:"mb_per_second"`
	FirstFetch   float64      `json:"first_fetch_seconds"`
	StoreBytes   int64        `json:"store_bytes"`
	WhereTheTime []SplitShare `json:"where_time_went"`
}

// Totals are the sums of all units that were replayed.
type Totals struct {
	Counts
	// Unmeasured says why rows, live keys and superseded records have no sum.
	Unmeasured string `json:"unmeasured,omitempty"`
}

const snapshotRows = "rows of a store from a snapshot are not counted"

// known is n, or null when it was not measured.
func known(n int64, ok bool) *int64 {
	if !ok {
		return nil
	}
	return &n
}

// MarshalJSON writes what was not measured as null.
func (t Totals) MarshalJSON() ([]byte, error) {
	type plain Totals
	ok := t.Unmeasured == ""
	return json.Marshal(struct {
		plain
		Rows       *int64 `json:"rows"`
		LiveKeys   *int64 `json:"live_keys"`
		Superseded *int64 `json:"superseded_records"`
	}{plain(t), known(t.Rows, ok), known(t.LiveKeys, ok), known(t.Superseded, ok)})
}

// MarshalJSON writes what was not measured as null.
func (p PartitionResult) MarshalJSON() ([]byte, error) {
	type plain PartitionResult
	ok := p.Unmeasured == ""
	return json.Marshal(struct {
		plain
		Rows        *int64 `json:"rows"`
		LiveKeys    *int64 `json:"live_keys"`
		Superseded  *int64 `json:"superseded_records"`
		LastApplied *int64 `json:"last_applied"`
		StreamTime  *int64 `json:"stream_time"`
	}{plain(p), known(p.Rows, ok), known(p.LiveKeys, ok), known(p.Superseded, ok), known(p.LastApplied, p.LastApplied >= 0), known(p.StreamTime, p.StreamTime >= 0)})
}

// SplitShare is one activity's part of the workers' time.
type SplitShare struct {
	Activity string  `json:"activity"`
	Seconds  float64 `json:"seconds"`
	Share    float64 `json:"share"`
}

// Measured is a number that may be missing; then Reason says why.
type Measured struct {
	Value  *int64 `json:"value"`
	Reason string `json:"unmeasured,omitempty"`
}

// Projection is what the measured rate means for other threads or sizes.
type Projection struct {
	Threads int     `json:"threads"`
	Bytes   int64   `json:"bytes"` // 0: the size measured
	Seconds float64 `json:"seconds"`
	Basis   string  `json:"basis"`
}

// SLAResult compares the time with the given limit.
type SLAResult struct {
	Limit float64 `json:"limit_seconds"`
	Took  float64 `json:"took_seconds"`
	Met   bool    `json:"met"`
}

// SpaceEstimate is the disk space expected before the run.
type SpaceEstimate struct {
	Dir      string   `json:"dir"`
	Free     int64    `json:"free_bytes"`
	Expected Measured `json:"expected_bytes"`
}

func (p *Plan) newResult() *Result {
	o := &p.Options
	iso := "read_uncommitted"
	if p.Committed {
		iso = "read_committed"
	}
	r := &Result{ApplicationID: o.ApplicationID, ClusterID: p.ClusterID, Profile: o.Profile, Guarantee: string(o.Guarantee),
		Isolation: iso, IsolationBy: p.IsolationBy, Into: o.Into, ScratchCopy: o.partial(), Threads: o.Threads, MemoryBudget: o.Memory,
		Assumptions: append([]string{}, p.Assumptions...), Warnings: append([]string{}, p.Warnings...),
		Partitions: []PartitionResult{}, Skipped: append([]SkippedStore{}, p.Skipped...), Runs: []float64{}, Where: []SplitShare{},
		Advice: []string{}, Projections: []Projection{}, Total: Totals{Counts: newCounts()}}
	if !o.Target.IsZero() {
		r.TargetKafka = o.Target.String()
	}
	return r
}

// addRun takes over one run; the figures of the last one stand, times of all.
func (r *Result) addRun(units []unitResult, elapsed time.Duration, parallel int) {
	r.parallel = parallel
	r.Runs = append(r.Runs, elapsed.Seconds())
	r.Elapsed = elapsed.Seconds()
	r.units = units
}

func (p *Plan) finishResult(r *Result) {
	r.Partitions, r.Total = r.Partitions[:0], Totals{Counts: newCounts()}
	r.split, r.StoreBytes, r.TempBytes, r.Workers = op.Split{}, 0, 0, 0
	for _, ur := range r.units {
		r.split.Add(ur.split)
		r.Total.add(ur.counts)
		if ur.unit.Origin.used() {
			r.Total.Unmeasured = snapshotRows
		}
		r.StoreBytes += ur.size
		r.Workers = max(r.Workers, ur.workers)
		r.TempBytes += ur.counts.TempPeak
		r.Partitions = append(r.Partitions, unitRows(ur)...)
	}
	ran := map[*Unit]bool{}
	for _, ur := range r.units {
		ran[ur.unit] = true
	}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if !ran[u] {
				r.Partitions = append(r.Partitions, unitRows(unitResult{unit: u})...)
			}
		}
	}
	// Threads that had no unit left were idle.
	r.Workers *= r.parallel
	if rest := time.Duration(float64(r.Workers)*r.Elapsed*float64(time.Second)) - r.split.Sum(); rest > 0 {
		r.split[op.Idle] += rest
	}
	sort.Slice(r.Partitions, func(i, j int) bool {
		a, b := &r.Partitions[i], &r.Partitions[j]
		if a.Store != b.Store {
			return a.Store < b.Store
		}
		return a.Partition < b.Partition
	})
	if len(r.Runs) > 0 {
		s := slices.Sorted(slices.Values(r.Runs))
		r.Min, r.Max, r.Median = s[0], s[len(s)-1], median(s)
	}
	if r.Elapsed > 0 {
		r.RecordsPerSec = float64(r.Total.Records) / r.Elapsed
		r.MBPerSec = float64(r.Total.Bytes) / 1e6 / r.Elapsed
	}
	p.snapshotResult(r)
	r.Where = shares(r.split)
	r.PeakMemory = peakMemory()
	p.estimate(r)
	p.explain(r)
	p.project(r)
	if lim := p.Options.SLA; lim > 0 {
		took := r.Median
		if r.Estimate != nil {
			took = r.Estimate.Seconds // the question is about the application
		}
		if r.Snapshot != nil {
			took += r.Snapshot.PullSeconds
		}
		r.SLA = &SLAResult{Limit: lim.Seconds(), Took: took, Met: took <= lim.Seconds()}
	}
}

func unitRows(ur unitResult) []PartitionResult {
	u := ur.unit
	var out []PartitionResult
	for _, x := range u.Parts {
		c, ok := ur.parts[x.Partition]
		state := "restored"
		switch {
		case u.Kept:
			state, c = "left as it was", newCounts()
		case u.Done:
			state, c = "done before", newCounts()
			x.To = x.Held
		case !ok:
			state, c = "not restored", newCounts()
		case u.Resume != "":
			state = "resumed"
		}
		pr := PartitionResult{Store: u.Request.Name, Kind: u.Request.Kind, Task: u.Task.Name(), Topic: u.Topic, Partition: x.Partition,
			LogStart: x.LogStart, LogEnd: x.End, LastStable: x.LastStable, From: x.From, To: x.To, Started: x.Started, State: state,
			Counts: c, Elapsed: ur.elapsed.Seconds(), FirstFetch: c.FirstFetch.Seconds(), StoreBytes: ur.size, WhereTheTime: shares(ur.split)}
		switch {
		case state != "restored" && state != "resumed":
			pr.Unmeasured = "not replayed by this run"
		case !u.Request.Kind.OnDisk():
			pr.Unmeasured = "the store keeps nothing on disk"
		case u.Origin.used():
			pr.Unmeasured = snapshotRows
		case len(u.Parts) > 1:
			pr.Unmeasured = "rows of one partition of a global store are not told apart"
		}
		if s := ur.elapsed.Seconds(); s > 0 {
			pr.RecordsPer, pr.MBPer = float64(c.Records)/s, float64(c.Bytes)/1e6/s
		}
		out = append(out, pr)
	}
	return out
}

func shares(s op.Split) []SplitShare {
	out := []SplitShare{}
	sum := s.Sum().Seconds()
	for a, d := range s {
		if d == 0 {
			continue
		}
		x := SplitShare{Activity: op.Activity(a).String(), Seconds: d.Seconds()}
		if sum > 0 {
			x.Share = d.Seconds() / sum
		}
		out = append(out, x)
	}
	return out
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// peakMemory is the process's largest resident set so far.
func peakMemory() Measured {
	data, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				f := strings.Fields(rest)
				if len(f) == 2 {
					if kb, err := strconv.ParseInt(f[0], 10, 64); err == nil {
						n := kb << 10
						return Measured{Value: &n}
					}
				}
			}
		}
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return Measured{Reason: err.Error()}
	}
	n := int64(ru.Maxrss) << 10
	return Measured{Value: &n}
}

// checkSpace compares the free space with what the replay may need: the store
// and, for bulk, the spilled rows.
func (p *Plan) checkSpace(r *Result) error {
	dir := p.Options.Into
	if dir == "" {
		if dir = p.Options.Scratch; dir == "" {
			dir = os.TempDir()
		}
	}
	at := dir
	for !files.Exists(at) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	r.Space.Dir = dir
	var st syscall.Statfs_t
	if err := syscall.Statfs(at, &st); err != nil {
		r.Space.Expected.Reason = err.Error()
		return nil
	}
	r.Space.Free = int64(st.Bavail) * int64(st.Bsize)
	_, bytes, ok := p.totals()
	if !ok {
		r.Space.Expected.Reason = "the brokers do not tell the size of the changelog (DESCRIBE on Cluster)"
		return nil
	}
	// A compressed changelog unpacks; universal compaction needs the space of a
	// full rewrite at times, bulk spills what it reads.
	need := bytes + 16<<20 + p.copies(at) + p.pullBytes()
	if p.Options.Profile == Streams {
		need += bytes
	} else {
		need += max(0, bytes-p.Options.Memory/2)
	}
	r.Space.Expected.Value = &need
	if p.share != nil {
		return nil // of which it may get any part
	}
	if need > r.Space.Free {
		return op.Errorf(op.Precondition, "%s has %d MB free, this replay may need %d MB", dir, r.Space.Free>>20, need>>20).
			WithTry("%sfewer partitions with --partitions", map[bool]string{true: "--scratch DIR on a larger file system, or "}[p.Options.Into == ""])
	}
	return nil
}
