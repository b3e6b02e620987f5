package cmd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sstool/inspect/verify"
	"sstool/internal/op"
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
--store, or its name with --state-dir. Nothing is changed and no lock is taken.

--against DIR compares two copies of the store instead, as those of an active and of a
standby task; --digest tells a digest of each task's rows, to be compared by hand.`

// verifyFlags are the flags of sstool verify.
type verifyFlags struct {
	rowsFlags
	at        atValue
	guarantee choiceValue
	retention durationValue
	scratch   string
	stall     durationValue
	against   string
	sample    numberValue
	digest    bool
	repair    bool
}

func newVerify(a *app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify STORE",
		Short: "prove that a store on disk and its changelog agree",
		Long:  verifyLong,
		Example: `  sstool verify totals --state-dir /var/lib/kafka-streams --application-id orders --bootstrap-server localhost:9092
  sstool verify /var/lib/kafka-streams/orders/0_1/rocksdb/totals --bootstrap-server localhost:9092 -o json

  # A first look at a large store; what would repair what differs.
  sstool verify totals --state-dir /var/lib/kafka-streams --bootstrap-server localhost:9092 --sample 10000
  sstool verify totals --state-dir /var/lib/kafka-streams --bootstrap-server localhost:9092 --repair

  # The active copy and a standby's, copied here from its host; or their digests.
  sstool verify totals --state-dir /var/lib/kafka-streams --against /backup/host-7
  sstool verify totals --state-dir /var/lib/kafka-streams --digest`,
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

// verify is the command: flags → comparison → report.
func (a *app) verify(ctx context.Context, f *verifyFlags, args []string) error {
	o, err := f.verifyOptions(args[0])
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	if os.Getenv("GOGC") == "" {
		// What is collected are fetched blocks.
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	res, err := f.compare(ctx, o, show)
	show.flush()
	if err != nil {
		return err
	}
	if err := emit(a, f.out, "verify", res, renderVerify); err != nil {
		return err
	}
	return verifyOutcome(res)
}

// compare asks the engine for what the flags say.
func (f *verifyFlags) compare(ctx context.Context, o verify.Options, show *progress) (*verify.Result, error) {
	if f.digest {
		return verify.Digests(ctx, o, show.sink)
	}
	open := f.kafka.open
	if f.against != "" {
		open = f.kafka.optional
	}
	client, err := open(ctx, show.warn)
	if err != nil {
		return nil, err
	}
	if client != nil {
		defer client.Close()
	}
	if f.against != "" {
		return verify.Against(ctx, client, o, f.other(o), show.sink)
	}
	return verify.Changelog(ctx, client, o, show.sink)
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
