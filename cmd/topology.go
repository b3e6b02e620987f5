package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"sstool/internal/topology"
)

// Formats of a drawing.
const (
	formatTree    format = "tree"
	formatMermaid format = "mermaid"
	formatDOT     format = "dot"
)

// problemsShown is how many oddities of a text are told.
const problemsShown = 5

// newTopology is the parent of the commands about whole topologies.
func newTopology(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "topology",
		Short:       "compare and draw topologies",
		Long:        "Compares two versions of an application's topology, and draws one. Both read the\ntext of Topology#describe(), in any wrapping that people have it in, or what brokers\nhold of an application with group.protocol=streams.",
		Example:     "  sstool topology diff deployed.txt built.txt --application-id orders\n  sstool topology draw built.txt -o mermaid",
		Annotations: exits(exitsBasic),
	}
	group(cmd)
	cmd.AddCommand(newTopologyDiff(a), newTopologyDraw(a))
	return cmd
}

// topologyTexts reads the texts that arguments name.
func (a *app) topologyTexts(cmd *cobra.Command, args []string, appID string, log bool) ([]*topology.Model, error) {
	models, err := topology.Load(args, a.io.In, topology.Options{ApplicationID: appID, Log: log})
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		a.tellProblems(cmd, m)
	}
	return models, nil
}

// tellProblems says what is odd in a text, or missing in what brokers hold.
func (a *app) tellProblems(cmd *cobra.Command, m *topology.Model) {
	for i, p := range m.Problems {
		if i == problemsShown {
			a.warn(cmd, fmt.Sprintf("%s: %d more lines like these; sstool lint tells all", m.File, len(m.Problems)-i))
			break
		}
		a.warn(cmd, fmt.Sprintf("%s: %s", lintPlace(m.File, p.Line), p.Message))
	}
}
