package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/migrate"
)

const renameLong = `Gives a store of a Kafka Streams application another name without losing its state:
its changelog is copied to the topic of the new name, compared, and the directories
below --state-dir are cloned with their offsets mapped to the copy. The application
then starts under the new name with nothing left to restore.

OLD is the name of a store; what Kafka Streams names after it goes with it (--only:
it alone). When there is no such store, OLD is the name of an operator, and all that
is named after it goes: the stores of a join, of suppress, of a foreign-key join with
its topics, repartition topics. Several pairs make one migration.

A store without a changelog of its own, as a table that is restored from its source
topic, must keep its name: rename does not move it, and Kafka Streams up to 4.2 would
take the empty store for complete. sstool migrate topology renames it with the others.

The application must be stopped. Nothing old is deleted or changed: it can be started
again under the old names as long as the new ones are not in use. sstool migrate
finish removes the old topics and directories later, sstool migrate abort the new
ones. Stopping it at any moment, with kill -9 too, loses nothing; the same command
continues. On other hosts sstool migrate apply-local does the directories, with the
migration file that is named at the end.

Repartition topics need not be copied when the application has processed all of
their records; else they are refused, or copied with --with-repartition.`

const renameExample = `  # A generated name becomes one that stays.
  sstool rename KSTREAM-AGGREGATE-STATE-STORE-0000000003 totals --application-id orders --state-dir /var/lib/kafka-streams --dry-run

  # The three stores of a join, and a store of its own, in one go.
  sstool rename orders-payments order-payments totals order-totals --application-id orders --yes`

// renameFlags are the flags of sstool rename.
type renameFlags struct {
	migrateFlags
	applicationID string
	only          bool
}

func newRename(a *app) *cobra.Command {
	var f renameFlags
	cmd := &cobra.Command{
		Use:         "rename OLD NEW [OLD NEW]…",
		Short:       "give stores other names without losing their state",
		Long:        renameLong,
		Example:     renameExample,
		Annotations: exits(migrateExits),
		Args:        cobra.ArbitraryArgs,
	}
	section(cmd, "Which application", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.applicationID, "application-id", "", "the application's `ID` (application.id)")
		fs.BoolVar(&f.only, "only", false, "rename just the store, nothing that is named after it")
	})
	f.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.rename(cmd.Context(), &f, args) })
	return cmd
}

// rename is the command: names → moves → plan → apply → report.
func (a *app) rename(ctx context.Context, f *renameFlags, args []string) error {
	names, err := namePairs(args)
	if err != nil {
		return err
	}
	if f.applicationID == "" {
		return op.Errorf(op.Usage, "whose store?").WithTry("--application-id ID")
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	moves, topics, err := migrate.ResolveRename(ctx, client, migrate.RenameOptions{ApplicationID: f.applicationID, Names: names, Only: f.only, StateDir: f.stateDir})
	if err != nil {
		return err
	}
	return a.migration(ctx, &f.migrateFlags, client, migrate.MigrationOptions{
		Kind: migrate.Rename, OldApp: f.applicationID, NewApp: f.applicationID, Moves: moves, Topics: topics,
	}, show)
}

// namePairs reads OLD NEW OLD NEW ….
func namePairs(args []string) ([]migrate.NamePair, error) {
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, op.Errorf(op.Usage, "an old name and a new one are needed, there are %d arguments", len(args)).WithTry("sstool rename OLD NEW")
	}
	var out []migrate.NamePair
	for i := 0; i < len(args); i += 2 {
		out = append(out, migrate.NamePair{Old: args[i], New: args[i+1]})
	}
	return out, nil
}
