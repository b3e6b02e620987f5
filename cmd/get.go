package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
)

const getLong = `Looks up one key in a store on local disk, in all tasks that lie there, and shows
it decoded. RocksDB is not needed, no lock is taken, and the application may run.

STORE is the store's directory, or one above it (a task's, the application's) with
--store, or its name with --state-dir. Of a window or session store all windows of
the key are shown; of a foreign-key join's subscription store KEY is the foreign
key, and who subscribes to it is shown.

Keys and values are decoded as --key and --value say, as Kafka's own serializers
write them. Without them they are shown as they look, and that it is a guess is said.

How current the rows are is said as Kafka Streams' interactive queries do: by the
store's position in its source topics, and with --bootstrap-server how far it is
behind its changelog.`

// getFlags are the flags of sstool get.
type getFlags struct {
	rowsFlags
	count   numberValue
	asOf    timeValue
	history bool
}

func newGet(a *app) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get STORE KEY",
		Short: "look up a key in a store on disk, or in a changelog",
		Long:  getLong,
		Example: `  sstool get /var/lib/kafka-streams/orders/0_1/rocksdb/totals account-7
  sstool get totals account-7 --state-dir /var/lib/kafka-streams --application-id orders
  sstool get prices EUR --state-dir /var/lib/kafka-streams --as-of 2026-01-01T10:03:00Z
  sstool get --topic orders-totals-changelog account-7 --bootstrap-server localhost:9092`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or the key cannot be written as stated"}, {4, "a decoder does not fit"},
			{10, "no such store, task, topic or key"}, {12, "a file is corrupt"}, {13, "Kafka unreachable or access denied"},
			{14, "the cluster id differs"}, {130, "interrupted"},
		}),
		Args: cobra.MaximumNArgs(2),
	}
	f.registerWhere(cmd)
	f.registerHow(cmd, func(fs *pflag.FlagSet) {
		fs.Var(&f.asOf, "as-of", "of a versioned store: the version that is valid at this `TIME`")
		fs.BoolVar(&f.history, "history", false, "of a versioned store: all versions on disk, deletions too, the oldest first")
		f.count.min, f.count.max = 1, maxPartition
		fs.Var(&f.count, "partition-count", "number of partitions `N` of the store's topics: look only where Kafka's default partitioner (murmur2) puts the key")
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.get(cmd, &f, args) })
	return cmd
}

// get is the command: flags → store → key → rows.
func (a *app) get(cmd *cobra.Command, f *getFlags, args []string) error {
	store, rest, err := f.arguments(a, cmd, args, 1)
	if err != nil {
		return err
	}
	query, err := f.compiled()
	if err == nil {
		err = f.check()
	}
	if err == nil && f.asOf.ms != nil && f.history {
		err = op.Errorf(op.Usage, "--as-of and --history: one version, or all")
	}
	if err != nil {
		return err
	}
	ctx, key := cmd.Context(), rest[0]
	o := inspect.RowsGet{Key: key, Partitions: int32(f.count.or(0)), Times: f.times(), AsOf: f.asOf.ms, History: f.history, Limit: f.limit.or(0), Query: query, Deleted: f.deleted}
	res, err := a.showRows(ctx, &f.rowsFlags, "get", store, false, func(src rowSource, out *rowsOutput) (*inspect.RowsResult, error) {
		return src.Get(ctx, o, out.row)
	})
	if err == nil && res.Count == 0 && query == nil {
		err = notFound(res, key)
	}
	return err
}

// notFound says where the key is not.
func notFound(res *inspect.RowsResult, key string) error {
	what := fmt.Sprintf("store %s", res.Store)
	if res.Topic != nil {
		what = "topic " + *res.Topic
	}
	where := ""
	for i, s := range res.Sources {
		if i == 6 {
			where += ", …"
			break
		}
		if i > 0 {
			where += ", "
		}
		where += sourceName(s)
	}
	e := op.Errorf(op.NotFound, "%s: no key %q as %s in %s", what, key, keyDecoder(res).Name, where)
	if keyDecoder(res).Guessed {
		return e.WithTry("--key DECODER states how keys are written; %s is a guess", keyDecoder(res).Name)
	}
	return e
}

func keyDecoder(res *inspect.RowsResult) inspect.Decoder {
	if res.ForeignKey != nil {
		return *res.ForeignKey
	}
	return res.Key
}
