package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

func durationNS(ns int64) time.Duration { return time.Duration(ns) }

// run is one execution of a plan.
type run struct {
	plan     *Plan
	opts     *Options
	sink     op.Sink
	throttle op.Throttle
	started  time.Time
	total    atomic.Int64 // offsets to replay
	done     atomic.Int64
	bytes    atomic.Int64
	live     live
	full     sync.Mutex // held by a unit that is to be restored in full after all
	parallel int        // units at once
	workers  int        // goroutines of one unit
}

// unitResult is what one unit's replay gave.
type unitResult struct {
	unit     *Unit
	parts    map[int32]Counts
	counts   Counts
	split    op.Split
	workers  int
	elapsed  time.Duration
	size     int64 // bytes on disk
	restarts int
	bulk     bool // the way it was replayed
	err      error
}

func (r *run) consumerInt(name string, def int) int {
	s, ok := r.opts.Consumer["restore.consumer."+name]
	if !ok {
		s, ok = r.opts.Consumer[name]
	}
	if ok {
		if n, err := strconv.Atoi(s); err == nil && n > 0 {
			return n
		}
	}
	return def
}

// readOptions are the reader's settings: the restore consumer's own under the
// streams profile, large fetches under bulk.
func (r *run) readOptions(u *Unit, part PartRange, w *op.Stopwatch) kafka.ReadOptions {
	name := fmt.Sprintf("%s-%d", u.Topic, part.Partition)
	o := kafka.ReadOptions{
		Topic: u.Topic, Partition: part.Partition, From: part.From, To: part.To,
		ReadCommitted: r.plan.Committed, StallTimeout: r.opts.StallTimeout, Watch: w, Prefetch: 1,
		OnEvent: func(e kafka.ReadEvent) { r.sink.Warn(name, e.Text()) },
	}
	if r.opts.Profile == Streams {
		o.MaxBytes = int32(min(r.consumerInt("max.partition.fetch.bytes", DefaultPartitionMax), r.consumerInt("fetch.max.bytes", DefaultFetchMax)))
		return o
	}
	o.MaxBytes, o.Prefetch = int32(r.fetchSize()), 2 // a worker never waits for the other's block
	return o
}

// buffers is how many fetched blocks exist at once: of every unit one on its
// way, two waiting, and one with each worker.
func (r *run) buffers() int64 { return int64(r.parallel * (3 + r.workers)) }

// fetchSize is the bulk profile's fetch: as large as an eighth of the budget
// allows for all buffers together.
func (r *run) fetchSize() int {
	return int(min(max(r.opts.Memory/8/r.buffers(), 1<<20), 16<<20))
}

// leastTable is what a table cannot do without, whatever the budget.
func (r *run) leastTable() int64 { return int64(r.workers) << 20 }

// tableMemory is what one unit's table may hold of the budget: the rest is for
// fetch buffers, the runtime and RocksDB. A batch that is larger than a fetch
// is read whole, and its rows are large as well: largest is the most that a
// sampled fetch returned.
func (r *run) tableMemory(largest int64) int64 {
	buffer := max(int64(r.fetchSize()), largest+largest/2)
	rest := r.opts.Memory - r.buffers()*buffer - 72<<20
	return max(max(rest, r.opts.Memory/4)/int64(r.parallel), r.leastTable())
}

func (r *run) open(ctx context.Context, u *Unit, part PartRange, w *op.Stopwatch) (*kafka.PartitionReader, error) {
	return r.plan.client.OpenPartition(ctx, r.readOptions(u, part, w))
}

// checkTransactions refuses to hand over a store built from a changelog with
// transactional batches while the guarantee is not known: under exactly-once
// aborted records must not be in it.
func (r *run) checkTransactions(u *Unit, s kafka.BlockStats) error {
	if s.TransactionalBatches == 0 || r.opts.Into == "" || r.opts.Guarantee != "" || r.opts.Isolation != "" {
		return nil
	}
	return op.Errorf(op.Precondition, "changelog %s has transactional batches and the processing guarantee is not stated", u.Topic).
		WithTry("--processing-guarantee exactly_once_v2 (or at_least_once), or processing-guarantee in the spec")
}

