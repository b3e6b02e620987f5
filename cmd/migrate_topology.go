package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/topodiff"
	"sstool/internal/op"
	"sstool/internal/topology"
	"sstool/migrate"
)

const migrateTopologyLong = `Moves the state of an application from the names that its topology OLD gives to those
of NEW, as one migration: the two are compared by structure, as sstool topology diff
does, and every store and internal topic that is the same under another name is
renamed, every task directory whose sub-topology has got another number is cloned under
it. The new version of the application then starts with all of its state.

It is the rescue when an insertion has shifted generated names. Where a new name is
another store's old one, it is refused: the two cannot be told apart by name. Then give
these stores names of their own in NEW (sstool lint and sstool topology diff say with
which call), and migrate to that.

Look at the table before you say yes: what the texts cannot tell apart is refused
unless --accept names it. Stores that only OLD or only NEW has are left alone.

Where directories get the number that a global store has in OLD, it is refused when the
application runs on Kafka Streams 4.3 or later: OLD would not start beside the clones, so
there were no way back but sstool migrate abort. --force does it all the same.

OLD and NEW are files with the text of Topology#describe(); - is stdin.`

// migrateTopologyFlags are the flags of sstool migrate topology.
type migrateTopologyFlags struct {
	migrateFlags
	applicationID string
	fromLog       bool
	accept        namesValue
	force         bool
}

func newMigrateTopology(a *app) *cobra.Command {
	var f migrateTopologyFlags
	cmd := &cobra.Command{
		Use:   "topology OLD NEW",
		Short: "move the state from the names of one topology to those of another",
		Long:  migrateTopologyLong,
		Example: `  sstool migrate topology deployed.txt built.txt --application-id orders --state-dir /var/lib/kafka-streams --dry-run
  kubectl logs orders-0 | sstool migrate topology - built.txt --from-log --application-id orders --yes`,
		Annotations: exits(migrateExits),
		Args:        cobra.ArbitraryArgs,
	}
	section(cmd, "The two versions", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.applicationID, "application-id", "", "the application's `ID` (application.id)")
		fs.BoolVar(&f.fromLog, "from-log", false, "OLD and NEW are logs: the last topology of each, and other lines are no problem")
		fs.Var(&f.accept, "accept", "these stores and internal topics are matched rightly, `NAMES` as they are in OLD")
		fs.BoolVar(&f.force, "force", false, "clone task directories also to numbers that global stores have in OLD, which does not start beside them")
	})
	f.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.migrateTopology(cmd, &f, args) })
	return cmd
}

// migrateTopology is the command: texts → comparison → moves → plan → apply →
// report.
func (a *app) migrateTopology(cmd *cobra.Command, f *migrateTopologyFlags, args []string) error {
	if len(args) != 2 {
		return op.Errorf(op.Usage, "two topologies are needed, OLD and NEW, there are %d arguments", len(args)).
			WithTry("files with the text of Topology#describe(): sstool migrate topology OLD NEW --application-id ID")
	}
	if f.applicationID == "" {
		return op.Errorf(op.Usage, "whose topologies?").WithTry("--application-id ID")
	}
	ctx := cmd.Context()
	texts, err := a.topologyTexts(cmd, args, f.applicationID, f.fromLog)
	if err != nil {
		return err
	}
	old, new, err := oneEach(texts)
	if err != nil {
		return err
	}
	diff, err := topodiff.Diff(ctx, old, new, topodiff.Options{OldApp: f.applicationID, NewApp: f.applicationID, Accept: f.accept})
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	topics, err := client.Topics(ctx)
	if err != nil {
		return err
	}
	m := topologyMoves{app: f.applicationID, old: old, new: new, accept: f.accept, exists: map[string]bool{}}
	for _, t := range topics {
		m.exists[t.Name] = true
	}
	if err := m.take(diff); err != nil {
		return err
	}
	return a.migration(ctx, &f.migrateFlags, client, migrate.MigrationOptions{
		Kind: migrate.TopologyMigration, OldApp: f.applicationID, NewApp: f.applicationID, Moves: m.moves, Topics: m.topics, Warnings: m.warnings, Force: f.force,
	}, show)
}

// oneEach takes the topology of each text.
func oneEach(texts []*topology.Model) (old, new *topology.Topology, err error) {
	for _, m := range texts {
		if n := len(m.Topologies); n != 1 {
			return nil, nil, op.Errorf(op.Usage, "%s has %d topologies", m.File, n).WithTry("give one with one; named topologies are not migrated")
		}
		if name := m.Topologies[0].Name; name != "" {
			return nil, nil, op.Errorf(op.Usage, "%s is a named topology (%s), which is not migrated", m.File, fmt.Sprintf("%q", name))
		}
	}
	return &texts[0].Topologies[0], &texts[1].Topologies[0], nil
}
