package restore

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

func TestMakespan(t *testing.T) {
	times := []float64{5, 4, 3, 3}
	for threads, want := range map[int]float64{0: 15, 1: 15, 2: 8, 3: 6, 4: 5, 9: 5} {
		if got := makespan(times, threads); got != want {
			t.Errorf("%d threads: %v, want %v", threads, got, want)
		}
	}
}

// unitOf is a replayed unit with the given records per second of its work.
func unitOf(elapsed time.Duration, c Counts, split op.Split) unitResult {
	u := &Unit{Request: request(kv("s")), Topic: "t", Parts: []PartRange{{To: c.Records}}, Task: &TaskPlan{Known: true}}
	return unitResult{unit: u, parts: map[int32]Counts{0: c}, counts: c, elapsed: elapsed, workers: 1, split: split}
}

func TestReport(t *testing.T) {
	p := &Plan{Options: Options{ApplicationID: app, Profile: Streams, ToOffset: -1, Threads: 1, SLA: 3 * time.Second,
		Project: []int{1, 2}, ProjectFor: []int64{2_000_000}}, cores: 1, Tasks: []*TaskPlan{{}, {}}}
	c := newCounts()
	c.Records, c.Bytes, c.Superseded, c.LiveKeys = 1000, 1_000_000, 900, 100
	r := p.newResult()
	for _, d := range []time.Duration{9 * time.Second, 2 * time.Second, 4 * time.Second} {
		r.addRun([]unitResult{unitOf(d/2, c, op.Split{op.Write: d / 4, op.Network: d / 8, op.Idle: d / 8}), unitOf(d/2, c, op.Split{op.Write: d / 2})}, d, 1)
	}
	p.finishResult(r)
	if r.Min != 2 || r.Median != 4 || r.Max != 9 || r.Elapsed != 4 || r.SLA == nil || r.SLA.Met || r.SLA.Took != r.Estimate.Seconds {
		t.Errorf("%+v, %+v", r, r.SLA)
	}
	// 3 s of decoding and writing take the application 1.4 times as long.
	if math.Abs(r.Estimate.Seconds-(4+3*(plainFactor-1))) > 1e-6 {
		t.Errorf("%+v", r.Estimate)
	}
	if r.Total.Records != 2000 || r.RecordsPerSec != 500 || r.MBPerSec != 0.5 || len(r.Partitions) != 2 {
		t.Errorf("%+v", r)
	}
	sum := 0.0
	for _, w := range r.Where {
		sum += w.Share
	}
	if math.Abs(sum-1) > 1e-9 || !strings.Contains(r.Bottleneck, "writing to RocksDB takes 75 %") {
		t.Errorf("%v, %s", r.Where, r.Bottleneck)
	}
	advice := strings.Join(r.Advice, "\n")
	for _, want := range []string{"90 % of records are superseded", "10.0× faster", "--into", "2 tasks were restored by 1"} {
		if !strings.Contains(advice, want) {
			t.Errorf("%q is not in %s", want, advice)
		}
	}
	var secs []float64
	for _, x := range r.Projections {
		secs = append(secs, x.Seconds)
	}
	first, second := 2+1*(plainFactor-1), 2+2*(plainFactor-1)
	want := []float64{first + second, first + second, second, second}
	if !slices.EqualFunc(secs, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) || !strings.Contains(r.Projections[2].Basis, "1 cores") {
		t.Errorf("%+v", r.Projections)
	}
	p.Options.SLA, p.Options.Profile = 4*time.Second, Bulk
	if p.finishResult(r); !r.SLA.Met || r.SLA.Took != 4 {
		t.Error("4 s are not more than 4 s")
	}
}

func TestReportOfNothing(t *testing.T) {
	p := &Plan{Options: Options{ToOffset: -1, Project: []int{1}}}
	r := p.newResult()
	p.finishResult(r)
	if r.Bottleneck != "nothing to replay" || len(r.Projections) != 0 || r.Partitions == nil || r.Skipped == nil || r.Runs == nil || r.Where == nil {
		t.Fatalf("%+v", r)
	}
}

