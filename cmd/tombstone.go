package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
	"sstool/migrate"
)

const tombstoneLong = `Deletes rows of a key-value store by their keys so that they stay deleted: it writes a
tombstone for each key, a record without a value, to the partition of the store's
changelog where the key's row is, reads them back, and deletes the rows in
--state-dir where that is given. STORE is a store's name or its changelog topic.

A tombstone has no value, a null. An empty value is something else: Kafka Streams
keeps such a row, with an empty value, and compaction keeps the record for ever. Tools
that read "key:" as a key with an empty value do not delete anything; sstool tombstone
writes nulls only.

Only keys that have a row get a tombstone; those without one are counted. The
application must not run, and everything that sstool ttl refuses is refused here: other
kinds of stores, a kind that is not known, topics that are the user's. Tombstones cannot
be taken back. A run that was stopped goes on when the same command is given again.`

// tombstoneFlags are the flags of sstool tombstone: those of ttl that say where
// and how, and the keys.
type tombstoneFlags struct {
	ttlFlags
	null string
}

func newTombstone(a *app) *cobra.Command {
	var f tombstoneFlags
	cmd := &cobra.Command{
		Use:   "tombstone STORE",
		Short: "delete rows of a key-value store by their keys so that they stay deleted",
		Long:  tombstoneLong,
		Example: `  sstool tombstone totals --application-id orders --kind timestamped-kv --key account-7 --dry-run
  sstool tombstone orders-totals-changelog --application-id orders --state-dir /var/lib/kafka-streams --key account-7
  sstool tombstone totals --application-id orders --spec orders.yaml --keys-from keys.txt --key-decoder long --yes`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, an empty value, or no terminal to ask on without --yes"},
			{10, "none of the keys has a row, or no such changelog, store or directory"}, {11, "the application's directory is in use"}, {12, "corrupt input"}, {13, "Kafka unreachable or access denied"},
			{14, "refused: the application runs, the store is of a kind that is not cleaned or not known, an open transaction, a changelog that changed since the plan, another cluster"},
			{130, "interrupted or declined; the same command goes on"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "Which store", func(fs *pflag.FlagSet) { f.registerStore(cmd, fs) })
	section(cmd, "Which rows", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.keys, "key", nil, "the key `KEY` of a row, as --key-decoder reads it; more than once for several")
		fs.StringVar(&f.keysFrom, "keys-from", "", "the keys in `FILE`, one a line; - is stdin")
		fs.Var(&f.key, "key-decoder", "how keys are written: `DECODER` "+strings.Join(serde.Names(), ", ")+" (default as those of the changelog look)")
		fs.StringVar(&f.null, "value", "null", "what the tombstones have as their `VALUE`: null, and nothing else")
		fs.Var(&f.memory, "memory", "memory budget (default 256MiB)")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) { f.registerDeletion(cmd, fs) })
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.tombstone(cmd.Context(), &f, args) })
	return cmd
}

// tombstone is the command: keys → plan → apply → report.
func (a *app) tombstone(ctx context.Context, f *tombstoneFlags, args []string) error {
	if len(args) != 1 {
		return op.Errorf(op.Usage, "%d arguments given, expected the store or its changelog", len(args))
	}
	if err := f.checkKeys(a); err != nil {
		return err
	}
	f.store = args[0]
	if store, ok := streams.StoreOfChangelog(f.appID, args[0]); ok {
		f.store = store
	}
	if err := f.check(); err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	o, err := f.options(ctx, a)
	if err != nil {
		return err
	}
	o.Command = migrate.CommandTombstone
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	err = a.deleteRows(ctx, &f.ttlFlags, client, o, show)
	if op.KindOf(err) == op.NotFound {
		if yours := userTopic(ctx, client, args[0]); yours != nil {
			return yours
		}
	}
	return err
}

// userTopic is the error for a topic that is no changelog of the application;
// nil when there is no such topic.
func userTopic(ctx context.Context, c *kafka.Client, name string) error {
	if streams.ValidateTopic(name) != nil {
		return nil
	}
	if _, err := c.Topic(ctx, name); err != nil {
		return nil
	}
	return op.Errorf(op.Precondition, "topic %q is not a changelog of the application: it belongs to somebody else, and is never written", name).
		WithTry("give the name of a store, or its changelog <application.id>-<store>-changelog")
}

// checkKeys refuses what is no tombstone, and makes the keys one input. Only the
// command line names keys: a context's key is another command's decoder.
func (f *tombstoneFlags) checkKeys(a *app) error {
	if a.given["value"] && f.null != "null" {
		what := fmt.Sprintf("a record with the value %q is a row, not a tombstone", f.null)
		if f.null == "" {
			what = "an empty value is not a null: Kafka Streams keeps a row with an empty value, and compaction keeps its record; only a record without a value deletes"
		}
		return op.Errorf(op.Usage, "--value: %s", what).WithTry("leave --value out: sstool tombstone writes nulls")
	}
	if !a.given["key"] {
		f.keys = nil
	}
	if !a.given["keys-from"] {
		f.keysFrom = ""
	}
	switch {
	case len(f.keys) == 0 && f.keysFrom == "":
		return op.Errorf(op.Usage, "which keys?").WithTry("--key KEY, or --keys-from FILE")
	case len(f.keys) > 0 && f.keysFrom != "":
		return op.Errorf(op.Usage, "--key and --keys-from: one or the other")
	}
	for _, k := range f.keys {
		if k == "" || strings.ContainsAny(k, "\r\n") {
			return op.Errorf(op.Usage, "--key %q: a key that is empty or has line breaks is written in another way", k).WithTry("--key-decoder hex")
		}
	}
	return nil
}

// keyLines is the input of --key: as if the keys had been in a file.
func (f *ttlFlags) keyLines() func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.Join(f.keys, "\n"))), nil
	}
}

// keysMissing tells of keys that have no row; when none has one it is an error.
func keysMissing(plan *migrate.TTLPlan, warn func(string)) error {
	given, found := *plan.KeysGiven, *plan.KeysFound
	as := ""
	if plan.KeyDecoder.Guessed {
		as = fmt.Sprintf(" (keys were read as %s, as those of the changelog look; --key-decoder says otherwise)", plan.KeyDecoder.Name)
	}
	switch {
	case found == 0:
		return op.Errorf(op.NotFound, "none of the %d keys has a row in %s: they were deleted, or never there%s", given, plan.Stores[0].Topic, as)
	case found < given:
		warn(fmt.Sprintf("%d of the %d keys have no row: they were deleted, or never there%s", given-found, given, as))
	}
	return nil
}
