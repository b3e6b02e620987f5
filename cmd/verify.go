package cmd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/verify"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
)

const verifyLong = `Compares a store on local disk with its changelog, row by row: rows that are missing,
that should not be there (deleted in the changelog: zombies), and that are different.

It compares at the offset that the store has stored: up to there it must be what the
newest record of each key says. So a store that is behind is no difference, and a
store may be verified while the application runs. Rows that the application has
already flushed beyond the offset are "ahead", and right when a later record says
the same. What compaction or retention has removed from the changelog since cannot
be compared: "unverifiable".

STORE is the store's directory, or one above it (a task's, the application's) with
--store, or its name with --state-dir. Nothing is changed and no lock is taken.`

// verifyFlags are the flags of sstool verify.
type verifyFlags struct {
	rowsFlags
	at        atValue
	guarantee choiceValue
	retention durationValue
	scratch   string
	stall     durationValue
}

func newVerify(a *app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify STORE",
		Short: "prove that a store on disk and its changelog agree",
		Long:  verifyLong,
		Example: `  sstool verify totals --state-dir /var/lib/kafka-streams --application-id orders --bootstrap-server localhost:9092
  sstool verify /var/lib/kafka-streams/orders/0_1/rocksdb/totals --bootstrap-server localhost:9092 -o json`,
		Annotations: exits([]exit{
			{0, "ok: nothing differs"}, {1, "failed"}, {2, "wrong flags, or the store's kind or changelog is not known"},
			{3, "rows differ, or the offset is not one of the changelog"}, {10, "no such store, task or topic"},
			{12, "a file of the store or a batch of the changelog is corrupt"}, {13, "Kafka unreachable or access denied"},
			{14, "the cluster id differs"}, {130, "interrupted"},
		}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one STORE", cmd.CommandPath())
			}
			return nil
		},
	}
	f.registerVerify(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.verify(cmd.Context(), &f, args) })
	return cmd
}

func (f *verifyFlags) registerVerify(cmd *cobra.Command) {
	section(cmd, "Which store", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application; STORE is a name then")
		fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
		fs.StringVar(&f.store, "store", "", "the store's `NAME`, when STORE is a directory with several")
		fs.Var(&f.tasks, "task", "only this `TASK`: 1_3, or global")
		fs.Var(&f.partition, "partition", "only the tasks of these partitions: 0,2-5")
	})
	section(cmd, "What it is compared with", func(fs *pflag.FlagSet) {
		f.kafka.registerOptional(cmd)
		fs.StringVar(&f.topic, "topic", "", "the changelog `TOPIC` (default as the directory tells)")
		fs.Var(&f.at, "at", "compare at this `OFFSET`, that of the last record applied, or at end (default the offset that the store has stored)")
		f.guarantee.choices = []string{spec.AtLeastOnce, spec.ExactlyOnce}
		fs.Var(&f.guarantee, "processing-guarantee", "the application's `GUARANTEE`: at_least_once, which applies records of aborted transactions, or exactly_once_v2 (default as if exactly once)")
	})
	section(cmd, "What is known of it", func(fs *pflag.FlagSet) {
		f.kind.choices = strings.Split(diskKinds(), ", ")
		fs.Var(&f.key, "key", "how keys are decoded: `DECODER` "+strings.Join(serde.Names(), ", ")+" (default as they look)")
		fs.Var(&f.value, "value", "how values are decoded: `DECODER`, as for --key")
		fs.Var(&f.foreignKey, "foreign-key", "how foreign keys of an fk-subscription store are decoded: `DECODER`")
		fs.Var(&f.kind, "kind", "`KIND` of the store (default as its files tell): "+diskKinds())
		fs.Var(&f.retention, "retention", "retention of a window or session store, history retention of a versioned one (default as the changelog's configuration tells)")
		fs.Var(&f.windowSize, "window-size", "size of the windows, which no store keeps: tells where they end")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		f.limit.min = 1
		fs.Var(&f.limit, "limit", "show the first `N` differences of each task (default 10)")
		fs.Var(&f.memory, "memory", "memory budget (default 192MiB)")
		fs.StringVar(&f.scratch, "scratch", "", "`DIR` for temporary files (default the system's temporary directory)")
		fs.Var(&f.stall, "stall-timeout", "give up after this long without progress (default 1m)")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	complete(cmd, "kind", f.kind.choices)
	complete(cmd, "processing-guarantee", f.guarantee.choices)
}

// verify is the command: flags → comparison → report.
func (a *app) verify(ctx context.Context, f *verifyFlags, args []string) error {
	o, err := f.verifyOptions(args[0])
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	if os.Getenv("GOGC") == "" {
		// What is collected are fetched blocks.
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	res, err := verify.Changelog(ctx, client, o, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	if err := emit(a, f.out, "verify", res, renderVerify); err != nil {
		return err
	}
	return verifyOutcome(res)
}

// verifyOptions are the engine's.
func (f *verifyFlags) verifyOptions(store string) (verify.Options, error) {
	rows, err := f.rowsFlags.options(store)
	o := verify.Options{Rows: rows, Topic: f.topic, Retention: time.Duration(f.retention), At: f.at.At,
		Limit: int(f.limit.or(0)), Memory: int64(f.memory), TempDir: f.scratch, Stall: time.Duration(f.stall)}
	if f.guarantee.value != "" {
		eos := f.guarantee.value == spec.ExactlyOnce
		o.ExactlyOnce = &eos
	}
	if err == nil {
		err = checkDir("--scratch", f.scratch)
	}
	return o, err
}

// verifyOutcome is the error of a comparison that found something.
func verifyOutcome(r *verify.Result) error {
	n, out := r.Total.Findings(), 0
	for i := range r.Tasks {
		if r.Tasks[i].Verdict == verify.OutOfRange {
			out++
		}
	}
	switch {
	case n == 1:
		return op.Errorf(op.Problems, "store %s: 1 row differs", r.Store)
	case n > 0:
		return op.Errorf(op.Problems, "store %s: %s rows differ", r.Store, humanCount(n))
	case out > 0:
		return op.Errorf(op.Problems, "store %s: %s", r.Store, "the offset is not one of this changelog")
	}
	return nil
}
