package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/migrate"
)

const migrateApplicationLong = `Moves an application to another application.id with all of its state: its internal
topics are copied to the names that the new id gives them, the committed offsets of
its group are committed for the new group, with the metadata in which Kafka Streams
keeps how far time has come, and the directories below --state-dir are cloned. The
application starts under the new id where it stopped under the old one, with nothing
left to restore.

Both groups must be without members. Nothing old is deleted or changed: sstool migrate
finish removes it later, sstool migrate abort removes the new. Stopping it at any
moment loses nothing; the same command continues.

The internal topics are those that the cluster has by the names Kafka Streams gives
them. With --topology they are exactly those of the topology: give it when another
application's id begins with the same words.

What does not go along: ACLs on the group, on the transactional id and on prefixes of
the old id (--with-acls copies those that name a topic), client quotas, subjects of a
Schema Registry that are named after internal topics, and whatever else of yours has
the old id in its name. Topics of your own stay what they are.`

// migrateApplicationFlags are the flags of sstool migrate application.
type migrateApplicationFlags struct {
	migrateFlags
	topology string
	fromLog  bool
}

func newMigrateApplication(a *app) *cobra.Command {
	var f migrateApplicationFlags
	cmd := &cobra.Command{
		Use:   "application OLD NEW",
		Short: "move an application to another application.id with its state",
		Long:  migrateApplicationLong,
		Example: `  sstool migrate application orders order-service --state-dir /var/lib/kafka-streams --bootstrap-server localhost:9092 --dry-run
  sstool migrate application orders order-service --topology orders.txt --state-dir /var/lib/kafka-streams --yes`,
		Annotations: exits(migrateExits),
		Args:        cobra.ArbitraryArgs,
	}
	section(cmd, "Which topics", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.topology, "topology", "", "the text of Topology#describe() in `FILE`: its internal topics and no others (default those of the cluster that are called so)")
		fs.BoolVar(&f.fromLog, "from-log", false, "the file is a log: the last topology in it")
	})
	f.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.migrateApplication(cmd, &f, args) })
	return cmd
}

// migrateApplication is the command: ids → topics → plan → apply → report.
func (a *app) migrateApplication(cmd *cobra.Command, f *migrateApplicationFlags, args []string) error {
	if len(args) != 2 {
		return op.Errorf(op.Usage, "the old application id and the new one are needed, there are %d arguments", len(args)).WithTry("sstool migrate application OLD NEW")
	}
	o := migrate.ApplicationOptions{Old: args[0], New: args[1], StateDir: f.stateDir}
	var err error
	if f.topology != "" {
		if o.Topics, err = a.internalTopics(cmd, f, o.Old); err != nil {
			return err
		}
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(cmd.Context(), show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	return a.moveApplication(cmd.Context(), f, client, o, show)
}

// internalTopics are the topics that a topology makes Kafka Streams make.
func (a *app) internalTopics(cmd *cobra.Command, f *migrateApplicationFlags, id string) ([]string, error) {
	models, err := a.topologyTexts(cmd, []string{f.topology}, id, f.fromLog)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, m := range models {
		for i := range m.Topologies {
			for _, t := range m.Topologies[i].InternalTopics(id) {
				out = append(out, t.Name)
			}
		}
	}
	return out, nil
}

// moveApplication plans and applies with what was resolved.
func (a *app) moveApplication(ctx context.Context, f *migrateApplicationFlags, client *kafka.Client, o migrate.ApplicationOptions, show *progress) error {
	r, err := migrate.ResolveApplication(ctx, client, o)
	if err != nil {
		return err
	}
	group, err := migrate.GroupStep(ctx, client, o.Old, o.New)
	if err != nil {
		return err
	}
	// Offsets in a repartition topic mean nothing in the copy until they are mapped,
	// which the group's step does: so records in flight go along by themselves.
	f.withRepartition = true
	return a.migration(ctx, &f.migrateFlags, client, migrate.MigrationOptions{
		Kind: migrate.ApplicationChanged, OldApp: o.Old, NewApp: o.New, Moves: r.Moves, Topics: r.Topics, Warnings: r.Warnings, Extra: []migrate.Step{group},
	}, show)
}
