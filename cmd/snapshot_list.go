package cmd

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sstool/internal/snapshot"
	"sstool/restore/snapshots"
)

// snapshotListFlags are the flags of sstool snapshot list and show.
type snapshotListFlags struct {
	bucket  bucketFlags
	out     outputFlag
	app, id string
}

// snapshotList is the document of sstool snapshot list.
type snapshotList struct {
	Bucket    string            `json:"bucket"`
	Snapshots []snapshotSummary `json:"snapshots"` // newest first
}

type snapshotSummary struct {
	ID            string    `json:"id"`
	ApplicationID string    `json:"application_id"`
	Created       time.Time `json:"created"`
	Host          string    `json:"host"`
	Source        string    `json:"source"`
	Encrypted     bool      `json:"encrypted"`
	Tasks         []string  `json:"tasks"`
	Stores        int       `json:"stores"`
	Files         int       `json:"files"`
	Bytes         int64     `json:"bytes"`
	// Own are the bytes of files that no older snapshot in the list has.
	OwnBytes int64 `json:"own_bytes"`
}

// snapshotShow is the document of sstool snapshot show.
type snapshotShow struct {
	Bucket    string               `json:"bucket"`
	Manifests []*snapshot.Manifest `json:"manifests"`
}

var exitsBucket = []exit{
	{0, "ok"}, {1, "failed"}, {2, "wrong flags or URL"}, {10, "no such bucket or snapshot"}, {12, "a manifest is corrupt"},
	{13, "the store is unreachable, or access denied"}, {130, "interrupted"},
}

func newSnapshotList(a *app) *cobra.Command {
	var f snapshotListFlags
	cmd := &cobra.Command{
		Use:         "list URL",
		Short:       "list the snapshots",
		Long:        "Lists the snapshots of one application, or of all, the newest first. NEW is what\na snapshot has that no older one in the list has.",
		Example:     "  sstool snapshot list file:///backup/streams\n  sstool snapshot list 's3://backups/streams?region=eu-central-1' --application-id orders -o json",
		Annotations: exits(exitsBucket),
		Args:        bucketArg,
	}
	cmd.Flags().StringVar(&f.app, "application-id", "", "only snapshots of this `ID`")
	f.bucket.register(cmd.Flags(), false)
	f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotList(cmd.Context(), &f, args[0]) })
	return cmd
}

func (a *app) snapshotList(ctx context.Context, f *snapshotListFlags, url string) error {
	b, err := f.bucket.open(ctx, url)
	if err != nil {
		return err
	}
	defer b.Close()
	ms, err := b.Manifests(ctx, f.app)
	if err != nil {
		return err
	}
	doc := snapshotList{Bucket: b.Name(), Snapshots: []snapshotSummary{}}
	seen := map[string]bool{}
	for _, m := range slices.Backward(ms) {
		s := snapshotSummary{ID: m.ID, ApplicationID: m.ApplicationID, Created: m.Created, Host: m.Host, Source: m.Source, Encrypted: m.Space != "plain", Tasks: []string{}}
		s.Files, s.Bytes = m.Size()
		for _, t := range m.Tasks {
			s.Tasks = append(s.Tasks, t.Name)
			s.Stores += len(t.Stores)
		}
		m.AllFiles(func(_ *snapshot.Task, f *snapshot.File) {
			if k := m.Space + f.SHA256; !seen[k] {
				seen[k] = true
				s.OwnBytes += f.Size
			}
		})
		doc.Snapshots = append(doc.Snapshots, s)
	}
	slices.Reverse(doc.Snapshots)
	return emit(a, f.out, "snapshot.list", doc, renderSnapshotList)
}

func newSnapshotShow(a *app) *cobra.Command {
	var f snapshotListFlags
	cmd := &cobra.Command{
		Use:         "show URL",
		Short:       "show what a snapshot holds",
		Long:        "Shows the tasks and stores of a snapshot, the newest unless one is named: kinds,\nsizes, and how far each store has come in its changelog. JSON is the manifest.",
		Example:     "  sstool snapshot show file:///backup/streams --application-id orders\n  sstool snapshot show file:///backup/streams --snapshot 20261130T192301.482Z-3f9a0c1d -o json",
		Annotations: exits(exitsBucket),
		Args:        bucketArg,
	}
	cmd.Flags().StringVar(&f.app, "application-id", "", "of this application `ID`")
	cmd.Flags().StringVar(&f.id, "snapshot", "", "this snapshot `ID` (default the newest)")
	f.bucket.register(cmd.Flags(), false)
	f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotShow(cmd.Context(), &f, args[0]) })
	return cmd
}

func (a *app) snapshotShow(ctx context.Context, f *snapshotListFlags, url string) error {
	b, err := f.bucket.open(ctx, url)
	if err != nil {
		return err
	}
	defer b.Close()
	ms, err := snapshots.Select(ctx, b, f.app, f.id)
	if err != nil {
		return err
	}
	doc := snapshotShow{Bucket: b.Name(), Manifests: ms[:1]}
	return emit(a, f.out, "snapshot.show", doc, renderSnapshotShow)
}

// snapshotVerifyFlags are the flags of sstool snapshot verify.
type snapshotVerifyFlags struct {
	bucket   bucketFlags
	identity identityFlag
	out      outputFlag
	progress progressFlag
	app, id  string
}

func newSnapshotVerify(a *app) *cobra.Command {
	var f snapshotVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify URL",
		Short: "read every object of snapshots and hash it again",
		Long: `Reads every object that the snapshots name, all of them or one, and holds it against
size and hash. What is missing or wrong is named, with the files and snapshots it
is of. A wrong object is made right by pushing with --rewrite from a state directory
that has the file.`,
		Example: "  sstool snapshot verify file:///backup/streams\n  sstool snapshot verify 's3://backups/streams?region=eu-central-1' --snapshot 20261130T192301.482Z-3f9a0c1d --identity key.txt",
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags or URL"}, {3, "an object is missing or wrong"}, {10, "no such bucket or snapshot"}, {12, "a manifest is corrupt"},
			{13, "the store is unreachable, or access denied"}, {14, "encrypted, and the key is missing"}, {130, "interrupted"},
		}),
		Args: bucketArg,
	}
	cmd.Flags().StringVar(&f.app, "application-id", "", "only snapshots of this `ID`")
	cmd.Flags().StringVar(&f.id, "snapshot", "", "only this snapshot `ID`")
	f.identity.register(cmd.Flags())
	f.bucket.register(cmd.Flags(), true)
	f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
	f.progress.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.snapshotVerify(cmd.Context(), &f, args[0]) })
	return cmd
}

func (a *app) snapshotVerify(ctx context.Context, f *snapshotVerifyFlags, url string) error {
	key, err := f.identity.key()
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	b, err := f.bucket.open(ctx, url)
	if err != nil {
		return err
	}
	defer b.Close()
	ms, err := snapshots.Select(ctx, b, f.app, f.id)
	if err != nil {
		return err
	}
	v, err := b.Verify(ctx, ms, key, show.sink)
	show.flush()
	if err != nil {
		return err
	}
	if err := emit(a, f.out, "snapshot.verify", *v, renderSnapshotVerify); err != nil {
		return err
	}
	return damaged(v)
}