// progress counts what a worker of u, whose watch is w, has read.
func (r *run) progress(u *Unit, w *op.Stopwatch, offsets, bytes int64) {
	if r.sink != nil {
		r.live.add(u, w, offsets)
	}
	total := r.total.Load()
	done := min(r.done.Add(offsets), total) // a partition may be read twice
	b := r.bytes.Add(bytes)
	now := time.Now()
	if r.sink == nil || !r.throttle.Ready(now) {
		return
	}
	e := op.Event{Type: op.Progress, Name: u.Topic, Done: done, Total: total, Unit: "records", Bytes: b}
	if s := now.Sub(r.started).Seconds(); s > 0 {
		e.Rate = float64(done) / s
		if e.Rate > 0 {
			e.ETA = time.Duration(float64(total-done) / e.Rate * float64(time.Second))
		}
	}
	r.live.tell(&e)
	r.sink.Emit(e)
}

// Run carries the plan out. With Into it leaves finished tasks in place; in a
// scratch directory it leaves nothing.
func (p *Plan) Run(ctx context.Context, sink op.Sink) (*Result, error) {
	res := p.newResult()
	if err := p.checkSpace(res); err != nil {
		return nil, err
	}
	if len(p.Tasks) == 0 {
		// Every store is one that keeps nothing on disk.
	} else if p.Options.Into != "" {
		if err := p.runInto(ctx, sink, res); err != nil {
			return res, err
		}
	} else {
		for i := range p.Options.Repeat {
			if err := p.runScratch(ctx, sink, res, i); err != nil {
				return res, err
			}
		}
	}
	p.finishResult(res)
	sink.Emit(op.Event{Type: op.Summary, Message: res.Bottleneck})
	return res, nil
}

func (p *Plan) newRun(sink op.Sink) *run {
	r := &run{plan: p, opts: &p.Options, sink: sink, started: time.Now()}
	units := 0
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Done {
				continue
			}
			units++
			for _, x := range u.Parts {
				r.total.Add(x.Records())
			}
		}
	}
	r.parallel = max(1, min(p.Options.Threads, units))
	r.workers = max(1, p.Options.Threads/r.parallel) // what the parallel units leave of the threads
	return r
}

// scratchPrefix begins the names of scratch directories; the process id follows.
const scratchPrefix = "sstool-measure-"

// removeStale removes scratch directories of runs that were killed.
func removeStale(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, scratchPrefix+"*-*"))
	for _, d := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d), scratchPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			os.RemoveAll(d)
		}
	}
}

