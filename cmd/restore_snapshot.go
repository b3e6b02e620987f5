package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/restore"
)

// restoreSnapshotFlags are those of a restore that begins with snapshots.
type restoreSnapshotFlags struct {
	url, id           string
	require, unpinned bool
	link              bool
	identity          identityFlag
	parallel          numberValue
	limit             sizeValue
}

func (f *restoreSnapshotFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "from-snapshot", "", "download stores from the snapshots at `URL` (see sstool snapshot) and replay only what came later; a store whose snapshot cannot be used is restored in full")
	fs.StringVar(&f.id, "snapshot", "", "this snapshot `ID` (default of every task the newest)")
	fs.BoolVar(&f.require, "require-snapshot", false, "exit 14 instead of restoring a store in full")
	fs.BoolVar(&f.unpinned, "accept-unpinned", false, "use a snapshot that was pushed without a cluster: a changelog that was made anew since is then not noticed")
	fs.BoolVar(&f.link, "link", false, "of file://: SST files of the restored stores share the bucket's (hard links on one file system): nothing but their hashes is read and nothing is written. They then have the bucket's owner and mode, and are no second copy")
	f.identity.register(fs)
	f.parallel.min, f.parallel.max = 1, 256
	fs.Var(&f.parallel, "parallel", "requests to the snapshots' store at once, `N` (default 4)")
	fs.Var(&f.limit, "limit", "download at most `SIZE` per second: 50MB (default no limit)")
}

// check refuses flags that do not fit.
func (f *restoreSnapshotFlags) check(share, follow bool) error {
	switch {
	case f.url == "" && (f.id != "" || f.require || f.unpinned || f.link || f.identity.file != "" || f.parallel.or(0) != 0 || f.limit != 0):
		return op.Errorf(op.Usage, "--snapshot, --require-snapshot, --accept-unpinned, --link, --identity, --parallel and --limit are of a restore from snapshots").WithTry("--from-snapshot URL")
	case f.url != "" && share:
		return op.Errorf(op.Usage, "--share divides full restores: --from-snapshot does not fit").WithTry("--from-snapshot with --task on each host")
	case f.url != "" && follow:
		return op.Errorf(op.Usage, "--follow builds what is not there from the changelogs: --from-snapshot does not fit").WithTry("restore --from-snapshot first; --follow then goes on behind it")
	case f.id != "" && !snapshot.ValidID(f.id):
		return op.Errorf(op.Usage, "--snapshot %q has not the form of an id", f.id).WithTry("sstool snapshot list shows them")
	}
	return nil
}

// options are the engine's, without the bucket; nil when none is named.
func (f *restoreSnapshotFlags) options() *restore.SnapshotOptions {
	if f.url == "" {
		return nil
	}
	return &restore.SnapshotOptions{ID: f.id, Require: f.require, Unpinned: f.unpinned}
}

// open opens the bucket, if one is named.
func (f *restoreSnapshotFlags) open(ctx context.Context, s *restore.SnapshotOptions, stall time.Duration) (done func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if s.Key, err = f.identity.key(); err != nil {
		return nil, err
	}
	if s.Bucket, err = snapshot.Open(ctx, f.url, snapshot.Options{Parallel: int(f.parallel.or(0)), Limit: int64(f.limit), Stall: stall, Link: f.link}); err != nil {
		return nil, err
	}
	if f.link && !s.Bucket.CanLink() {
		s.Bucket.Close()
		return nil, op.Errorf(op.Usage, "--link shares files of a directory, and %s is none", s.Bucket.Name()).WithTry("without --link")
	}
	return func() { s.Bucket.Close() }, nil
}

// snapshotPlan is what of a restore comes from snapshots.
type snapshotPlan struct {
	Bucket string            `json:"bucket"`
	Bytes  int64             `json:"bytes"`        // to pull
	Tail   int64             `json:"tail_records"` // to replay afterwards
	Stores []*restore.Origin `json:"stores"`
}

func newSnapshotPlan(p *restore.Plan) *snapshotPlan {
	if p.Options.Snapshot == nil {
		return nil
	}
	d := &snapshotPlan{Bucket: p.Options.Snapshot.Bucket.Name(), Stores: []*restore.Origin{}}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Origin == nil || u.Done {
				continue
			}
			d.Stores = append(d.Stores, u.Origin)
			if u.Origin.InFull == "" {
				d.Bytes += u.Origin.Bytes
				d.Tail += u.Origin.Tail
			}
		}
	}
	return d
}

func renderSnapshotPlan(w *tableWriter, d *snapshotPlan) {
	if d == nil || w.machine() {
		return
	}
	w.line("\nFrom snapshots in %s: %s to pull, then %s records at most.", printable(d.Bucket), w.bytes(d.Bytes), w.count(d.Tail))
	originTable(w, d.Stores)
}

// renderOrigins tells of both parts: the pull and the tail.
func renderOrigins(w *tableWriter, r *restore.Result) {
	s := r.Snapshot
	if s == nil {
		return
	}
	w.line("\nFrom snapshots in %s", printable(s.Bucket))
	rate := ""
	if s.Fetched+s.Linked > 0 {
		rate = fmt.Sprintf(", %.1f MB/s", s.MBPerSec)
	}
	kept := ""
	if before := s.Bytes - s.Fetched - s.Linked; before > 0 {
		kept = fmt.Sprintf(" (%s were there from an earlier run)", humanBytes(before))
	}
	if s.Linked > 0 {
		kept += fmt.Sprintf(", of which %s are shared with the bucket", humanBytes(s.Linked))
	}
	w.pairs([][2]string{
		{"pull", fmt.Sprintf("%s in %s%s%s", humanBytes(s.Bytes), humanSeconds(s.PullSeconds), rate, kept)},
		{"tail", fmt.Sprintf("%s records in %s", humanCount(s.TailRecords), humanSeconds(s.TailSeconds))},
		{"together", humanSeconds(s.Seconds)},
	})
	originTable(w, s.Stores)
}

func originTable(w *tableWriter, stores []*restore.Origin) {
	var rows [][]string
	for _, g := range stores {
		row := []string{g.Task, g.Store, "none", "", "", "", w.count(g.Tail)}
		if g.InFull == "" {
			row = []string{g.Task, g.Store, g.Snapshot, humanSeconds(g.Age), w.count(int64(g.Files)), w.bytes(g.Bytes), w.count(g.Tail)}
		}
		rows = append(rows, row)
	}
	w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "SNAPSHOT"}, {name: "AGE", right: true}, {name: "FILES", right: true, wide: true}, {name: "TO PULL", right: true}, {name: "TAIL", right: true}}, rows)
}
