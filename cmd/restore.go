package cmd

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"sstool/internal/op"
	"sstool/restore"
)

const restoreLong = `Replays the changelog topics of a Kafka Streams application into fresh RocksDB
stores.

--measure times it in a scratch directory that is removed afterwards, and says
where the time went: with --profile streams (its default) the way Kafka Streams
replays, so that the time predicts the application's own recovery.

--into DIR builds the state directory itself, so that the application starts with
nothing left to restore: with --profile bulk (its default) the fastest way to the
same rows. Each task is built aside, verified and put in place whole; what is
already there is refused without --force, and then moved aside, not deleted.

--measure with --into DIR does both: it builds the state directory in DIR and
measures that, with --profile streams as its default. Given as a flag, --measure
or --into wins over the other one in the environment: --measure alone writes
nothing, whatever SSTOOL_INTO says.

--share GROUP lets any number of processes on any number of machines do it
together: they divide the tasks through a Kafka consumer group, each builds its
own in its --into, and they are done when every task is complete. Kafka Streams
then gives each task to the host that has it.

--from-snapshot URL lets stores come from snapshots (sstool snapshot push): they are
downloaded, held against their hashes, and only what came later is replayed. A store
whose snapshot cannot be used is restored in full, and the report says why.

--into DIR --follow then goes on: it applies what comes, like a standby replica
outside of the application, until SIGTERM or Ctrl-C ends it (exit 0). Until then
it holds the application's lock; afterwards the application goes on at once.

One store is named by --application-id and --store; a whole application by --spec
(see sstool spec). --measure assumes what it is not told and says so; --into must
be told, or be allowed to derive (--accept-derived).`

const restoreExample = `  # How long would this application take to recover, and does that fit the SLA?
  sstool restore --measure --bootstrap-server localhost:9092 --application-id orders --store account-payment-total --sla 60s

  # Build the state directory before the application starts.
  sstool restore --into /var/lib/kafka-streams --bootstrap-server localhost:9092 --spec orders.yaml

  # The same on every host at once, each with a share of the tasks; and what all have done.
  sstool restore --into /var/lib/kafka-streams --spec orders.yaml --share orders-restore
  sstool restore --share orders-restore --status

  # From the newest snapshots, and what came since.
  sstool restore --into /var/lib/kafka-streams --spec orders.yaml --from-snapshot 's3://backups/streams?region=eu-central-1'

  # One task only; show what would be done.
  sstool restore --into /var/lib/kafka-streams --spec orders.yaml --task 0_1 --dry-run

  # A standby outside of the application: kept up to date until it is stopped.
  sstool restore --into /var/lib/kafka-streams --spec orders.yaml --follow --metrics-listen :9464 --progress text`

func newRestore(a *app) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:     "restore",
		Short:   "replay changelogs into fresh stores: measure it, or build the state directory",
		Long:    restoreLong,
		Example: restoreExample,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or --into does not know enough about a store"},
			{3, "the --sla was missed"}, {10, "topic, partition or store not found"},
			{11, "the target directory is in use by another process"}, {12, "a batch of the changelog is corrupt; with --require-snapshot an object"},
			{13, "Kafka unreachable, access denied, or no progress for --stall-timeout"},
			{14, "the target is not empty, the checkpoint is too old, the cluster id differs, not enough disk space; --require-snapshot is not met"},
			{130, "interrupted or declined; nothing half-done is left in place"},
		}),
		Args: noArgs,
	}
	f.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		f.note, f.stdin = f.onlyGiven(a.given), a.io.In
		if err := f.follow.check(f.share.given()); err != nil {
			return err
		}
		if err := f.snapshot.check(f.share.given(), f.follow.on); err != nil {
			return err
		}
		if f.share.given() {
			return f.specHint(a.restoreShare(cmd.Context(), &f))
		}
		if f.follow.on {
			return f.specHint(a.follow(cmd.Context(), &f))
		}
		return f.specHint(a.restore(cmd.Context(), &f))
	})
	return cmd
}

// restore is the command: flags → options → plan → run → report.
func (a *app) restore(ctx context.Context, f *restoreFlags) error {
	show := a.startProgress(f.progress)
	defer show.close()
	if f.note != "" {
		show.warn(f.note)
	}
	plan, done, err := f.plan(ctx, show.warn)
	if err != nil {
		return err
	}
	defer done()
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "restore.plan", newPlanDoc(plan), renderPlan)
	}
	if changes := changesOf(plan); len(changes) > 0 && !f.yes {
		show.flush()
		if err := a.confirm(ctx, changes); err != nil {
			return err
		}
	}
	if plan.Options.Into != "" {
		warnOfOwner(plan.Options.Into, plan.Options.ApplicationID, show.warn)
	}
	begun := time.Now()
	if os.Getenv("GOGC") == "" {
		// What is collected are fetched blocks, a small part of the budget: less
		// often saves more time than it costs memory.
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	res, err := plan.Run(ctx, show.sink)
	show.flush()
	if res != nil && (err == nil || len(res.Partitions) > 0) {
		doc := restoreDoc{Result: res, MovedAside: movedSince(plan, begun)}
		if werr := emit(a, f.out, f.documentKind(), doc, f.renderResult); werr != nil && err == nil {
			err = werr
		}
	}
	if err == nil && res.SLA != nil && !res.SLA.Met {
		err = op.Errorf(op.Problems, "SLA missed: restoring took %s, the limit is %s", humanSeconds(res.SLA.Took), humanSeconds(res.SLA.Limit))
	}
	return err
}

// plan turns the flags into a plan against the cluster; done ends the
// connection that the plan works with.
func (f *restoreFlags) plan(ctx context.Context, warn func(string)) (p *restore.Plan, done func(), err error) {
	opts, err := f.options(warn)
	if err != nil {
		return nil, nil, err
	}
	opts.Snapshot = f.snapshot.options()
	if err := opts.Validate(); err != nil {
		return nil, nil, err
	}
	closeBucket, err := f.snapshot.open(ctx, opts.Snapshot, time.Duration(f.stall))
	if err != nil {
		return nil, nil, err
	}
	client, err := f.kafka.open(ctx, warn)
	if err != nil {
		closeBucket()
		return nil, nil, err
	}
	done = func() {
		client.Close()
		closeBucket()
	}
	if p, err = restore.MakePlan(ctx, client, opts); err != nil {
		done()
		return nil, nil, err
	}
	return p, done, nil
}
