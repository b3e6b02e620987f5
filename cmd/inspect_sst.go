package cmd

import (
	"context"
	"errors"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
)

const inspectSSTLong = `Shows SST files one by one: level and column family, entries by kind, the first
and the last key, tombstones, sizes, format and who wrote them. PATH is a state
directory, an application's, a task's or a store's directory, one file, or files
of another system's RocksDB; of one file, everything is shown.

The figures are what each file says of itself. --verify reads all of it instead:
every block's checksum, every key in its order, the counts. --scan streams the
entries as they are stored, each version of a key and every tombstone, in constant
memory.

Nothing is changed and no lock is taken, so the application may be running: what
is still in its memory is not seen.`

const inspectSSTExample = `  sstool inspect sst /var/lib/kafka-streams/orders/0_1/rocksdb/totals
  sstool inspect sst /var/lib/kafka-streams --store totals --sort tombstones -o wide
  sstool inspect sst 000012.sst --properties
  sstool inspect sst /backup/orders --verify --keep-going
  sstool inspect sst 000012.sst --scan -o jsonl | head`

// inspectSSTFlags are the flags of sstool inspect sst.
type inspectSSTFlags struct {
	selectFlags
	properties, scan, verify, keepGoing bool
	limit                               numberValue
}

func newInspectSST(a *app) *cobra.Command {
	f := inspectSSTFlags{limit: numberValue{min: 1}}
	cmd := &cobra.Command{
		Use:     "sst PATH…",
		Short:   "show SST files: entries, keys, tombstones, sizes, format; verify or scan them",
		Long:    inspectSSTLong,
		Example: inspectSSTExample,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or unusable input"}, {4, "some files could not be read"},
			{10, "not found"}, {12, "a file is corrupt"}, {130, "interrupted"},
		}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no PATH: give a state directory, a store, an SST file, or several")
			}
			return nil
		},
	}
	section(cmd, "What is shown", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.properties, "properties", false, "all raw properties of each file")
		fs.BoolVar(&f.verify, "verify", false, "read and check every block; exit 12 when a file is corrupt")
		fs.BoolVar(&f.scan, "scan", false, "stream every entry: sequence, kind, key, value (-o table, jsonl, csv)")
		fs.BoolVar(&f.keepGoing, "keep-going", false, "with --verify or --scan: go on past what is corrupt")
		f.registerSerde(cmd, true)
		fs.Var(&f.limit, "limit", "with --scan: at most `N` entries of each file")
	})
	section(cmd, "Which files, and how", func(*pflag.FlagSet) {
		f.register(cmd, []string{"place", "size", "entries", "tombstones", "share", "created"},
			formatTable, formatWide, formatJSON, formatJSONL, formatCSV)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.inspectSST(cmd.Context(), &f, args) })
	return cmd
}

// inspectSST is the command: paths → files → one of its faces.
func (a *app) inspectSST(ctx context.Context, f *inspectSSTFlags, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	var selected []inspect.Selection
	for _, p := range paths {
		s, err := f.selection(p)
		if err != nil {
			return err
		}
		selected = append(selected, s)
	}
	if f.scan {
		return a.scanSST(ctx, f, selected)
	}
	show := a.startProgress(f.progress)
	res, err := inspect.InspectSST(ctx, inspect.SSTOptions{
		Select: selected, Properties: f.properties, Verify: f.verify, KeepGoing: f.keepGoing, Parallel: runtime.GOMAXPROCS(0),
	}, show.sink)
	show.close()
	if err != nil {
		return err
	}
	sortSST(res.Files, f.sort.value)
	switch {
	case f.out.value == formatJSONL:
		err = emitLines(a, "inspect.sst.file", res.Files)
	default:
		detail := len(res.Files) == 1 && len(paths) == 1 && !isDirectory(paths[0])
		err = emit(a, f.out, "inspect.sst", res, func(w *tableWriter, res *inspect.SSTFiles) { renderSST(w, res, detail) })
	}
	if err != nil {
		return err
	}
	return problemsError("inspect sst", res.Problems)
}

// check refuses flags that say nothing together.
func (f *inspectSSTFlags) check() error {
	switch {
	case f.scan && f.verify:
		return op.Errorf(op.Usage, "--scan and --verify: one of them").WithTry("--verify reads the same blocks and tells more about damage")
	case f.keepGoing && !f.scan && !f.verify:
		return op.Errorf(op.Usage, "--keep-going goes with --verify or --scan")
	case f.limit.set && !f.scan:
		return op.Errorf(op.Usage, "--limit goes with --scan")
	case f.scan && f.properties:
		return op.Errorf(op.Usage, "--scan streams entries, --properties shows files: one of them")
	case f.scan && (f.out.value == formatJSON || f.out.value == formatWide):
		return op.Errorf(op.Usage, "--scan has no -o %s: it streams", f.out.value).WithTry("-o jsonl, an entry a line")
	}
	return nil
}
