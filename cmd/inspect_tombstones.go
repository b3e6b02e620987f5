package cmd

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
)

const inspectTombstonesLong = `Counts RocksDB's delete entries: by store, column family, level or file, with the
bytes that they and the rows they hide still take, how many lie in the last sorted
run, how old their files are, where an iterator has to pass many of them, and what
a compaction of everything would free.

The counts come from one merge scan of every column family, so they are exact;
--estimate takes the files' own properties instead and is fast on any size.

A tombstone here is a delete in a RocksDB file. A record with a null value in a
changelog topic is another thing (sstool inspect changelog), and so is the row of
a versioned store that says "deleted".

Nothing is changed and no lock is taken, so the application may be running: what
is still in its memory is not seen.`

const inspectTombstonesExample = `  sstool inspect tombstones /var/lib/kafka-streams
  sstool inspect tombstones /var/lib/kafka-streams/orders --by file --sort reclaim
  sstool inspect tombstones /var/lib/kafka-streams --estimate -o json`

// inspectTombstonesFlags are the flags of sstool inspect tombstones.
type inspectTombstonesFlags struct {
	selectFlags
	estimate bool
	by       choiceValue
	ranges   numberValue
}

func newInspectTombstones(a *app) *cobra.Command {
	f := inspectTombstonesFlags{by: choiceValue{value: "store", choices: []string{"store", "family", "level", "file"}}, ranges: numberValue{min: 1, max: 1000}}
	cmd := &cobra.Command{
		Use:     "tombstones PATH",
		Short:   "count RocksDB's deletes: what they hold, where they are dense, what compaction would free",
		Long:    inspectTombstonesLong,
		Example: inspectTombstonesExample,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or unusable input"}, {4, "some files could not be read"},
			{10, "not found"}, {12, "a file is corrupt"}, {130, "interrupted"},
		}),
		Args: onePath,
	}
	section(cmd, "What is counted", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.estimate, "estimate", false, "from the files' properties alone, without reading entries")
		fs.Var(&f.by, "by", "a row per `WHAT`: store, family, level or file")
		fs.Var(&f.ranges, "ranges", "the `N` densest key ranges (default 5)")
		f.registerSerde(cmd, false)
	})
	complete(cmd, "by", f.by.choices)
	section(cmd, "Which stores, and how", func(*pflag.FlagSet) {
		f.register(cmd, []string{"place", "tombstones", "share", "reclaim", "size"}, formatTable, formatWide, formatJSON, formatJSONL, formatCSV)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.inspectTombstones(cmd.Context(), &f, args[0]) })
	return cmd
}

// mergeScans is how many column families are merged at a time: each may read
// ahead 48 MiB.
const mergeScans = 2

// inspectTombstones is the command: path → counts → one of their faces.
func (a *app) inspectTombstones(ctx context.Context, f *inspectTombstonesFlags, path string) error {
	selected, err := f.selection(path)
	if err != nil {
		return err
	}
	o := inspect.TombstonesOptions{Select: selected, Estimate: f.estimate, Ranges: int(f.ranges.or(5)), Parallel: mergeScans}
	if f.estimate {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	show := a.startProgress(f.progress)
	res, err := inspect.InspectTombstones(ctx, o, show.sink)
	show.close()
	if err != nil {
		return err
	}
	rows := tombstoneRows(res, f.by.value)
	sortTombstones(rows, f.sort.value)
	if f.out.value == formatJSONL {
		err = emitLines(a, "inspect.tombstones."+f.by.value, rows)
	} else {
		err = emit(a, f.out, "inspect.tombstones", res, func(w *tableWriter, r *inspect.Tombstones) {
			renderTombstones(w, r, rows, f.by.value)
		})
	}
	if err != nil {
		return err
	}
	return problemsError("inspect tombstones", res.Problems)
}