// The free space is compared before the work; what brokers do not tell is
// unmeasured, not zero.
func TestCheckSpace(t *testing.T) {
	u := &Unit{Request: request(kv("s")), Parts: []PartRange{{End: 100, To: 50, From: 0, Bytes: 1 << 50}}}
	p := &Plan{Options: Options{ToOffset: -1, Scratch: t.TempDir() + "/not/yet"}, Tasks: []*TaskPlan{{Units: []*Unit{u}}}}
	r := p.newResult()
	optest.WantKind(t, p.checkSpace(r), op.Precondition, p.Options.Scratch, "MB free", "--scratch")
	u.Done = true
	if err := p.checkSpace(r); err != nil {
		t.Errorf("nothing to do takes space: %v", err)
	}
	u.Done, u.Parts[0].Bytes = false, -1
	r = p.newResult()
	if err := p.checkSpace(r); err != nil || r.Space.Expected.Value != nil || r.Space.Expected.Reason == "" || r.Space.Free <= 0 {
		t.Errorf("%v, %+v", err, r.Space)
	}
	u.Parts[0].Bytes = 1 << 20
	if err := p.checkSpace(r); err != nil || r.Space.Expected.Value == nil || *r.Space.Expected.Value < 1<<20 {
		t.Errorf("%v, %+v", err, r.Space)
	}
}

func TestOptionsValidate(t *testing.T) {
	good := options("/x", kv("s"))
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]func(*Options){
		"no application":          func(o *Options) { o.ApplicationID = "" },
		"no store":                func(o *Options) { o.Stores = nil },
		"nothing to do":           func(o *Options) { o.Into = "" },
		"profile":                 func(o *Options) { o.Profile = "fast" },
		"guarantee":               func(o *Options) { o.Guarantee = "maybe" },
		"isolation":               func(o *Options) { o.Isolation = "none" },
		"repeat into":             func(o *Options) { o.Repeat = 2 },
		"resume what":             func(o *Options) { o.Into, o.Measure, o.FromCheckpoint = "", true, true },
		"resume a part":           func(o *Options) { o.FromCheckpoint, o.ToOffset = true, 5 },
		"resume a part by time":   func(o *Options) { o.FromCheckpoint, o.ToTime = true, time.Now() },
		"store twice":             func(o *Options) { o.Stores = append(o.Stores, o.Stores[0]) },
		"store without name":      func(o *Options) { o.Stores[0].Name = "" },
		"store named like a file": func(o *Options) { o.Stores[0].Name = streams.CheckpointFile },
	} {
		o := good
		o.Stores = slices.Clone(good.Stores)
		set(&o)
		if err := o.Validate(); err == nil || op.KindOf(err) != op.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, x := range []struct {
		guarantee Guarantee
		isolation string
		committed bool
	}{{ExactlyOnce, "", true}, {AtLeastOnce, "", false}, {"", "", false}, {ExactlyOnce, "read_uncommitted", false}, {"", "read_committed", true}} {
		o := Options{Guarantee: x.guarantee, Isolation: x.isolation}
		if c, why := o.readCommitted(); c != x.committed || why == "" {
			t.Errorf("%+v: %t, %s", x, c, why)
		}
	}
}

// A journal leads nowhere else, whatever is in it.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"task":"0_0","task_dir":"app/0_0","moves":[{"from":"../x","to":"y","files":""}]}`))
	f.Add([]byte(`{"task":"0_0","task_dir":"app/0_0","forget":[{"Topic":"t","Partition":0}],"moves":[{"from":"a","to":"b","files":"z"}],"stores":{"s":{}}}`))
	f.Add([]byte(`{"task_dir":"/etc"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		put(t, outer+"/x/file", "outside")
		dir := outer + "/state"
		put(t, journalFile(dir, app), string(data))
		recoverTarget(dir, app)
		if got := tree(t, outer+"/x"); len(got) != 1 || !exists(outer+"/x/file") {
			t.Fatal("something outside was moved")
		}
	})
}
