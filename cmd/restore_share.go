package cmd

import (
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/restore"
)

// shareFlags are the flags of a restore that several processes share.
type shareFlags struct {
	group  string
	status bool
	lost   namesValue
}

func (f *shareFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.group, "share", "", "divide the tasks with every process that names the same consumer `GROUP`, on any machine, each into its own --into")
	fs.BoolVar(&f.status, "status", false, "with --share: show what the group has done, and change nothing")
	fs.Var(&f.lost, "lost", "with --share: restore again what these `HOST`s completed, their disks are gone")
}

// given says whether the restore is shared.
func (f *shareFlags) given() bool { return f.group != "" || f.status || len(f.lost) > 0 }

// shareDoc is the result document of one worker, with what all have done.
type shareDoc struct {
	*restore.Result
	Share *restore.ShareStatus `json:"share"`
}

// sharePlanDoc is the plan of a shared restore with what the group has done.
type sharePlanDoc struct {
	planDoc
	Share *restore.ShareStatus `json:"share"` // null: the group does not exist yet
}

// restoreShare is the command with --share.
func (a *app) restoreShare(ctx context.Context, f *restoreFlags) error {
	if f.share.group == "" {
		return op.Errorf(op.Usage, "--status and --lost are of a shared restore").WithTry("--share GROUP")
	}
	show := a.startProgress(f.progress)
	defer show.close()
	if f.share.status {
		return a.shareStatus(ctx, f, show)
	}
	if f.note != "" {
		show.warn(f.note)
	}
	opts, err := f.options(show.warn)
	if err != nil {
		return err
	}
	if err := opts.Validate(); err != nil {
		return err
	}
	share := restore.ShareOptions{Group: f.share.group, Lost: f.share.lost}
	if err := share.Validate(&opts); err != nil {
		return err
	}
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	plan, err := restore.MakePlan(ctx, client, opts)
	if err != nil {
		return err
	}
	if f.dryRun {
		st, err := restore.ReadShareStatus(ctx, client, share.Group)
		if err != nil && op.KindOf(err) != op.NotFound {
			return err
		}
		show.flush()
		return emit(a, f.out, "restore.share.plan", sharePlanDoc{newPlanDoc(plan), st}, renderSharePlan)
	}
	warnOfOwner(opts.Into, opts.ApplicationID, show.warn)
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(200)) // as without --share
	}
	res, err := plan.RunShare(ctx, show.sink, share)
	show.flush()
	if res == nil || err != nil && len(res.Partitions) == 0 {
		return err
	}
	// On the way out the group may be asked for longer than the run may go on.
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	doc := shareDoc{Result: res}
	if doc.Share, _ = restore.ReadShareStatus(sctx, client, share.Group); doc.Share == nil && err == nil {
		show.warn("the group no longer tells what was done")
	}
	if werr := emit(a, f.out, "restore.share", doc, renderShare); werr != nil && err == nil {
		err = werr
	}
	return err
}

func (a *app) shareStatus(ctx context.Context, f *restoreFlags, show *progress) error {
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	st, err := restore.ReadShareStatus(ctx, client, f.share.group)
	if err != nil {
		return err
	}
	show.flush()
	return emit(a, f.out, "restore.share.status", *st, renderShareStatus)
}

func renderShare(w *tableWriter, d shareDoc) {
	if len(d.Partitions) > 0 || w.machine() {
		renderRestore(w, d.Result)
	} else {
		w.line("%s: nothing was left for this worker: %s got no task.", printable(d.ApplicationID), printable(d.Into))
		w.notes(nil, d.Warnings, nil)
	}
	if d.Share == nil || w.machine() {
		return
	}
	w.line("")
	renderShareStatus(w, *d.Share)
}

func renderSharePlan(w *tableWriter, d sharePlanDoc) {
	renderPlan(w, d.planDoc)
	if w.machine() {
		return
	}
	w.line("")
	if d.Share == nil {
		w.line("The group does not exist yet: its workers divide these tasks.")
		return
	}
	renderShareStatus(w, *d.Share)
}

func renderShareStatus(w *tableWriter, st restore.ShareStatus) {
	if !w.machine() {
		state := "not finished"
		if st.Finished {
			state = "finished"
		}
		w.line("Group %s restores %s: %s, %d of %s complete, %s records (%s), %s in the group", printable(st.Group), printable(st.ApplicationID), state,
			st.Complete, counted(len(st.Tasks), "task"), humanCount(st.Records), humanBytes(st.Bytes), counted(len(st.Workers), "worker"))
		for _, x := range st.Workers {
			w.line("  %s %s", printable(x.Host), printable(x.Into))
		}
	}
	var rows [][]string
	unconfirmed := false
	for _, t := range st.Tasks {
		unconfirmed = unconfirmed || t.State == "unconfirmed"
		for _, p := range t.Partitions {
			row := []string{t.Task, p.Store, p.Topic, strconv.Itoa(int(p.Partition)), t.State, t.Host, t.Into, t.Run,
				w.count(p.EndOffset), w.count(p.Records), w.bytes(p.Bytes), t.At.Format(time.RFC3339)}
			switch {
			case t.State == "waiting" || t.State == "restoring":
				row[8], row[9], row[10] = w.none(), w.none(), w.none()
			case t.Kept:
				row[9], row[10] = w.none(), w.none()
			}
			rows = append(rows, row)
		}
	}
	w.table([]column{
		{name: "TASK"}, {name: "STORE"}, {name: "TOPIC", wide: true}, {name: "PARTITION", right: true, wide: true}, {name: "STATE"}, {name: "HOST"},
		{name: "INTO", wide: true}, {name: "RUN", wide: true}, {name: "END OFFSET", right: true}, {name: "RECORDS", right: true}, {name: "BYTES", right: true}, {name: "WHEN"},
	}, rows)
	if unconfirmed {
		w.line("unconfirmed: completed by a worker that left before the run was finished; it counts when that worker comes back with its directory.")
	}
}
