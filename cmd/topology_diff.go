package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/topodiff"
	"sstool/internal/op"
	"sstool/internal/topology"
)

const topologyDiffLong = `Compares two versions of an application's topology, OLD as it runs and NEW as it
will, and says what the change does to state: which stores lose their changelog
because a generated name has shifted, which move to other tasks, which repartition
topics leave records behind, and the call that keeps each name.

The two are matched by structure, never by generated numbers. Exit code 3 means
that state or records in flight would be lost; --accept NAME says that a loss is
meant. With an application id (--application-id, or APP=FILE) the topics are named
in full. FILE is the text of Topology#describe(); - is stdin.

With --state-dir the directories of this host are listed that NEW does not open.

With a cluster on the command line (--bootstrap-server, --command-config, --context)
the partition counts are those of its topics. OLD may be left out then: it is what
the brokers hold of the application that runs with group.protocol=streams.`

const topologyDiffExample = `  sstool topology diff deployed.txt built.txt --application-id orders
  sstool topology diff deployed.txt built.txt --accept old-totals -o github
  kubectl logs orders-0 | sstool topology diff - built.txt --from-log

  # What runs, as the brokers hold it (group.protocol=streams), against what was built.
  sstool topology diff built.txt --application-id orders --bootstrap-server localhost:9092`

// topologyDiffFlags are the flags of sstool topology diff.
type topologyDiffFlags struct {
	kafka                     kafkaFlags
	appID, stateDir           string
	fromLog                   bool
	partitions, oldPartitions string
	optimization              choiceValue
	accept                    namesValue
	out                       outputFlag
}

func newTopologyDiff(a *app) *cobra.Command {
	var f topologyDiffFlags
	cmd := &cobra.Command{
		Use:     "diff [OLD] NEW",
		Short:   "say what a change of a topology does to the state of the application",
		Long:    topologyDiffLong,
		Example: topologyDiffExample,
		Annotations: exits([]exit{
			{0, "nothing is lost"}, {1, "failed"}, {2, "wrong flags, or a text that cannot be used"},
			{3, "state or records in flight would be lost"}, {10, "no such file or group"}, {13, "Kafka unreachable or access denied"},
			{14, "the cluster id differs, or the brokers hold no topology of the group"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "The two versions", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id of both, `ID`; APP=FILE says one's own")
		fs.BoolVar(&f.fromLog, "from-log", false, "OLD and NEW are logs: the last topology of each, and other lines are no problem")
	})
	section(cmd, "What the texts do not tell", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.partitions, "topic-partitions", "", "`FILE` with a line \"TOPIC PARTITIONS\" for each topic, or what kafka-topics.sh --describe prints")
		fs.StringVar(&f.oldPartitions, "old-topic-partitions", "", "`FILE` of the same form for OLD (default the same counts)")
		f.optimization.choices = []string{"all", "none"}
		fs.Var(&f.optimization, "topology-optimization", "topology.optimization of the application: `all` or none; with all, source topics are changelogs")
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of this host: its directories that NEW does not open are listed")
		f.kafka.register(cmd)
	})
	section(cmd, "The outcome", func(fs *pflag.FlagSet) {
		fs.Var(&f.accept, "accept", "the loss of these stores and internal topics is meant, `NAMES` as they are in OLD")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatGitHub)
	})
	complete(cmd, "topology-optimization", f.optimization.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.topologyDiff(cmd, &f, args) })
	return cmd
}

// twoTopologies checks the arguments: OLD may be left out where brokers tell it.
func (f *topologyDiffFlags) twoTopologies(args []string, cluster bool) error {
	switch {
	case len(args) > 2:
		return op.Errorf(op.Usage, "unexpected argument %q: two topologies are compared, OLD and NEW", args[2])
	case len(args) == 1 && cluster:
		return whoseTopology(f.appID)
	case len(args) < 2:
		return op.Errorf(op.Usage, "two topologies are compared: OLD and NEW, files with the text of Topology#describe()").
			WithTry("or NEW alone with --bootstrap-server and --application-id: OLD is what the brokers hold")
	}
	return nil
}

// topologyDiff is the command: two topologies → comparison → one of its faces.
func (a *app) topologyDiff(cmd *cobra.Command, f *topologyDiffFlags, args []string) error {
	cluster := a.asksCluster(&f.kafka)
	if err := f.twoTopologies(args, cluster); err != nil {
		return err
	}
	o := topodiff.Options{Optimized: f.optimization.value == "all", Accept: f.accept}
	var err error
	if o.OldPartitions, o.NewPartitions, err = f.partitionCounts(); err != nil {
		return err
	}
	texts, err := a.topologyTexts(cmd, args, f.appID, f.fromLog)
	if err != nil {
		return err
	}
	if f.stateDir != "" && (a.given["state-dir"] || a.given["context"]) {
		if o.Dirs, err = dirsOf(cmd.Context(), f.stateDir, texts[0]); err != nil {
			return err
		}
	}
	if cluster {
		if texts, err = a.diffCluster(cmd, f, texts, &o); err != nil {
			return err
		}
	}
	c, err := topodiff.Compare(cmd.Context(), texts[0].Topologies, texts[1].Topologies, o)
	if err != nil {
		return err
	}
	for _, name := range c.Unknown(f.accept) {
		a.warn(cmd, fmt.Sprintf("--accept %s: OLD has no store or internal topic of that name", name))
	}
	if f.out.value == formatGitHub {
		err = a.emitTopologyGitHub(c)
	} else {
		err = emit(a, f.out, "topology.diff", c, renderTopologyDiff)
	}
	if err != nil || c.Losses == 0 {
		return err
	}
	return op.Errorf(op.Problems, "%s", lossText(c.Losses))
}

// dirsOf are the stores on disk, of all applications.
func dirsOf(ctx context.Context, stateDir string, m *topology.Model) ([]topodiff.Dir, error) {
	if err := checkDir("--state-dir", stateDir); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(m.Topologies, func(t topology.Topology) bool { return t.ApplicationID == "" }) {
		return nil, op.Errorf(op.Usage, "whose directories of --state-dir are meant?").WithTry("--application-id ID")
	}
	found, err := storesOnDisk(ctx, stateDir)
	var out []topodiff.Dir
	for _, d := range found {
		if d.Global || d.Subtopology >= 0 {
			out = append(out, topodiff.Dir{App: d.AppID, Topology: d.Topology, Store: d.Name, Path: d.Path, Subtopology: d.Subtopology})
		}
	}
	return out, err
}

// partitionCounts reads the files with partition counts.
func (f *topologyDiffFlags) partitionCounts() (old, new map[string]int, err error) {
	read := func(path string) (map[string]int, error) {
		facts, err := readPartitions(path)
		if err != nil {
			return nil, err
		}
		out := map[string]int{}
		for name, t := range facts.Topics {
			out[name] = t.Partitions
		}
		return out, nil
	}
	if f.partitions != "" {
		if new, err = read(f.partitions); err != nil {
			return nil, nil, err
		}
		old = new
	}
	if f.oldPartitions != "" {
		old, err = read(f.oldPartitions)
	}
	return old, new, err
}

func lossText(n int) string {
	if n == 1 {
		return "1 loss of state, or of records in flight"
	}
	return fmt.Sprintf("%d losses of state, or of records in flight", n)
}
