package cmd

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/restore"
)

// followFlags are the flags of sstool restore --follow.
type followFlags struct {
	on      bool
	flush   durationValue
	metrics string
}

func (f *followFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "follow", false, "with --into: go on applying records as they come, like a standby replica, until SIGTERM or Ctrl-C; then the application takes the directory over")
	fs.Var(&f.flush, "flush-interval", "with --follow: flush the stores and write their offsets every `DURATION` (default 10s)")
	fs.StringVar(&f.metrics, "metrics-listen", "", "with --follow: serve lag and progress to Prometheus at `ADDR`, as :9464 or 127.0.0.1:0, path /metrics")
}

// check refuses the flags of a follower without one, and a shared restore, which
// ends when all is done.
func (f *followFlags) check(share bool) error {
	switch {
	case f.on && share:
		return op.Errorf(op.Usage, "--share ends when every task is complete: --follow does not fit").WithTry("--follow with --task or --partitions on each host, after the shared restore")
	case f.on:
	case f.flush != 0:
		return op.Errorf(op.Usage, "--flush-interval is for --follow")
	case f.metrics != "":
		return op.Errorf(op.Usage, "--metrics-listen is for --follow")
	}
	return nil
}

// follow is the command with --follow: flags → plan → run until a signal →
// report.
func (a *app) follow(ctx context.Context, f *restoreFlags) error {
	show := a.startProgress(f.progress)
	defer show.close()
	if f.note != "" {
		show.warn(f.note)
	}
	base, err := f.options(show.warn)
	if err != nil {
		return err
	}
	opts := restore.FollowOptions{Options: base, FlushInterval: time.Duration(f.follow.flush)}
	if err := opts.Validate(); err != nil {
		return err
	}
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	plan, err := restore.PlanFollow(ctx, client, opts)
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "restore.follow.plan", newFollowPlanDoc(plan), renderFollowPlan)
	}
	if changes := changesOfFollow(plan); len(changes) > 0 && !f.yes {
		show.flush()
		if err := a.confirm(ctx, changes); err != nil {
			return err
		}
	}
	warnOfOwner(opts.Into, opts.ApplicationID, show.warn)
	if f.follow.metrics != "" {
		served, err := serveFollow(f.follow.metrics, plan)
		if err != nil {
			return err
		}
		defer served.close()
		show.sink(op.Event{Type: op.Item, Name: "metrics", Message: served.url})
	}
	res, err := plan.Run(ctx, show.sink)
	show.flush()
	if res != nil {
		if werr := emit(a, f.out, "restore.follow", res, renderFollow); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// changesOfFollow lists what would be done to stores that no follower has kept
// so far.
func changesOfFollow(p *restore.FollowPlan) []string {
	var out []string
	for _, s := range p.Starts {
		at := fmt.Sprintf("store %s of task %s", s.Unit.Request.Name, s.Unit.Task.Name())
		switch {
		case s.Own:
		case s.Action == restore.FollowResume:
			out = append(out, "apply to "+at+" what comes, from its stored offset on")
		case s.Action == restore.FollowStartOver:
			out = append(out, "move "+at+" aside and restore it: "+s.Reason)
		}
	}
	return out
}

// followPlanDoc is a follower's plan as --dry-run prints it.
type followPlanDoc struct {
	planDoc
	Reasons map[string]string `json:"start_over_because"` // by task/store
}

func newFollowPlanDoc(p *restore.FollowPlan) followPlanDoc {
	d := followPlanDoc{newPlanDoc(p.Plan), map[string]string{}}
	actions := map[string]string{}
	from := map[string]int64{}
	for _, s := range p.Starts {
		at := s.Unit.Task.Name() + "/" + s.Unit.Request.Name
		actions[at] = string(s.Action)
		if s.Reason != "" {
			d.Reasons[at] = s.Reason
		}
		if s.Action == restore.FollowResume {
			for part, pos := range s.Positions() {
				from[at+"/"+strconv.Itoa(int(part))] = pos
			}
		}
	}
	for i := range d.Steps {
		x := &d.Steps[i]
		at := x.Task + "/" + x.Store
		x.Action = actions[at]
		if pos, ok := from[at+"/"+strconv.Itoa(int(x.Partition))]; ok {
			x.From, x.Because = pos, "stored offset"
		}
	}
	return d
}

func renderFollowPlan(w *tableWriter, d followPlanDoc) {
	renderPlan(w, d.planDoc)
	for _, s := range d.Steps {
		if why, ok := d.Reasons[s.Task+"/"+s.Store]; ok {
			w.line("%s of task %s starts over: %s", printable(s.Store), s.Task, printable(why))
		}
	}
	if !w.machine() {
		w.line("Then the stores are followed until SIGTERM or Ctrl-C.")
	}
}

func renderFollow(w *tableWriter, r *restore.FollowResult) {
	w.line("%s: followed in %s for %s (%s: %s)", printable(r.ApplicationID), printable(r.Into), humanSeconds(math.Round(r.Seconds)), r.Isolation, printable(r.IsolationBy))
	w.line("")
	var rows [][]string
	for _, p := range r.Partitions {
		checkpoint := "none"
		if p.Checkpoint != nil {
			checkpoint = w.count(*p.Checkpoint)
		}
		rows = append(rows, []string{p.Store, p.Task, string(p.Kind), p.Topic, strconv.Itoa(int(p.Partition)), string(p.Began), w.count(p.From), w.count(p.Records),
			w.bytes(p.Bytes), w.count(p.Position), checkpoint, w.count(p.End), w.count(p.Lag), w.count(p.Over), p.State})
	}
	w.table([]column{{name: "STORE"}, {name: "TASK"}, {name: "KIND", wide: true}, {name: "TOPIC", wide: true}, {name: "PARTITION", right: true, wide: true},
		{name: "BEGAN"}, {name: "FROM", right: true, wide: true}, {name: "APPLIED", right: true}, {name: "BYTES", right: true, wide: true},
		{name: "POSITION", right: true, wide: true}, {name: "CHECKPOINT", right: true}, {name: "LOG END", right: true}, {name: "BEHIND", right: true},
		{name: "STARTED OVER", right: true, wide: true}, {name: "STATE", wide: true}}, rows)
	if w.machine() {
		return
	}
	w.line("")
	memory := w.unmeasured()
	if r.PeakMemory.Value != nil {
		memory = w.bytes(*r.PeakMemory.Value)
	}
	w.pairs([][2]string{
		{"restored", w.count(r.Restored) + " records, before it followed"},
		{"applied", fmt.Sprintf("%s records (%s), %s flushes", w.count(r.Records), w.bytes(r.Bytes), w.count(r.Flushes))},
		{"behind", w.count(r.Lag) + " records when it ended"},
		{"process", "peak memory " + memory},
	})
	w.line("The stores are closed and their offsets written: the application can take %s over.", printable(r.Into))
	w.notes(r.Assumptions, r.Warnings, r.Skipped)
}
