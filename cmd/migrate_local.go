package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/migrate"
)

const migrateLocalLong = `Clones this host's directories for a migration that was run on another host: sstool
rename and sstool migrate know only the state directory they are given. FILE is the
migration file that they named at the end; it says which names change and where each
offset of an old changelog is in its copy. No Kafka is needed here.

The application must not run: its lock is held. SST files are linked, small files
copied, offsets mapped to the copies; old directories stay as they are. Directories
of hosts where this was not done have the old names: the application does not see
them, and restores these stores from their changelogs.

Stopping it at any moment loses nothing; the same command continues.`

// localFlags are the flags of sstool migrate apply-local.
type localFlags struct {
	out      outputFlag
	progress progressFlag

	stateDir    string
	force       bool
	dryRun, yes bool
}

func newMigrateLocal(a *app) *cobra.Command {
	var f localFlags
	cmd := &cobra.Command{
		Use:   "apply-local FILE",
		Short: "clone the directories of another host for a migration",
		Long:  migrateLocalLong,
		Example: `  sstool migrate apply-local rename-orders-1f2e3d4c.json --state-dir /var/lib/kafka-streams --dry-run
  sstool migrate apply-local rename-orders-1f2e3d4c.json --state-dir /var/lib/kafka-streams --yes`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed, or built without RocksDB where the offsets are in the databases"}, {2, "wrong flags, no migration file, or no terminal to ask on without --yes"},
			{4, "finished, some stores are not cloned: they are restored from their changelogs"}, {10, "no such file or directory"},
			{11, "the application runs"}, {12, "a file of the application is corrupt"}, {14, "a new name is taken, the migration is not complete, not enough space, the old version would not start beside the clones"},
			{130, "interrupted or declined; what is old is as it was"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "Where", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "the application's state.dir on this host, `DIR`")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.force, "force", false, "clone task directories also to numbers that global stores have in the old version, which does not start beside them")
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.migrateLocal(cmd.Context(), &f, args) })
	return cmd
}

// migrateLocal is the command: file → plan → ask → apply → report.
func (a *app) migrateLocal(ctx context.Context, f *localFlags, args []string) error {
	switch {
	case len(args) != 1:
		return op.Errorf(op.Usage, "which migration?").WithTry("give its file: sstool migrate apply-local FILE --state-dir DIR")
	case f.stateDir == "":
		return op.Errorf(op.Usage, "which directories?").WithTry("--state-dir DIR, the application's state.dir on this host")
	}
	show := a.startProgress(f.progress)
	defer show.close()
	plan, err := migrate.PlanLocal(ctx, migrate.LocalOptions{File: args[0], StateDir: f.stateDir, Force: f.force})
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "migrate.apply-local.plan", *plan, renderLocalPlan)
	}
	if err := plan.Clone.CheckRocksDB(); err != nil {
		return err
	}
	for _, text := range plan.Clone.Warnings {
		show.warn(text)
	}
	if !f.yes && plan.Clone.Count(migrate.ToClone) > 0 {
		show.flush()
		if err := a.confirm(ctx, plan.Steps()); err != nil {
			return err
		}
	}
	res, err := plan.Apply(ctx, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	if err := emit(a, f.out, "migrate.apply-local", *res, renderLocal); err != nil {
		return err
	}
	if n := res.Clone.Count(migrate.LeftOut); n > 0 {
		return op.Errorf(op.Partial, "%d stores are not cloned: the application restores them from their changelogs", n)
	}
	return nil
}
