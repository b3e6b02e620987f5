package cmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
)

const offsetsLong = `Shows how far each store has come in its changelog, in both places where Kafka
Streams keeps that: the .checkpoint file of the task (up to 4.2) and the offsets
column family in the store itself (since 4.3). Where both have one, the file wins.

The number is the offset of the last record applied; for global stores it is the
next one. With --bootstrap-server it is put against the start of the log, the last
stable offset and the end. VERDICT says what a start from this disk does: resumes,
from start (nothing stored: all is replayed), out of range (the offset lies outside
of the log: all stores of the task are restored from the start, under exactly-once
after the task was wiped), or damaged (files of the store are: RocksDB may refuse
them, and an offset in it is not certain).`

func newInspectOffsets(a *app) *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:   "offsets [PATH]",
		Short: "show the stored offsets, in both of their homes, against the changelogs",
		Long:  offsetsLong,
		Example: `  sstool inspect offsets /var/lib/kafka-streams
  sstool inspect offsets /var/lib/kafka-streams/orders --bootstrap-server localhost:9092`,
		Annotations: exits([]exit{
			{0, "ok, whatever the verdicts say"}, {1, "failed"}, {2, "wrong flags, or PATH is a file of something else"},
			{4, "some directories or files, or some topics, could not be read; the rest is told"},
			{10, "no such path, or no store under it; no such store or task"},
			{12, "files of a store are damaged"}, {13, "Kafka unreachable or access denied; the disk is told all the same"}, {14, "the cluster id differs"},
		}),
		Args: onePath,
	}
	section(cmd, "What to show", func(fs *pflag.FlagSet) {
		f.registerPlace(fs)
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatJSONL, formatCSV, formatTSV)
	})
	section(cmd, "Compare with the changelogs", func(*pflag.FlagSet) { f.kafka.registerOptional(cmd) })
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.inspectOffsets(cmd.Context(), &f, args)
	})
	return cmd
}

// inspectOffsets is the command: flags → offsets → table.
func (a *app) inspectOffsets(ctx context.Context, f *mapFlags, args []string) error {
	return a.withMapOptions(ctx, f, args, func(o inspect.MapOptions, sink op.Sink) error {
		res, err := inspect.OffsetsPath(ctx, o, sink)
		if err != nil {
			return err
		}
		if f.out.value == formatJSONL {
			err = emitLines(a, "inspect.offsets.row", res.Rows)
		} else {
			err = emit(a, f.out, "inspect.offsets", res, renderOffsets)
		}
		if err != nil {
			return err
		}
		if err := res.Damage(); err != nil {
			return err
		}
		return mapOutcome(res.Unreadable, res.Cluster, o.ClientErr)
	})
}

func renderOffsets(w *tableWriter, r *inspect.Offsets) {
	w.line("%s: %s", printable(r.Path), r.PathIs)
	if w.machine() {
		offsetRows(w, r, r.Rows, true)
		return
	}
	for i := 0; i < len(r.Rows); {
		n := i
		for n < len(r.Rows) && r.Rows[n].App == r.Rows[i].App {
			n++
		}
		w.line("")
		if r.Rows[i].App != "" {
			w.line("%s", printable(r.Rows[i].App))
		}
		offsetRows(w, r, r.Rows[i:n], false)
		i = n
	}
	for i, d := range r.Damaged {
		if i == 0 {
			w.line("")
		}
		w.wrapped("  ", "problem: "+d.Where+": "+d.What)
	}
	if r.Cluster != nil && r.Cluster.Error != "" {
		w.line("")
		w.wrapped("", "changelogs unmeasured: "+r.Cluster.Error)
	}
}

func offsetRows(w *tableWriter, r *inspect.Offsets, list []inspect.OffsetRow, withApp bool) {
	cluster := r.Cluster != nil
	columns := []column{{name: "APP", wide: true}, {name: "TASK"}, {name: "STORE"}, {name: "TOPIC", wide: true}, {name: "PARTITION", right: true, wide: true},
		{name: "CHECKPOINT", short: "FILE", right: true}, {name: "FAMILY", right: true}, {name: "LOG START", right: true, wide: !cluster},
		{name: "LAST STABLE", right: true, wide: true}, {name: "END", right: true, wide: !cluster}, {name: "LAG", right: true, wide: !cluster},
		{name: "VERDICT", wide: !cluster && len(r.Damaged) == 0}, {name: "WHY", wide: true}}
	var rows [][]string
	number := func(n *int64) string {
		if n == nil {
			return w.none()
		}
		return fmt.Sprint(*n)
	}
	for _, o := range list {
		store, partition := o.Store, w.none()
		if store == "" && !w.machine() {
			store = "(" + cmp.Or(o.Topic, ".checkpoint") + ")"
		}
		if o.Partition != nil {
			partition = fmt.Sprint(*o.Partition)
		}
		if o.Next && w.format == formatTable && o.Partition != nil {
			store += fmt.Sprintf(" [%d]", *o.Partition)
		}
		rows = append(rows, []string{o.App, o.Task, store, o.Topic, partition, number(o.Checkpoint), number(o.Family), number(o.LogStart),
			number(o.LastStable), number(o.End), optionalCount(w, o.Lag), o.Verdict, o.Why})
	}
	columns, rows = without(columns, rows, func(_ column, i int) bool { return i == 0 && !withApp })
	fit(w, columns, rows, "STORE")
	w.table(columns, rows)
}
