package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/topodraw"
	"sstool/internal/op"
)

const topologyDrawLong = `Draws a topology with its stores and internal topics: as a tree for a terminal, as a
flowchart of Mermaid (which GitHub and GitLab show in Markdown), or as a graph for
Graphviz. With an application id the changelogs are in it, and all topics have
their full names. FILE is the text of Topology#describe(); - is stdin.`

// mermaidEdges is how many arrows Mermaid draws unless it is told otherwise.
const mermaidEdges = 500

// topologyDrawFlags are the flags of sstool topology draw.
type topologyDrawFlags struct {
	appID        string
	fromLog      bool
	optimization choiceValue
	out          outputFlag
}

func newTopologyDraw(a *app) *cobra.Command {
	var f topologyDrawFlags
	cmd := &cobra.Command{
		Use:   "draw [APP=]FILE",
		Short: "draw a topology as a tree, for Mermaid or for Graphviz",
		Long:  topologyDrawLong,
		Example: `  sstool topology draw topology.txt
  sstool topology draw orders=topology.txt -o dot | dot -Tsvg > topology.svg`,
		Annotations: exits([]exit{{0, "ok"}, {1, "failed"}, {2, "wrong flags, or a text that cannot be used"}, {10, "no such file"}}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("one topology is drawn, not %d: FILE with the text of Topology#describe()", len(args))
			}
			return nil
		},
	}
	section(cmd, "What is drawn", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id `ID`: changelogs are drawn, and internal topics named in full")
		fs.BoolVar(&f.fromLog, "from-log", false, "FILE is a log: its last topology is drawn")
		f.optimization.choices = []string{"all", "none"}
		fs.Var(&f.optimization, "topology-optimization", "topology.optimization of the application: `all` or none; with all, source topics are changelogs")
		f.out.register(cmd, formatTree, formatMermaid, formatDOT)
	})
	complete(cmd, "topology-optimization", f.optimization.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.topologyDraw(cmd, &f, args[0]) })
	return cmd
}

func (a *app) topologyDraw(cmd *cobra.Command, f *topologyDrawFlags, arg string) error {
	texts, err := a.topologyTexts(cmd, []string{arg}, f.appID, f.fromLog)
	if err != nil {
		return err
	}
	o := topodraw.Options{Optimized: f.optimization.value == "all", ASCII: !a.utf8Terminal(), Printable: printable}
	var text string
	switch f.out.value {
	case formatMermaid:
		text = topodraw.Mermaid(texts[0].Topologies, o)
		if n := strings.Count(text, " --> ") + strings.Count(text, " -.- "); n > mermaidEdges {
			a.warn(cmd, fmt.Sprintf("%d arrows: Mermaid draws %d unless its maxEdges is set higher", n, mermaidEdges))
		}
	case formatDOT:
		text = topodraw.DOT(texts[0].Topologies, o)
	default:
		text = topodraw.Tree(texts[0].Topologies, o)
	}
	if _, err := a.io.Out.Write([]byte(text)); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}
