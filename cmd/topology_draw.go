package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/topodraw"
	"sstool/internal/op"
	"sstool/internal/topology"
)

const topologyDrawLong = `Draws a topology with its stores and internal topics: as a tree for a terminal, as a
flowchart of Mermaid (which GitHub and GitLab show in Markdown), or as a graph for
Graphviz. With an application id the changelogs are in it, and all topics have
their full names. FILE is the text of Topology#describe(); - is stdin. Without FILE,
--bootstrap-server and --application-id draw what the brokers hold of an application
that runs with group.protocol=streams.`

// mermaidEdges is how many arrows Mermaid draws unless it is told otherwise.
const mermaidEdges = 500

// topologyDrawFlags are the flags of sstool topology draw.
type topologyDrawFlags struct {
	kafka        kafkaFlags
	appID        string
	fromLog      bool
	optimization choiceValue
	out          outputFlag
}

func newTopologyDraw(a *app) *cobra.Command {
	var f topologyDrawFlags
	cmd := &cobra.Command{
		Use:   "draw [[APP=]FILE]",
		Short: "draw a topology as a tree, for Mermaid or for Graphviz",
		Long:  topologyDrawLong,
		Example: `  sstool topology draw topology.txt
  sstool topology draw orders=topology.txt -o dot | dot -Tsvg > topology.svg
  sstool topology draw --application-id orders --bootstrap-server localhost:9092`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or a text that cannot be used"}, {10, "no such file or group"},
			{13, "Kafka unreachable or access denied"}, {14, "the cluster id differs, or the brokers hold no topology of the group"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "What is drawn", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id `ID`: changelogs are drawn, and internal topics named in full")
		fs.BoolVar(&f.fromLog, "from-log", false, "FILE is a log: its last topology is drawn")
		f.optimization.choices = []string{"all", "none"}
		fs.Var(&f.optimization, "topology-optimization", "topology.optimization of the application: `all` or none; with all, source topics are changelogs")
		f.kafka.register(cmd)
		f.out.register(cmd, formatTree, formatMermaid, formatDOT)
	})
	complete(cmd, "topology-optimization", f.optimization.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.topologyDraw(cmd, &f, args) })
	return cmd
}

func (a *app) topologyDraw(cmd *cobra.Command, f *topologyDrawFlags, args []string) error {
	m, err := a.drawn(cmd, f, args)
	if err != nil {
		return err
	}
	o := topodraw.Options{Optimized: f.optimization.value == "all", ASCII: !a.utf8Terminal(), Printable: printable}
	var text string
	switch f.out.value {
	case formatMermaid:
		text = topodraw.Mermaid(m.Topologies, o)
		if n := strings.Count(text, " --> ") + strings.Count(text, " -.- "); n > mermaidEdges {
			a.warn(cmd, fmt.Sprintf("%d arrows: Mermaid draws %d unless its maxEdges is set higher", n, mermaidEdges))
		}
	case formatDOT:
		text = topodraw.DOT(m.Topologies, o)
	default:
		text = topodraw.Tree(m.Topologies, o)
	}
	if _, err := a.io.Out.Write([]byte(text)); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

// drawn is the one topology, or those of one application: of a text, or what
// brokers hold.
func (a *app) drawn(cmd *cobra.Command, f *topologyDrawFlags, args []string) (*topology.Model, error) {
	switch {
	case len(args) == 1:
		texts, err := a.topologyTexts(cmd, args, f.appID, f.fromLog)
		if err != nil {
			return nil, err
		}
		return texts[0], nil
	case len(args) > 1 || !a.asksCluster(&f.kafka):
		return nil, op.Errorf(op.Usage, "one topology is drawn, not %d: FILE with the text of Topology#describe()", len(args)).
			WithTry("or no FILE, with --bootstrap-server and --application-id: what the brokers hold")
	}
	if err := whoseTopology(f.appID); err != nil {
		return nil, err
	}
	client, err := f.kafka.open(cmd.Context(), func(text string) { a.warn(cmd, text) })
	if err != nil {
		return nil, err
	}
	defer client.Close()
	m, err := client.StreamsTopology(cmd.Context(), f.appID)
	if err == nil {
		a.tellProblems(cmd, m)
	}
	return m, err
}
