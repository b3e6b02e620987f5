package cmd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/migrate"
)

const compactLong = `Rewrites the files of a store so that superseded rows and tombstones are gone, in
every database (segment) of it. Rows and offsets stay as they are.

The application must not run: its lock is held meanwhile. The files are written so
that every Kafka Streams from 3.0 on opens them; --target-kafka allows the faster
checksum of a newer one. A database is rewritten as a whole: as much free space as
the largest one takes is needed for a while. Stopping it at any moment, with kill -9
too, leaves a whole store.

STORE is the directory of a store, <state.dir>/<application.id>/<task>/rocksdb/<store>,
or <task>/<store> for windows and sessions; sstool inspect shows them. Of a larger
directory the stores are named with --store and --task, or taken all with --all.`

// compactFlags are the flags of sstool compact.
type compactFlags struct {
	out      outputFlag
	progress progressFlag

	stores, tasks    namesValue
	target           string
	all, dryRun, yes bool
}

func newCompact(a *app) *cobra.Command {
	var f compactFlags
	cmd := &cobra.Command{
		Use:   "compact STORE…",
		Short: "rewrite a store's files without superseded rows and tombstones",
		Long:  compactLong,
		Example: `  sstool compact /var/lib/kafka-streams/orders/0_1/rocksdb/account-payment-total --dry-run
  sstool compact /var/lib/kafka-streams/orders --store account-payment-total --yes`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed, or built without RocksDB"}, {2, "wrong flags, more stores than were named, or no terminal to ask on without --yes"},
			{10, "no such directory or store"}, {11, "the application runs, or another process holds the store"}, {12, "a file of the store is corrupt"},
			{14, "not enough disk space, or the store changed meanwhile"}, {130, "interrupted or declined; every database is whole"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "Which stores", func(fs *pflag.FlagSet) {
		fs.Var(&f.stores, "store", "only stores with this `NAME` below the directory")
		fs.Var(&f.tasks, "task", "only stores of this `TASK`: 1_3")
		fs.BoolVar(&f.all, "all", false, "all stores below the directory")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.target, "target-kafka", "", "Kafka `VERSION` of the application that will open the result: 3.0 to 4.4 (default any of them)")
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.compact(cmd.Context(), &f, args) })
	return cmd
}

// compact is the command: paths → stores → plan → apply → report.
func (a *app) compact(ctx context.Context, f *compactFlags, paths []string) error {
	if len(paths) == 0 {
		return op.Errorf(op.Usage, "which store?").WithTry("give its directory; sstool inspect PATH shows the stores below a directory")
	}
	o := migrate.CompactOptions{}
	var err error
	if f.target != "" {
		if o.Target, err = streams.ParseVersion(f.target); err == nil {
			err = o.Target.CheckTarget()
		}
		if err != nil {
			return fmt.Errorf("--target-kafka: %w", err)
		}
	}
	show := a.startProgress(f.progress)
	defer show.close()
	for _, path := range paths {
		found, err := f.find(ctx, path)
		if err != nil {
			return err
		}
		o.Stores = append(o.Stores, found...)
	}
	plan, err := migrate.PlanCompact(ctx, o)
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, "compact.plan", *plan, renderCompactPlan)
	}
	if rocksVersion() == "" {
		return op.Errorf(op.Failed, "this sstool was built without RocksDB, which compacting needs").WithTry("build it with cgo: make build")
	}
	for _, text := range plan.Warnings {
		show.warn(text)
	}
	if !f.yes {
		show.flush()
		if err := a.confirm(ctx, plan.Steps()); err != nil {
			return err
		}
	}
	for _, s := range o.Stores {
		if s.AppDir != "" {
			warnOfOwner(filepath.Dir(s.AppDir), s.ApplicationID, show.warn)
			break
		}
	}
	res, err := plan.Apply(ctx, show.sink)
	show.flush()
	if res != nil {
		if werr := emit(a, f.out, "compact", *res, renderCompact); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// find resolves a path to stores. A directory with several is refused unless
// they are named: what is changed is said exactly.
func (f *compactFlags) find(ctx context.Context, path string) ([]migrate.CompactStore, error) {
	tree, err := inspect.Find(ctx, path)
	if err != nil {
		return nil, err
	}
	if tree.Is == inspect.IsFile {
		return nil, op.Errorf(op.Usage, "%s is a file", path).WithTry("give the directory of the store")
	}
	if err := tree.Keep(f.stores, f.tasks); err != nil {
		return nil, err
	}
	if err := tree.Readable(); err != nil {
		return nil, err
	}
	var out []migrate.CompactStore
	for _, s := range tree.Stores() {
		c := migrate.CompactStore{Task: s.Task.Name, Name: s.Name}
		if s.Task.App.ID != "" {
			c.ApplicationID, c.AppDir = s.Task.App.ID, s.Task.App.Dir
		}
		for _, d := range s.Databases {
			c.Databases = append(c.Databases, d.Dir)
		}
		out = append(out, c)
	}
	if len(out) > 1 && !f.all && len(f.stores) == 0 && len(f.tasks) == 0 {
		return nil, op.Errorf(op.Usage, "there are %d stores below %s", len(out), path).
			WithTry("--store NAME and --task TASK to name some (%s of task %s, …), or --all", out[0].Name, out[0].Task)
	}
	return out, nil
}
