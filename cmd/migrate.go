package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/migrate"
)

const migrateLong = `What changes names of a Kafka Streams application without losing its state, and what
ends it: sstool rename and the commands here leave the old topics and directories as
they are; finish removes them when the new ones are in use, abort removes the new
ones when they are not.`

func newMigrate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "migrate",
		Short:       "change names and ids of an application without losing its state",
		Long:        migrateLong,
		Example:     "  sstool migrate finish /var/lib/kafka-streams/.sstool/rename-orders-1f2e3d4c.json --dry-run",
		Annotations: exits(exitsBasic),
	}
	group(cmd)
	cmd.AddCommand(newMigrateTopology(a), newMigrateApplication(a), newMigrateLocal(a), newMigrateEnd(a, migrateFinish), newMigrateEnd(a, migrateAbort))
	return cmd
}

// migrateEnd is finish or abort: they differ in what they look for.
type migrateEnd struct {
	use, short, long string
	proves           bool // it looks for proof, which a person may give as well
	plan             func(context.Context, *kafka.Client, migrate.EndOptions) (*migrate.EndPlan, error)
}

var migrateFinish = migrateEnd{
	"finish FILE", "remove what is old, once the new is in use",
	`Deletes the old topics of a migration, and with --state-dir its old directories on
this host, once it is proven that the new ones are in use: each copy was verified and
has got records since, or the new application id's group runs or has processed on; the
old topic has got none, and an old application id has no running group. What is not
proven yet is kept and said; the same command does it later. What the application
never writes to is never proven: when you know that it is in use under its new name,
--in-use names it, as it stands in the list of what is kept. With an application id go
the committed offsets of its old group.

FILE is the migration file that sstool rename or sstool migrate named at the end.`,
	true, migrate.PlanFinish,
}

var migrateAbort = migrateEnd{
	"abort FILE", "remove what a migration has made",
	`Deletes the new topics of a migration with the ACLs and the committed offsets that it
made, and with --state-dir the directories that it made on this host. The application must be stopped. What the application has written
to already under its new names is not removed: finish is for that.

FILE is the migration file that sstool rename or sstool migrate named at the end.`,
	false, migrate.PlanAbort,
}

// endFlags are the flags of finish and abort.
type endFlags struct {
	kafka       kafkaFlags
	out         outputFlag
	progress    progressFlag
	stateDir    string
	inUse       namesValue
	dryRun, yes bool
}

func newMigrateEnd(a *app, e migrateEnd) *cobra.Command {
	var f endFlags
	cmd := &cobra.Command{
		Use: e.use, Short: e.short, Long: e.long,
		Example: "  sstool migrate " + e.use[:6] + " rename-orders-1f2e3d4c.json --bootstrap-server localhost:9092 --dry-run",
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, no migration file, or no terminal to ask on without --yes"}, {4, "some of it was done: the rest is not proven yet"},
			{10, "no such file"}, {11, "the application runs on this host, or another sstool works on the migration"}, {13, "Kafka unreachable or access denied"},
			{14, "nothing is proven, the group is active, what would be removed is in use, the cluster id differs"}, {130, "interrupted or declined"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "What else", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "the application's state.dir on this host (default: topics only)")
		if e.proves {
			fs.Var(&f.inUse, "in-use", "these old topics and directories may go though nothing proves it, `NAMES` as finish lists them")
		}
	})
	section(cmd, "Cluster", func(*pflag.FlagSet) { f.kafka.register(cmd) })
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		f.out.register(cmd, formatTable, formatWide, formatJSON)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.endMigration(cmd.Context(), e, &f, args) })
	return cmd
}

// endMigration is the command: file → plan → ask → apply → report.
func (a *app) endMigration(ctx context.Context, e migrateEnd, f *endFlags, args []string) error {
	if len(args) != 1 {
		return op.Errorf(op.Usage, "which migration?").WithTry("give its file: sstool migrate %s", e.use)
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	o := migrate.EndOptions{File: args[0], ClusterID: f.kafka.clusterID, StateDir: f.stateDir, InUse: f.inUse}
	if f.stateDir != "" {
		o.Clone = migrate.NewCloner(f.stateDir)
	}
	plan, err := e.plan(ctx, client, o)
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "migrate."+plan.Action+".plan", *plan, renderEnd)
	}
	if !f.yes && !plan.Done {
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
	if err := emit(a, f.out, "migrate."+plan.Action, *res, renderEnd); err != nil {
		return err
	}
	if !res.Done {
		return op.Errorf(op.Partial, "%d names are kept: nothing proves yet that the new ones are in use", len(res.Kept)).WithTry("the same command again, later; what the application never writes to: --in-use NAME, when you know")
	}
	return nil
}
