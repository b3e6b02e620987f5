package cmd

import (
	"github.com/spf13/cobra"
)

const inspectLong = `Shows what state lies on disk and in which condition. Nothing is changed and no
lock is taken, so the application may be running: what is still in its memory is
not seen.`

func newInspectMap(*app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "inspect",
		Short:       "show the state on disk: stores, files, tombstones, offsets",
		Long:        inspectLong,
		Example:     "  sstool inspect /var/lib/kafka-streams",
		Annotations: exits(exitsBasic),
	}
	group(cmd)
	return cmd
}
