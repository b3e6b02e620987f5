package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
	"sstool/restore/snapshots"
)

const snapshotPushLong = `Pushes the tasks of a stopped application, or of a standby while it runs: every
store of them with all its families, its offsets and positions. Only files that are not there yet are
uploaded; the report says how much was new, and why: rows that were flushed, or
files that compaction wrote anew. The manifest is written last: a push that is
stopped leaves every earlier snapshot whole, and the next one goes on from there.

The application's lock is held meanwhile, so that it does not start. A store of an
exactly-once application that was not closed cleanly is refused. With a cluster
the snapshot notes its id and those of the changelogs: a restore can then tell a
changelog that was created anew.

While sstool restore --follow keeps the directory, it is asked for a checkpoint:
hard links of what its stores hold, which are pushed while it goes on, and removed
afterwards. It says what cluster and topics they are of. With --dry-run it is not
asked: the plan is of what it has flushed.

With --recipient content is encrypted before it leaves the machine (age). The
manifest is not: names, sizes, offsets and hashes of content can be read.`

// snapshotPushFlags are the flags of sstool snapshot push.
type snapshotPushFlags struct {
	bucket   bucketFlags
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	stateDir, app, version    string
	tasks, recipients         namesValue
	recipientsFile            string
	guarantee                 choiceValue
	checkpoint, closedCleanly bool
	rewrite, dryRun           bool
}

func newSnapshotPush(a *app) *cobra.Command {
	var f snapshotPushFlags
	cmd := &cobra.Command{
		Use:   "push URL",
		Short: "push the tasks of a stopped application, or of a running standby",
		Long:  snapshotPushLong,
		Example: `  sstool snapshot push file:///backup/streams --state-dir /var/lib/kafka-streams --application-id orders
  sstool snapshot push 's3://backups/streams?region=eu-central-1' --state-dir /var/lib/kafka-streams --application-id orders --bootstrap-server localhost:9092 --limit 100MB
  sstool snapshot push 's3://backups/streams?region=eu-central-1' --state-dir /var/lib/kafka-streams --application-id orders --recipient age1…`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or URL"}, {10, "no such directory, task or bucket"}, {11, "the application runs"},
			{12, "a file of a store is corrupt"}, {13, "the store or Kafka is unreachable, or access denied"},
			{14, "not closed cleanly, or changed meanwhile; the standby has nothing to give yet"}, {130, "interrupted; earlier snapshots are whole"},
		}),
		Args: bucketArg,
	}
	section(cmd, "What", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application")
		fs.StringVar(&f.app, "application-id", "", "application.id `ID`")
		fs.Var(&f.tasks, "task", "only these `TASKS`: 1_3 (default all)")
		fs.BoolVar(&f.checkpoint, "checkpoint", false, "nobody writes there: RocksDB checkpoints, or a snapshot of a file system; the lock is not taken")
		f.guarantee.choices = []string{snapshots.AtLeastOnce, snapshots.ExactlyOnce}
		fs.Var(&f.guarantee, "processing-guarantee", "processing `GUARANTEE` of the application: at_least_once or exactly_once_v2 (default not known: as for exactly-once)")
		fs.BoolVar(&f.closedCleanly, "closed-cleanly", false, "the application was stopped in order, although times of files (of Kafka up to 4.2) say otherwise")
		fs.StringVar(&f.version, "kafka-version", "", "Kafka `VERSION` of the application, for the manifest")
		f.kafka.registerOptional(cmd)
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.Var(&f.recipients, "recipient", "encrypt for these `KEYS` (age1…), repeatable")
		fs.StringVar(&f.recipientsFile, "recipients-file", "", "encrypt for the keys in `FILE`, one a line")
		fs.BoolVar(&f.rewrite, "rewrite", false, "upload what is there too: after verify found it wrong")
		f.bucket.register(fs, true)
		fs.BoolVar(&f.dryRun, "dry-run", false, "show what would be uploaded and change nothing")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	complete(cmd, "processing-guarantee", f.guarantee.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotPush(cmd.Context(), &f, args[0]) })
	return cmd
}

// options turns the flags into the engine's.
func (f *snapshotPushFlags) options() (o snapshots.PushOptions, err error) {
	o = snapshots.PushOptions{StateDir: f.stateDir, ApplicationID: f.app, Tasks: f.tasks, Checkpoint: f.checkpoint, Guarantee: f.guarantee.value,
		ClosedCleanly: f.closedCleanly, MadeBy: "sstool " + version, Rewrite: f.rewrite}
	if f.stateDir == "" || f.app == "" {
		return o, op.Errorf(op.Usage, "which application's state?").WithTry("--state-dir DIR and --application-id ID; sstool inspect DIR shows what is there")
	}
	if err := streams.ValidateApplicationID(f.app); err != nil {
		return o, fmt.Errorf("--application-id: %w", err)
	}
	if err := checkDir("--state-dir", f.stateDir); err != nil {
		return o, err
	}
	if f.version != "" {
		v, err := streams.ParseVersion(f.version)
		if err != nil {
			return o, fmt.Errorf("--kafka-version: %w", err)
		}
		o.KafkaVersion = v.String()
	}
	recipients := f.recipients
	if f.recipientsFile != "" {
		data, err := os.ReadFile(f.recipientsFile)
		if err != nil {
			return o, op.Errorf(op.Usage, "--recipients-file: %w", err)
		}
		recipients = append(recipients, string(data))
	}
	o.Seal, err = snapshot.NewSeal(recipients)
	return o, err
}

func (a *app) snapshotPush(ctx context.Context, f *snapshotPushFlags, url string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	at := f.bucket.options()
	at.Create, at.Absent, at.Outside = !f.dryRun, f.dryRun, filepath.Join(f.stateDir, f.app)
	b, err := snapshot.Open(ctx, url, at)
	if err != nil {
		return err
	}
	defer b.Close()
	client, err := f.kafka.optional(ctx, show.warn)
	if err != nil {
		return err
	}
	if client != nil {
		defer client.Close()
		id, err := client.ClusterID(ctx)
		if err != nil {
			return err
		}
		o.Cluster = &snapshots.Cluster{ID: id, TopicID: func(ctx context.Context, topic string) (string, error) {
			t, err := client.Topic(ctx, topic)
			if err != nil && op.KindOf(err) == op.NotFound {
				return "", nil
			}
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%x", t.ID), nil
		}}
	}
	run, kind := snapshots.Push, "snapshot.push"
	if f.dryRun {
		run, kind = snapshots.DryRun, "snapshot.push.plan"
	}
	res, err := run(ctx, b, o, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	return emit(a, f.out, kind, *res, renderSnapshotPush)
}
