package cmd

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/migrate"
)

const ttlLong = `Deletes rows of a key-value store so that they stay deleted: a tombstone for each
goes to the changelog, so that no restore and no standby brings the row back, and the
row leaves the local store where a state directory is given.

Which rows: those whose time is before the cutoff of --older-than or --before, of
which --where, --prefix and --keys-from leave fewer. A row's time is its record's
timestamp; --timestamp-expr takes it from the value, --timestamps-from from another
store. What counts is the changelog up to its end; a local copy of the store in
--state-dir is read instead where it is current, which is faster.

The application must not run: members of its group are looked for, and again before
every batch. --dry-run works at any time: it shows how many rows and bytes would go.
Tombstones cannot be taken back. A run that was stopped, at any moment, goes on when
the same command is given again.

Only kv and timestamped-kv stores are cleaned, and which kind a store is must be
known: from --state-dir, --spec, --topology or --kind. What is refused, and why, is
in docs/ttl.md.`

func newTTL(a *app) *cobra.Command {
	var f ttlFlags
	cmd := &cobra.Command{
		Use:   "ttl",
		Short: "delete old rows of a key-value store so that they stay deleted",
		Long:  ttlLong,
		Example: `  sstool ttl --application-id orders --store dedup --kind timestamped-kv --older-than 24h --dry-run
  sstool ttl --application-id orders --store dedup --state-dir /var/lib/kafka-streams --older-than 24h
  sstool ttl --application-id flights --store schedule --spec flights.yaml --where '.key[7:17] < "2026-11-01"'
  sstool ttl --application-id orders --store carts --also cart-items,cart-touched --timestamps-from cart-touched --older-than 30d --yes`,
		Annotations: exits([]exit{
			{0, "ok, also when no row is too old"}, {1, "failed"}, {2, "wrong flags, or no terminal to ask on without --yes"},
			{10, "no such changelog, store or directory"}, {11, "the application's directory is in use"}, {12, "corrupt input"}, {13, "Kafka unreachable or access denied"},
			{14, "refused: the application runs, the store is of a kind that is not cleaned or not known, an open transaction, a changelog that changed since the plan, another cluster"},
			{130, "interrupted or declined; the same command goes on"},
		}),
		Args: noArgs,
	}
	f.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.ttl(cmd.Context(), &f) })
	return cmd
}

// ttl is the command: flags → stores → plan → apply → report.
func (a *app) ttl(ctx context.Context, f *ttlFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	o, err := f.options(ctx, a)
	if err != nil {
		return err
	}
	client, err := f.kafka.open(ctx, show.warn)
	if err != nil {
		return err
	}
	defer client.Close()
	return a.deleteRows(ctx, f, client, o, show)
}

// deleteRows goes on with an unfinished run, or plans, asks and applies.
func (a *app) deleteRows(ctx context.Context, f *ttlFlags, client *kafka.Client, o migrate.TTLOptions, show *progress) error {
	do, err := f.deletion(o.Command)
	if err != nil {
		return err
	}
	if !f.dryRun {
		left, note, err := migrate.ContinueDeletion(ctx, client, do, o.Request())
		if err != nil {
			return err
		}
		if note != "" {
			show.warn(note)
		}
		if left != nil {
			return a.applyRows(ctx, f, client, nil, left, do, show)
		}
	}
	temp, err := os.MkdirTemp(o.TempDir, "sstool-ttl-")
	if err != nil {
		return op.Errorf(op.Failed, "%w", err)
	}
	defer os.RemoveAll(temp)
	o.TempDir = temp
	plan, err := migrate.PlanTTL(ctx, client, o, show.sink)
	if err != nil {
		return err
	}
	if o.Command == migrate.CommandTombstone {
		if err := keysMissing(plan, show.warn); err != nil {
			return err
		}
	}
	for _, text := range plan.Warnings {
		show.warn(text)
	}
	if f.dryRun {
		show.flush()
		plan.Steps = plan.Deletion().Steps(do)
		return emit(a, f.out, o.Command+".plan", *plan, renderTTLPlan)
	}
	return a.applyRows(ctx, f, client, plan, plan.Deletion(), do, show)
}

// applyRows asks and deletes. The plan is nil when an unfinished run is
// continued.
func (a *app) applyRows(ctx context.Context, f *ttlFlags, client *kafka.Client, plan *migrate.TTLPlan, d *migrate.Deletion, do migrate.DeletionOptions, show *progress) error {
	res := migrate.TTLResult{Plan: plan}
	keys, _ := d.Keys()
	if keys > 0 && !f.yes {
		show.flush()
		if plan != nil && !show.json {
			w := newTableWriter(a.io.Err, formatTable)
			w.ttlPlan(plan)
			w.line("")
			if err := w.flush(); err != nil {
				return err
			}
		}
		if err := a.confirm(ctx, d.Steps(do)); err != nil {
			return err
		}
	}
	if do.StateDir != "" {
		warnOfOwner(do.StateDir, f.appID, show.warn)
	}
	done, err := d.Apply(ctx, client, do, show.sink)
	show.flush()
	if done != nil {
		res.DeletionResult = *done
		if werr := emit(a, f.out, d.Command, res, renderTTL); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}
