package cmd

import (
	"github.com/spf13/cobra"
)

// newInspect is the parent of the commands that only read; run alone it draws
// the map.
func newInspect(a *app) *cobra.Command {
	cmd := newInspectMap(a)
	cmd.AddCommand(inspectCommands(a)...)
	return cmd
}

// inspectCommands are the commands below inspect, in the order of the help.
func inspectCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		newInspectSST(a),
		newInspectTombstones(a),
		newInspectLevels(a),
		newInspectChangelog(a),
		newInspectOffsets(a),
	}
}
