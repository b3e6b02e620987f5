package cmd

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/migrate"
)

// migrateMemory is where the collector begins to work for memory instead of
// speed; the program and its libraries come on top.
const migrateMemory = 176 << 20

// migrateExits are the exit codes of every command that migrates.
var migrateExits = []exit{
	{0, "ok"}, {1, "failed, or a copy is not what it should be"}, {2, "wrong flags, or no terminal to ask on without --yes"},
	{10, "no such application, store or topic"}, {11, "the application runs on this host, or another sstool works on the migration"}, {12, "a batch or a file is corrupt"},
	{13, "Kafka unreachable or access denied"},
	{14, "the group is active, a new name is taken, records came meanwhile, a transaction is open, the cluster id differs"},
	{130, "interrupted or declined; what is old is as it was"},
}

// migrateFlags are the flags of every command that migrates.
type migrateFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	stateDir, ledger          string
	registry                  string
	withRepartition, withACLs bool
	wait                      durationValue
	dryRun, yes               bool
}

func (f *migrateFlags) register(cmd *cobra.Command) {
	section(cmd, "What else", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "the application's state.dir on this host: its directories are cloned (default: topics only)")
		fs.BoolVar(&f.withRepartition, "with-repartition", false, "copy repartition topics that hold records the application has not processed, and map its committed offsets")
		fs.BoolVar(&f.withACLs, "with-acls", false, "copy the ACLs that name an old topic")
		fs.StringVar(&f.registry, "schema-registry", "", "`URL` of a schema registry: its subjects that name an old topic are listed")
	})
	section(cmd, "Cluster", func(*pflag.FlagSet) { f.kafka.register(cmd) })
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.ledger, "ledger", "", "the migration `FILE`: how far it has come, and the map of offsets (default: named after the migration, in .sstool of the state directory or in $XDG_STATE_HOME/sstool)")
		fs.Var(&f.wait, "wait", "wait this `DURATION` for members of the group to leave (default not at all)")
		fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		f.out.register(cmd, formatTable, formatWide, formatJSON)
		f.progress.register(cmd)
	})
}

// ledgerDir is where migration files are kept that nobody named.
func (a *app) ledgerDir(stateDir string) (string, error) {
	if stateDir != "" {
		return filepath.Join(stateDir, ".sstool"), nil
	}
	if dir := a.io.getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "sstool"), nil
	}
	if home := a.io.getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "sstool"), nil
	}
	return "", op.Errorf(op.Usage, "there is no home directory for the migration file").WithTry("--ledger FILE")
}

// migration is what every command that migrates does with its options: plan,
// show or ask, apply, report.
func (a *app) migration(ctx context.Context, f *migrateFlags, client *kafka.Client, o migrate.MigrationOptions, show *progress) error {
	var err error
	if o.LedgerDir, err = a.ledgerDir(f.stateDir); err != nil && f.ledger == "" {
		return err
	}
	o.Ledger, o.StateDir, o.ClusterID, o.WithRepartition, o.WithACLs = f.ledger, f.stateDir, f.kafka.clusterID, f.withRepartition, f.withACLs
	o.Wait, o.SchemaRegistry = time.Duration(f.wait), f.registry
	if f.stateDir != "" {
		if _, err := os.Stat(f.stateDir); err != nil {
			return op.Errorf(op.NotFound, "--state-dir: %w", err)
		}
		if o.Clone == nil {
			o.Clone = migrate.NewCloner(f.stateDir)
		}
	}
	plan, err := migrate.PlanMigration(ctx, client, o, show.sink)
	if err != nil {
		return err
	}
	if f.dryRun {
		show.flush()
		return emit(a, f.out, plan.Kind+".plan", *plan, renderMigrationPlan)
	}
	warnings := plan.Warnings
	if plan.Clone != nil {
		warnings = slices.Concat(warnings, plan.Clone.Warnings)
	}
	for _, text := range warnings {
		show.warn(text)
	}
	if !f.yes && !plan.Completed {
		show.flush()
		if err := a.confirm(ctx, stepTexts(plan)); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		// The table of each partition is garbage once it is compared.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(migrateMemory))
	}
	res, err := plan.Apply(ctx, show.sink)
	show.flush()
	if res != nil && (err == nil || f.out.value == formatJSON) {
		if werr := emit(a, f.out, plan.Kind, *res, renderMigration); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// stepTexts are the steps that are left.
func stepTexts(p *migrate.MigrationPlan) []string {
	var out []string
	for _, s := range p.Steps {
		if !s.Done {
			out = append(out, s.Text)
		}
	}
	return out
}