// runScratch replays everything once in a directory that is removed again.
func (p *Plan) runScratch(ctx context.Context, sink op.Sink, res *Result, n int) error {
	base := p.Options.Scratch
	if base == "" {
		base = os.TempDir()
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	removeStale(base)
	dir, err := os.MkdirTemp(base, fmt.Sprintf("%s%d-", scratchPrefix, os.Getpid()))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := "replay"
	if p.Options.Repeat > 1 {
		name = fmt.Sprintf("replay %d of %d", n+1, p.Options.Repeat)
	}
	if err := p.pull(ctx, sink, res, filepath.Join(dir, "pull")); err != nil {
		return err
	}
	sink.Emit(op.Event{Type: op.Phase, Name: name})
	r := p.newRun(sink)
	start := time.Now()
	out, err := r.units(ctx, dir, p.Tasks, nil)
	elapsed := time.Since(start)
	if err != nil {
		return err
	}
	for i := range out {
		if err := r.settle(&out[i], filepath.Join(dir, taskFolder(out[i].unit.Task))); err != nil {
			return err
		}
	}
	res.addRun(out, elapsed, r.parallel)
	return nil
}

// units replays the units of the tasks, several at once; taskDone is called,
// one call at a time, when all units of a task are replayed. It returns the
// units of the tasks that were finished.
func (r *run) units(ctx context.Context, root string, tasks []*TaskPlan, taskDone func(*TaskPlan, []unitResult) error) ([]unitResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type job struct {
		u    *Unit
		task *TaskPlan
	}
	var jobs []job
	left := map[*TaskPlan]int{}
	for _, t := range tasks {
		for _, u := range t.Units {
			if !u.Done {
				jobs = append(jobs, job{u, t})
				left[t]++
			}
		}
	}
	var mu sync.Mutex
	var all []unitResult
	byTask := map[*TaskPlan][]unitResult{}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range r.parallel {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				j := jobs[i]
				ur := r.unit(ctx, j.u, filepath.Join(root, taskFolder(j.task)), filepath.Join(root, "tmp-"+strconv.Itoa(i)))
				mu.Lock()
				if ur.err != nil {
					cancel(ur.err)
					mu.Unlock()
					return
				}
				byTask[j.task] = append(byTask[j.task], ur)
				left[j.task]--
				if left[j.task] == 0 {
					var err error
					if taskDone != nil {
						err = taskDone(j.task, byTask[j.task])
					}
					if err != nil {
						cancel(err)
					} else {
						all = append(all, byTask[j.task]...)
					}
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return all, context.Cause(ctx)
}

// bulk says whether a unit is replayed that way. A global versioned store has
// batches of several partitions, and a resumed one needs its rows: only the
// replay does that.
func (r *run) bulk(u *Unit) bool {
	return r.opts.Profile == Bulk && u.Request.Kind.OnDisk() &&
		(u.Request.Kind != streams.Versioned || len(u.Parts) == 1 && u.Resume == "")
}

// unit replays one unit, again from the log start when that moves past the
// position.
func (r *run) unit(ctx context.Context, u *Unit, taskDir, tmp string) unitResult {
	out := unitResult{unit: u, bulk: r.bulk(u)}
	name := unitName(u)
	for {
		start := time.Now()
		var watches []*op.Stopwatch
		var cloning time.Duration
		var err error
		if u.Resume != "" {
			var dual bool
			if err = cloneStore(u.Resume, taskDir, u.Request.Store); err == nil {
				dual, err = isDual(taskDir, u.Request.Store)
			}
			out.bulk = out.bulk && !dual
			cloning = time.Since(start)
		}
		if err == nil && out.bulk {
			out.parts, out.counts, watches, err = r.replayBulk(ctx, u, taskDir, tmp, r.workers)
		} else if err == nil {
			w := op.StartWatch(op.Network)
			watches = []*op.Stopwatch{w}
			out.parts, out.counts, err = r.replayStreams(ctx, u, taskDir, w)
		}
		out.elapsed = time.Since(start)
		out.split, out.workers = op.Split{}, len(watches)
		out.split[op.Flush] += cloning // by one worker, before the others began
		out.split[op.Idle] += cloning * time.Duration(len(watches)-1)
		for _, w := range watches {
			out.split.Add(w.Split())
		}
		if errors.Is(err, errFarApart) && out.bulk {
			r.sink.Warn(name, err.Error()+": replayed record by record, as Kafka Streams does")
			out.bulk = false
			if err := removeStore(taskDir, u.Request.Store); err != nil {
				out.err = err
				return out
			}
			continue
		}
		if again, ferr := r.inFull(u, err); ferr != nil {
			out.err = wrapUnit(name, ferr)
			return out
		} else if again {
			out.bulk = r.bulk(u)
			if err := removeStore(taskDir, u.Request.Store); err != nil {
				out.err = err
				return out
			}
			continue
		}
		var moved *kafka.LogStartMovedError
		if errors.As(err, &moved) && out.restarts < maxRestarts {
			if u.Resume != "" {
				out.err = op.Errorf(op.Precondition, "%s: the log start %d is past the checkpoint: Kafka Streams itself would wipe this store and restore it", name, moved.LogStart).
					WithTry("leave out --from-checkpoint and give --force for a full restore")
				return out
			}
			out.restarts++
			r.sink.Warn(name, fmt.Sprintf("the log start moved to %d, past our position %d: this partition is read again from there", moved.LogStart, moved.Position))
			for i := range u.Parts {
				if u.Parts[i].Partition == moved.Partition {
					u.Parts[i].From, u.Parts[i].LogStart = moved.LogStart, moved.LogStart
				}
			}
			if err := removeStore(taskDir, u.Request.Store); err != nil {
				out.err = err
				return out
			}
			continue
		}
		if err != nil {
			out.err = wrapUnit(name, err)
			return out
		}
		break
	}
	out.counts.Restarted = out.restarts
	u.replayed = out.parts
	r.live.end(u)
	r.sink.Emit(op.Event{Type: op.Item, Name: name, Done: out.counts.Records, Unit: "records", Message: fmt.Sprintf("%d records in %s", out.counts.Records, out.elapsed.Round(time.Millisecond))})
	return out
}

// maxRestarts bounds how often a partition whose log start keeps moving is
// begun again.
const maxRestarts = 5

func unitName(u *Unit) string {
	if u.Request.Global {
		return u.Topic
	}
	return fmt.Sprintf("%s-%d", u.Topic, u.Parts[0].Partition)
}

func wrapUnit(name string, err error) error {
	var e *op.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return &op.Error{Kind: op.Failed, What: name, Err: err}
}
