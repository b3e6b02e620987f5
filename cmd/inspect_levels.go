package cmd

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
)

const inspectLevelsLong = `Shows the shape of RocksDB's trees: the sorted runs of each column family, what
they cost a reader and the disk, and what compaction would do next.

A file of level 0 is a sorted run of its own, every level below is one. An
iterator merges all runs (READ); the last one is about as large as the rows
(SPACE: all bytes / those of the last run). The next compaction and the pending
bytes come from playing RocksDB's own rules for the options in the OPTIONS file:
an upper bound, as no row is assumed to go away.

Of a few column families a picture is drawn, else a table; --bars draws always.
Nothing is changed and no lock is taken, so the application may be running.`

// inspectLevelsFlags are the flags of sstool inspect levels.
type inspectLevelsFlags struct {
	selectFlags
	bars bool
}

func newInspectLevels(a *app) *cobra.Command {
	var f inspectLevelsFlags
	cmd := &cobra.Command{
		Use:   "levels PATH",
		Short: "show the shape of the LSM trees: sorted runs, amplification, pending compaction",
		Long:  inspectLevelsLong,
		Example: `  sstool inspect levels /var/lib/kafka-streams/orders/0_1/rocksdb/totals
  sstool inspect levels /var/lib/kafka-streams --sort pending`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or unusable input"}, {4, "some databases could not be read"},
			{10, "not found"}, {12, "a file is corrupt"}, {130, "interrupted"},
		}),
		Args: onePath,
	}
	section(cmd, "Which stores, and how", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.bars, "bars", false, "draw every column family, however many there are")
		f.register(cmd, []string{"place", "size", "runs", "read", "space", "pending"}, formatTable, formatWide, formatJSON, formatJSONL, formatCSV)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.inspectLevels(cmd.Context(), &f, args[0]) })
	return cmd
}

// inspectLevels is the command: path → shapes → one of their faces.
func (a *app) inspectLevels(ctx context.Context, f *inspectLevelsFlags, path string) error {
	selected, err := f.selection(path)
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	res, err := inspect.InspectLevels(ctx, inspect.LevelsOptions{Select: selected, Parallel: runtime.GOMAXPROCS(0)}, show.sink)
	show.close()
	if err != nil {
		return err
	}
	sortLevels(res.Families, f.sort.value)
	if f.out.value == formatJSONL {
		err = emitLines(a, "inspect.levels.family", res.Families)
	} else {
		err = emit(a, f.out, "inspect.levels", res, func(w *tableWriter, r *inspect.Levels) {
			renderLevels(w, r, f.bars, a.utf8Terminal())
		})
	}
	if err != nil {
		return err
	}
	return problemsError("inspect levels", res.Problems)
}
