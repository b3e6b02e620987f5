package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/snapshot"
)

const snapshotPruneLong = `Deletes snapshots by number and age, and the objects that no snapshot names any
more. Of every task the newest snapshots are kept, so many as --keep says, and
those younger than --keep-within: hosts that push other tasks do not take each
other's away. The newest snapshot of a task is never deleted.

Objects are deleted only when two prunes, a grace period apart, found them unnamed;
so prune regularly. A push that goes on meanwhile and reuses them keeps them: each
of the two announces what it does before it looks for the other.`

// snapshotPruneFlags are the flags of sstool snapshot prune.
type snapshotPruneFlags struct {
	bucket   bucketFlags
	out      outputFlag
	progress progressFlag

	app    string
	keep   numberValue
	within durationValue
	grace  zeroDurationValue
	dryRun bool
	yes    bool
}

func newSnapshotPrune(a *app) *cobra.Command {
	var f snapshotPruneFlags
	cmd := &cobra.Command{
		Use:   "prune URL",
		Short: "delete old snapshots, and objects that none names",
		Long:  snapshotPruneLong,
		Example: `  sstool snapshot prune file:///backup/streams --keep 3 --dry-run
  sstool snapshot prune 's3://backups/streams?region=eu-central-1' --keep 2 --keep-within 7d --yes`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or URL, or no terminal to ask on without --yes"}, {10, "no such bucket"},
			{12, "a manifest is corrupt: nothing is deleted"}, {13, "the store is unreachable, or access denied"}, {130, "interrupted or declined"},
		}),
		Args: bucketArg,
	}
	f.keep.min = 1
	f.grace.durationValue = durationValue(24 * time.Hour)
	section(cmd, "What stays", func(fs *pflag.FlagSet) {
		fs.Var(&f.keep, "keep", "of every task the newest `N` snapshots (default 1 beside --keep-within)")
		fs.Var(&f.within, "keep-within", "snapshots younger than this `DURATION`")
		fs.StringVar(&f.app, "application-id", "", "delete only snapshots of this `ID` (default of all)")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.Var(&f.grace, "grace", "delete objects that an earlier prune found unnamed this `DURATION` ago; 0s: at once")
		f.bucket.register(fs, false)
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotPrune(cmd.Context(), &f, args[0]) })
	return cmd
}

func (a *app) snapshotPrune(ctx context.Context, f *snapshotPruneFlags, url string) error {
	if !f.keep.set && f.within == 0 {
		return op.Errorf(op.Usage, "which snapshots stay?").WithTry("--keep N, --keep-within DURATION, or both")
	}
	show := a.startProgress(f.progress)
	defer show.close()
	b, err := f.bucket.open(ctx, url)
	if err != nil {
		return err
	}
	defer b.Close()
	plan, err := b.PlanPrune(ctx, snapshot.Policy{ApplicationID: f.app, Keep: int(f.keep.or(1)), Within: time.Duration(f.within), Grace: time.Duration(f.grace.durationValue)}, show.sink)
	if err != nil {
		return err
	}
	show.flush()
	if f.dryRun {
		return emit(a, f.out, "snapshot.prune.plan", *plan, renderSnapshotPrunePlan)
	}
	if steps := plan.Steps(); !f.yes && len(steps) > 0 {
		if err := a.confirm(ctx, steps); err != nil {
			return err
		}
	}
	done, err := plan.Apply(ctx, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	return emit(a, f.out, "snapshot.prune", *done, renderSnapshotPrune)
}
