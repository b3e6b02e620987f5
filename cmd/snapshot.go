package cmd

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/snapshot"
)

const snapshotLong = `Takes stores to object storage and back. A snapshot holds whole tasks, with their
offsets: what is pulled is a state directory from which Kafka Streams replays only
what came later. Files are kept once, by the hash of their content: SST files never
change, so a second push uploads only what is new.

URL is where snapshots are kept:

  file:///path/of/a/directory
  s3://bucket/prefix?region=eu-central-1
  s3://bucket/prefix?region=us-east-1&endpoint=https://s3.example.org

Credentials are found as AWS's own tools find them: AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, a profile of ~/.aws (&profile=NAME), or the role of the
machine. They have no place in the URL. In a shell, quote a URL with settings.`

func newSnapshot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "snapshot",
		Short:       "take stores to object storage and back",
		Long:        snapshotLong,
		Annotations: exits(exitsAll),
		Example: `  sstool snapshot push 's3://backups/streams?region=eu-central-1' --state-dir /var/lib/kafka-streams --application-id orders
  sstool snapshot list 's3://backups/streams?region=eu-central-1'
  sstool snapshot pull 's3://backups/streams?region=eu-central-1' --application-id orders --into /var/lib/kafka-streams`,
	}
	group(cmd)
	cmd.AddCommand(newSnapshotPush(a), newSnapshotList(a), newSnapshotShow(a), newSnapshotPull(a), newSnapshotVerify(a), newSnapshotPrune(a))
	return cmd
}

// bucketArg is the one argument of the snapshot commands.
func bucketArg(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	e := op.Errorf(op.Usage, "where are the snapshots kept?")
	if len(args) > 1 {
		e = op.Errorf(op.Usage, "there is one URL, not %d", len(args))
	}
	return e.WithTry("give the URL: file:///path/of/a/directory, or s3://bucket/prefix?region=REGION")
}

// bucketFlags are how the store is talked to.
type bucketFlags struct {
	parallel numberValue
	limit    sizeValue
	timeout  durationValue
}

func (f *bucketFlags) register(fs *pflag.FlagSet, transfers bool) {
	f.parallel.min, f.parallel.max = 1, 256
	fs.Var(&f.parallel, "parallel", "requests to the store at once, `N` (default 4)")
	if transfers {
		fs.Var(&f.limit, "limit", "at most `SIZE` per second, over all transfers: 50MB (default no limit)")
	}
	fs.Var(&f.timeout, "stall-timeout", "try a request again after this long without progress (default 2m)")
}

func (f *bucketFlags) open(ctx context.Context, url string) (*snapshot.Bucket, error) {
	return snapshot.Open(ctx, url, f.options())
}

func (f *bucketFlags) options() snapshot.Options {
	return snapshot.Options{Parallel: int(f.parallel.or(0)), Limit: int64(f.limit), Stall: time.Duration(f.timeout)}
}

// identityFlag is the secret key of an encrypted snapshot.
type identityFlag struct{ file string }

func (f *identityFlag) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.file, "identity", "", "`FILE` with the secret key (AGE-SECRET-KEY-…) of an encrypted snapshot")
}

func (f *identityFlag) key() (snapshot.Key, error) {
	if f.file == "" {
		return snapshot.Key{}, nil
	}
	in, err := os.Open(f.file)
	if err != nil {
		return snapshot.Key{}, op.Errorf(op.Usage, "--identity: %w", err)
	}
	defer in.Close()
	return snapshot.NewKey(in)
}
