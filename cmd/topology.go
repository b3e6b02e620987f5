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
		Long:        "Compares two versions of an application's topology, and draws one. Both read the\ntext of Topology#describe(), in any wrapping that people have it in.",
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
		for i, p := range m.Problems {
			if i == problemsShown {
				a.warn(cmd, fmt.Sprintf("%s: %d more lines like these; sstool lint tells all", m.File, len(m.Problems)-i))
				break
			}
			a.warn(cmd, fmt.Sprintf("%s:%d: %s", m.File, p.Line, p.Message))
		}
	}
	return models, nil
}
