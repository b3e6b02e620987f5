package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/restore/snapshots"
)

const snapshotPullLong = `Downloads tasks into a state directory: of every task the newest snapshot that
holds it, or one that is named. Everything is downloaded aside, in
<state.dir>/.sstool, held against its hash while it arrives, and put in place by
whole tasks. Offsets come along, so that Kafka Streams replays what came later and
nothing else. A task directory that holds something is refused.

A pull that is stopped is continued by the next one. It asks no cluster: state that
is older than delete.retention.ms of its changelogs must not be resumed, as
tombstones are gone by then; the plan says how old it is.`

// snapshotPullFlags are the flags of sstool snapshot pull.
type snapshotPullFlags struct {
	bucket   bucketFlags
	identity identityFlag
	out      outputFlag
	progress progressFlag

	app, into, id string
	tasks, stores namesValue
	guarantee     choiceValue
	dryRun        bool
}

func newSnapshotPull(a *app) *cobra.Command {
	var f snapshotPullFlags
	cmd := &cobra.Command{
		Use:   "pull URL",
		Short: "download tasks into an empty state directory",
		Long:  snapshotPullLong,
		Example: `  sstool snapshot pull file:///backup/streams --application-id orders --into /var/lib/kafka-streams
  sstool snapshot pull 's3://backups/streams?region=eu-central-1' --application-id orders --task 0_1,0_2 --into /var/lib/kafka-streams --dry-run`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or URL"}, {10, "no such bucket, snapshot, task or store"}, {11, "the application runs"},
			{12, "an object is not what the manifest says"}, {13, "the store is unreachable, or access denied"},
			{14, "the place is not empty, too little space, or the key is missing"}, {130, "interrupted; tasks are whole or absent"},
		}),
		Args: bucketArg,
	}
	section(cmd, "What", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.app, "application-id", "", "application.id `ID`")
		fs.StringVar(&f.into, "into", "", "state.dir `DIR` of the application")
		fs.StringVar(&f.id, "snapshot", "", "this snapshot `ID` (default of every task the newest)")
		fs.Var(&f.tasks, "task", "only these `TASKS`: 1_3 (default all)")
		fs.Var(&f.stores, "store", "only these `STORES` (not under exactly-once: whole tasks there)")
		f.guarantee.choices = []string{snapshots.AtLeastOnce, snapshots.ExactlyOnce}
		fs.Var(&f.guarantee, "processing-guarantee", "processing `GUARANTEE` of the application: at_least_once or exactly_once_v2 (default as the snapshot says)")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		f.identity.register(fs)
		f.bucket.register(fs, true)
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	complete(cmd, "processing-guarantee", f.guarantee.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotPull(cmd.Context(), &f, args[0]) })
	return cmd
}

func (a *app) snapshotPull(ctx context.Context, f *snapshotPullFlags, url string) error {
	if f.app == "" || f.into == "" {
		return op.Errorf(op.Usage, "what is pulled, and where to?").WithTry("--application-id ID and --into DIR; sstool snapshot list shows what is there")
	}
	if err := streams.ValidateApplicationID(f.app); err != nil {
		return fmt.Errorf("--application-id: %w", err)
	}
	if err := checkDir("--into", f.into); err != nil {
		return err
	}
	key, err := f.identity.key()
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	b, err := f.bucket.open(ctx, url)
	if err != nil {
		return err
	}
	defer b.Close()
	plan, err := snapshots.PlanPull(ctx, b, snapshots.PullOptions{Into: f.into, ApplicationID: f.app, Snapshot: f.id, Tasks: f.tasks, Stores: f.stores,
		Guarantee: f.guarantee.value, Key: key}, show.sink)
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "snapshot.pull.plan", *plan, renderSnapshotPull)
	}
	for _, w := range plan.Warnings {
		show.warn(w)
	}
	warnOfOwner(f.into, f.app, show.warn)
	done, err := plan.Apply(ctx, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	return emit(a, f.out, "snapshot.pull", *done, renderSnapshotPull)
}
