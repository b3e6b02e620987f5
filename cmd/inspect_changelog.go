package cmd

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/streams"
)

const inspectChangelogLong = `Reads changelog topics and shows each as the table it is: records, distinct keys,
superseded records, tombstones (null values) and empty values apart, the part that
was not compacted yet, how evenly the partitions are filled, timestamps, headers,
aborted and control records, its effective configuration against what this kind of
store needs, and why it is as big as it is.

Keys are counted exactly, by a 96-bit hash, in bounded memory (--memory); what does
not fit goes to temporary files (--scratch). --sample looks at 16 places of each
partition instead, and estimates.

Topics are named exactly. --application-id alone takes all changelogs of that
application, <application-id>-<store>-changelog.`

const inspectChangelogExample = `  sstool inspect changelog --bootstrap-server localhost:9092 orders-account-payment-total-changelog

  # All changelogs of an application; a quick look; for a program.
  sstool inspect changelog --application-id orders
  sstool inspect changelog --application-id orders --sample
  sstool inspect changelog --application-id orders -o csv`

// inspectChangelogFlags are the flags of sstool inspect changelog.
type inspectChangelogFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	appID      string
	partitions partitionsValue
	kind       choiceValue
	retention  durationValue
	history    zeroDurationValue
	sample     bool
	threads    numberValue
	memory     memoryValue
	scratch    string
	stall      durationValue
}

func newInspectChangelog(a *app) *cobra.Command {
	var f inspectChangelogFlags
	cmd := &cobra.Command{
		Use:     "changelog [TOPIC…]",
		Short:   "show changelog topics as tables, and why they are as big as they are",
		Long:    inspectChangelogLong,
		Example: inspectChangelogExample,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags"}, {4, "some of several topics could not be read"},
			{10, "topic, partition or application not found"}, {12, "a batch of the changelog is corrupt"},
			{13, "Kafka unreachable, access denied, or no progress for --stall-timeout"}, {14, "the cluster id differs"}, {130, "interrupted"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "Which cluster", func(*pflag.FlagSet) { f.kafka.register(cmd) })
	section(cmd, "Which changelogs", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id, `ID`: names the stores; without TOPIC all its changelogs")
		fs.Var(&f.partitions, "partitions", "only these partitions: 0,2-5")
	})
	section(cmd, "What is known of the store", func(fs *pflag.FlagSet) {
		f.kind.choices = strings.Split(kindNames(), " ")
		fs.Var(&f.kind, "kind", "`KIND` of the store: "+kindNames())
		fs.Var(&f.retention, "retention", "retention of a window or session store")
		fs.Var(&f.history, "history-retention", "history retention of a versioned store")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.sample, "sample", false, "read a few places of each partition only, and estimate")
		f.threads.min, f.threads.max = 1, maxPartition
		fs.Var(&f.threads, "threads", "work with `N` threads (default as many as cores)")
		fs.Var(&f.memory, "memory", "memory budget (default 256MiB)")
		fs.StringVar(&f.scratch, "scratch", "", "`DIR` for temporary files (default the system's temporary directory)")
		fs.Var(&f.stall, "stall-timeout", "give up after this long without progress (default 1m)")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatJSONL, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	complete(cmd, "kind", f.kind.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.inspectChangelog(cmd.Context(), &f, args) })
	return cmd
}

// inspectChangelog is the command: flags → options → result → report.
func (a *app) inspectChangelog(ctx context.Context, f *inspectChangelogFlags, topics []string) error {
	if err := checkScratch(f.scratch); err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	o := inspect.ChangelogOptions{
		Topics: topics, ApplicationID: f.appID, Partitions: f.partitions, Kind: streams.Kind(f.kind.value),
		Retention: time.Duration(f.retention), HistoryRetention: time.Duration(f.history.durationValue),
		Sample: f.sample, Threads: int(min(f.threads.or(0), math.MaxInt32)), Memory: int64(f.memory), TempDir: f.scratch, StallTimeout: time.Duration(f.stall),
	}
	if os.Getenv("GOGC") == "" {
		// As in restore: what is collected are fetched blocks.
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	res, err := inspect.Changelog(ctx, client, o, show.sink)
	show.flush()
	if res == nil {
		return err
	}
	if werr := a.emitChangelogs(f.out, res); werr != nil {
		return werr
	}
	return err
}

// emitChangelogs writes the result; as jsonl one line a topic.
func (a *app) emitChangelogs(out outputFlag, res *inspect.ChangelogResult) error {
	if out.value != formatJSONL {
		return emit(a, out, "inspect.changelog", *res, renderChangelogs)
	}
	for _, t := range res.Topics {
		b, err := envelope("inspect.changelog.topic", t)
		if err != nil {
			return err
		}
		if _, err := a.io.Out.Write(append(b, '\n')); err != nil {
			return op.Errorf(op.Failed, "write stdout: %w", err)
		}
	}
	return nil
}
