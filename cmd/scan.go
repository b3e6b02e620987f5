package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
)

const scanLong = `Shows the rows of a store on local disk, decoded: of all tasks that lie there, task
by task, segment by segment, by key. RocksDB is not needed, no lock is taken, and
the application may run. -o jsonl and csv stream, whatever the store's size.

STORE is the store's directory, or one above it (a task's, the application's) with
--store, or its name with --state-dir. --topic reads a changelog as the table it is
instead: the newest row of each key by offset, without any directory.

Keys and values are decoded as --key and --value say, as Kafka's own serializers
write them. Without them they are shown as they look, and that it is a guess is said.`

// scanFlags are the flags of sstool scan.
type scanFlags struct {
	rowsFlags
	from, to, prefix                  string
	reverse, count, keysOnly, history bool
}

func newScan(a *app) *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan STORE",
		Short: "show the rows of a store on disk, or of a changelog",
		Long:  scanLong,
		Example: `  sstool scan /var/lib/kafka-streams/orders/0_1/rocksdb/totals --limit 20
  sstool scan totals --state-dir /var/lib/kafka-streams --application-id orders -o jsonl > totals.jsonl
  sstool scan per-minute --state-dir /var/lib/kafka-streams --window-size 1m --time-from 2026-01-01T10:00:00Z
  sstool scan orders --state-dir /var/lib/kafka-streams --value json --query 'select(.value.status == "open") | .key'
  sstool scan --topic orders-totals-changelog --bootstrap-server localhost:9092 --count`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or a key cannot be written as stated"}, {4, "a decoder does not fit"},
			{10, "no such store, task or topic"}, {12, "a file is corrupt"}, {13, "Kafka unreachable or access denied"},
			{14, "the cluster id differs"}, {130, "interrupted"},
		}),
		Args: cobra.MaximumNArgs(1),
	}
	f.registerWhere(cmd)
	f.registerHow(cmd, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.from, "from", "", "only keys from this `KEY` on")
		fs.StringVar(&f.to, "to", "", "only keys up to this `KEY`, itself included")
		fs.StringVar(&f.prefix, "prefix", "", "only keys whose bytes begin with these of `KEY`")
		fs.BoolVar(&f.reverse, "reverse", false, "from the end: the last task, the newest segment, the highest key first")
		fs.BoolVar(&f.count, "count", false, "count the rows instead of showing them")
		fs.BoolVar(&f.keysOnly, "keys-only", false, "leave the values out")
		fs.BoolVar(&f.history, "history", false, "of a versioned store: all versions on disk, as they lie there")
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.scan(cmd, &f, args) })
	return cmd
}

// scan is the command: flags → store → rows.
func (a *app) scan(cmd *cobra.Command, f *scanFlags, args []string) error {
	store, _, err := f.arguments(a, cmd, args, 0)
	if err != nil {
		return err
	}
	query, err := f.compiled()
	if err == nil {
		err = f.check()
	}
	switch {
	case err != nil:
	case f.count && (query != nil || f.limit.set || f.keysOnly):
		err = op.Errorf(op.Usage, "--count counts all rows: --query, --limit and --keys-only do not go with it")
	case f.topic != "" && (f.reverse || f.history):
		err = op.Errorf(op.Usage, "--reverse and --history are not for a topic: it is sorted by key, the newest record of each")
	}
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	_, err = a.showRows(ctx, &f.rowsFlags, "scan", store, f.count, func(src rowSource, out *rowsOutput) (*inspect.RowsResult, error) {
		o := inspect.RowsScan{Times: f.times(), Reverse: f.reverse, Limit: f.limit.or(0), Count: f.count, KeysOnly: f.keysOnly, History: f.history, Query: query, Deleted: f.deleted}
		for _, b := range []struct {
			flag, text string
			to         *[]byte
		}{{"from", f.from, &o.From}, {"to", f.to, &o.To}, {"prefix", f.prefix, &o.Prefix}} {
			if b.text == "" {
				continue
			}
			bytes, err := src.KeyBytes(ctx, b.text)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", b.flag, err)
			}
			*b.to = bytes
		}
		return out.scan(ctx, src, o)
	})
	return err
}
