package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

const inspectLong = `Shows what state lies under PATH and in which condition: every application, task
and store with its kind, rows, tombstones, size, offset and status, and what is
wrong or remarkable. PATH may be a state directory, an application's or a task's
directory, one store, one segment, one .sst file, or a backup with such things
somewhere in it; without PATH it is --state-dir, or else the directory you are in.

Nothing is changed and no lock is taken, so the application may be running: what
is still in its memory is not seen. Only the properties of files are read, so a
terabyte takes no longer than its number of files.

In the table ~ marks an estimate and ? a kind that is likely, not certain. With
--bootstrap-server each store is compared with its changelog. LAG is how far the
offset on disk is behind the end of the changelog: so many records a start from
this disk would replay, compaction aside.`

const inspectExample = `  sstool inspect /var/lib/kafka-streams
  sstool inspect /var/lib/kafka-streams/orders --bootstrap-server localhost:9092
  sstool inspect /var/lib/kafka-streams/orders/0_1/rocksdb/counts -o wide
  sstool inspect /backup/host-7 --sum-by store -o json`

// mapFlags are the flags of the map.
type mapFlags struct {
	kafka        kafkaFlags
	stateDir, id string
	stores       namesValue
	tasks        namesValue
	kinds        namesValue
	sumBy        choiceValue
	retention    durationValue
	out          outputFlag
}

func newInspectMap(a *app) *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:     "inspect [PATH]",
		Short:   "show the state on disk: stores, files, tombstones, offsets",
		Long:    inspectLong,
		Example: inspectExample,
		Annotations: exits([]exit{
			{0, "ok; remarks do not change it"}, {1, "failed"}, {2, "wrong flags, or PATH is a file of something else"},
			{4, "some directories or files, or some topics, could not be read; the rest is told"},
			{10, "no such path, or no store under it; no such store, task or kind"},
			{12, "a database is damaged: rows may be lost; the rest is told"},
			{13, "Kafka unreachable or access denied; the disk is told all the same"}, {14, "the cluster id differs"},
		}),
		Args: onePath,
	}
	section(cmd, "What to show", func(fs *pflag.FlagSet) {
		f.registerPlace(fs)
		fs.Var(&f.kinds, "kind", "only stores of these `KINDS`: "+diskKinds())
		f.sumBy.choices = []string{inspect.SumByStore, inspect.SumByTask, inspect.SumByApp}
		fs.Var(&f.retention, "retention", "how long windows and sessions are kept, to tell which segments have expired (default as the changelog tells, else their interval)")
		fs.Var(&f.sumBy, "sum-by", "add up by `WHAT`: store, task or app")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatJSONL, formatCSV, formatTSV)
	})
	complete(cmd, "sum-by", f.sumBy.choices)
	section(cmd, "Compare with the changelogs", func(*pflag.FlagSet) { f.kafka.registerOptional(cmd) })
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.inspectMap(cmd.Context(), &f, args)
	})
	return cmd
}

// registerPlace adds the flags that say where to look and for what.
func (f *mapFlags) registerPlace(fs *pflag.FlagSet) {
	fs.StringVar(&f.stateDir, "state-dir", "", "`DIR` to look in when there is no PATH (default the current directory)")
	fs.StringVar(&f.id, "application-id", "", "only the application with this `ID` in --state-dir")
	fs.Var(&f.stores, "store", "only stores with these `NAMES`")
	fs.Var(&f.tasks, "task", "only these `TASKS`: 0_1, global, topology__0_1")
}

func diskKinds() string {
	var onDisk []streams.Kind
	for _, k := range streams.Kinds() {
		if k.OnDisk() {
			onDisk = append(onDisk, k)
		}
	}
	text := ""
	for i, k := range onDisk {
		if i > 0 {
			text += ", "
		}
		text += string(k)
	}
	return text
}

// where is the path that the command shows.
func (f *mapFlags) where(args []string) (string, error) {
	switch {
	case len(args) == 1:
		return args[0], nil
	case f.stateDir == "" && f.id == "":
		return ".", nil
	case f.stateDir == "":
		return "", op.Errorf(op.Usage, "--application-id %s in which directory?", f.id).WithTry("--state-dir DIR, or the application's directory as PATH")
	case f.id != "" && filepath.Base(filepath.Clean(f.stateDir)) != f.id:
		return filepath.Join(f.stateDir, f.id), nil
	}
	return f.stateDir, nil
}

// options turns the flags into the engine's.
func (f *mapFlags) options(args []string) (inspect.MapOptions, error) {
	o := inspect.MapOptions{Stores: f.stores, Tasks: f.tasks, SumBy: f.sumBy.value, Retention: time.Duration(f.retention)}
	path, err := f.where(args)
	if err != nil {
		return o, err
	}
	o.Path = path
	for _, name := range f.kinds {
		k, err := streams.ParseKind(name)
		if err != nil {
			return o, err
		}
		o.Kinds = append(o.Kinds, k)
	}
	return o, nil
}

// inspectMap is the command: flags → map → tables.
func (a *app) inspectMap(ctx context.Context, f *mapFlags, args []string) error {
	return a.withMapOptions(ctx, f, args, func(o inspect.MapOptions, sink op.Sink) error {
		m, err := inspect.MapPath(ctx, o, sink)
		if err != nil {
			return err
		}
		if err := a.emitMap(f.out, m); err != nil {
			return err
		}
		if err := m.Damage(); err != nil {
			return err
		}
		return mapOutcome(m.Unreadable, m.Cluster, o.ClientErr)
	})
}

// withMapOptions turns the flags into options, with a client when a cluster is
// named. One that does not answer keeps nobody from looking at the disk.
func (a *app) withMapOptions(ctx context.Context, f *mapFlags, args []string, fn func(inspect.MapOptions, op.Sink) error) error {
	o, err := f.options(args)
	if err != nil {
		return err
	}
	show := a.startProgress(progressFlag{"none"})
	defer show.close()
	o.Client, err = f.kafka.optional(ctx, show.warn)
	if o.Client != nil {
		defer o.Client.Close()
	}
	switch {
	case err == nil:
	case op.KindOf(err) == op.Unreachable:
		o.ClientErr = err
	default:
		return err
	}
	return fn(o, show.sink)
}

// optional connects when a cluster is named at all.
func (f *kafkaFlags) optional(ctx context.Context, warn func(string)) (*kafka.Client, error) {
	if f.bootstrap == "" && f.commandConfig == "" {
		return nil, nil
	}
	return f.open(ctx, warn)
}

// mapOutcome is the error of a map that could not tell everything.
func mapOutcome(unread []inspect.Remark, c *inspect.MapCluster, clientErr error) error {
	switch {
	case clientErr != nil:
		return clientErr
	case c != nil && c.Error != "":
		return op.Errorf(op.Unreachable, "%s", c.Error)
	case len(unread) > 0:
		first := unread[0]
		return &op.Error{Kind: op.Partial, What: first.Where, Err: errors.New(first.What + more(len(unread)-1)), Try: first.Cure}
	case c != nil && c.Failed > 0:
		return op.Errorf(op.Partial, "the offsets of %d topics could not be read", c.Failed)
	}
	return nil
}
