package snapshots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/spec"
)

// PushOptions say what is pushed.
type PushOptions struct {
	StateDir      string
	ApplicationID string
	Tasks         []string // only these; none: all
	// Checkpoint says that nobody writes to the directory while it is pushed: it
	// holds RocksDB checkpoints, or is a snapshot of a file system. The
	// application's lock is not taken then.
	Checkpoint    bool
	Guarantee     string // "" when it is not known
	ClosedCleanly bool   // whatever the times of files say
	KafkaVersion  string
	MadeBy        string
	Cluster       *Cluster // nil: no cluster was asked
	Seal          snapshot.Seal
	Rewrite       bool // upload what is there too

	followed map[string]bool // "task/store": a follower made its checkpoint
}

// Cluster is what a snapshot notes about the changelogs' cluster, so that a
// restore can tell a changelog that was created anew.
type Cluster struct {
	ID string
	// TopicID is the id of a topic, "" when there is no such topic.
	TopicID func(ctx context.Context, topic string) (string, error)

	follower bool // it knows only what it follows
}

// PushResult says what was pushed, or with DryRun what would be.
type PushResult struct {
	Bucket        string     `json:"bucket"`
	Snapshot      string     `json:"snapshot"` // "" in a dry run
	ApplicationID string     `json:"application_id"`
	StateDir      string     `json:"state_dir"`
	Follower      bool       `json:"follower"` // which keeps the directory, and made a checkpoint
	Space         string     `json:"space"`
	Tasks         []PushTask `json:"tasks"`
	Total         Share      `json:"total"`
	// Why the new bytes are new: rows that were flushed, files that compaction
	// wrote anew, and the small files around them. Of a store's first push all
	// are First.
	First     Share    `json:"first"`
	Flushed   Share    `json:"flushed"`
	Compacted Share    `json:"compacted"`
	Small     Share    `json:"small"`
	Previous  string   `json:"previous"` // the snapshot it is compared with; "": none
	Seconds   float64  `json:"seconds"`
	Warnings  []string `json:"warnings"`
}

// PushTask is one task of a push.
type PushTask struct {
	Task   string      `json:"task"`
	Stores []PushStore `json:"stores"`
}

// PushStore is one store of a push.
type PushStore struct {
	Store   string            `json:"store"`
	Kind    string            `json:"store_kind"`
	Offsets []snapshot.Offset `json:"offsets"`
	Share
}

// Share is a part of a push: its files, and how many had to be uploaded.
type Share struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	New      int   `json:"new_files"`
	NewBytes int64 `json:"new_bytes"`
}

func (s *Share) add(f *snapshot.File, isNew bool) {
	s.Files++
	s.Bytes += f.Size
	if isNew {
		s.New++
		s.NewBytes += f.Size
	}
}

// Push pushes a snapshot of an application's tasks.
func Push(ctx context.Context, b *snapshot.Bucket, o PushOptions, sink op.Sink) (*PushResult, error) {
	return push(ctx, b, o, sink, false)
}

// DryRun says what Push would do. It writes nothing.
func DryRun(ctx context.Context, b *snapshot.Bucket, o PushOptions, sink op.Sink) (*PushResult, error) {
	return push(ctx, b, o, sink, true)
}

func push(ctx context.Context, b *snapshot.Bucket, o PushOptions, sink op.Sink, dry bool) (*PushResult, error) {
	start := time.Now()
	app := filepath.Join(o.StateDir, o.ApplicationID)
	if i, err := os.Stat(app); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cannotRead(err)
	} else if err != nil || !i.IsDir() {
		return nil, op.Errorf(op.NotFound, "there is no directory %s", app).WithTry("--state-dir is the application's state.dir, with a directory %s in it", o.ApplicationID)
	}
	res := &PushResult{Bucket: b.Name(), ApplicationID: o.ApplicationID, StateDir: o.StateDir, Tasks: []PushTask{}, Warnings: []string{}}
	app, release, err := hold(ctx, app, &o, sink, res, dry)
	if err != nil {
		return nil, err
	}
	defer release()
	m, levels, err := hashed(ctx, app, &o, sink, res)
	if err != nil {
		return nil, err
	}
	before, err := previous(ctx, b, m, o.Seal.Space())
	if err != nil {
		return nil, err
	}
	var done *snapshot.Pushed
	if dry {
		done, err = b.Compare(ctx, m, o.Seal)
	} else {
		open := func(t *snapshot.Task, f *snapshot.File) (io.ReadCloser, error) {
			file, _, err := op.OpenFile(filepath.Join(app, t.Name, filepath.FromSlash(f.Path)))
			return file, err
		}
		done, err = b.Push(ctx, m, open, snapshot.PushOptions{Seal: o.Seal, Rewrite: o.Rewrite}, sink)
		res.Snapshot = m.ID
	}
	if err != nil {
		return nil, err
	}
	res.Space = m.Space
	res.tally(m, before, levels, done)
	res.Seconds = time.Since(start).Seconds()
	return res, nil
}

// hashed reads the directory into a manifest. What a follower keeps changes while
// a plan looks at it: then it looks again.
func hashed(ctx context.Context, app string, o *PushOptions, sink op.Sink, res *PushResult) (*snapshot.Manifest, map[string]int, error) {
	for try := 1; ; try++ {
		res.Warnings = []string{}
		sink.Emit(op.Event{Type: op.Phase, Name: "read", Message: "looking at the stores"})
		m, levels, err := manifestOf(ctx, app, o, sink, res)
		if err == nil {
			err = hashAll(ctx, app, m, sink)
		}
		if err == nil || ctx.Err() != nil || !res.Follower || o.Checkpoint {
			return m, levels, err
		}
		if try == 3 {
			return nil, nil, op.Errorf(op.Precondition, "the follower of %s changes files faster than they can be looked at: %w", app, err).
				WithTry("without --dry-run the follower is asked for a checkpoint, whose files stay")
		}
	}
}

// manifestOf reads the directory into a manifest without hashes.
func manifestOf(ctx context.Context, app string, o *PushOptions, sink op.Sink, res *PushResult) (*snapshot.Manifest, map[string]int, error) {
	host, _ := os.Hostname()
	m := &snapshot.Manifest{
		ID: snapshot.NewID(time.Now()), ApplicationID: o.ApplicationID, Created: time.Now().UTC().Truncate(time.Millisecond), Host: host, MadeBy: o.MadeBy,
		Source: "stopped", Guarantee: o.Guarantee, KafkaVersion: o.KafkaVersion, Tasks: []snapshot.Task{},
	}
	if o.Checkpoint {
		m.Source = "checkpoint"
	}
	warn := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		res.Warnings = append(res.Warnings, text)
		sink.Warn("", text)
	}
	r := &reader{app: app, o: o, m: m, levels: map[string]int{}, warn: warn}
	var err error
	if r.kinds, err = spec.FromStateDir(app); err != nil {
		r.kinds = nil // kinds are for people; what is wrong is found below
	}
	if err := r.tasks(); err != nil {
		return nil, nil, err
	}
	if o.Cluster == nil {
		return m, r.levels, nil
	}
	m.ClusterID = o.Cluster.ID
	ids := map[string]string{}
	for i := range m.Tasks {
		for j := range m.Tasks[i].Stores {
			for k := range m.Tasks[i].Stores[j].Offsets {
				at := &m.Tasks[i].Stores[j].Offsets[k]
				id, known := ids[at.Topic]
				if !known {
					if id, err = o.Cluster.TopicID(ctx, at.Topic); err != nil {
						return nil, nil, err
					}
					switch ids[at.Topic] = id; {
					case id != "":
					case o.Cluster.follower:
						warn("%s is not followed, and no cluster was asked: a restore uses its store only with --accept-unpinned", at.Topic)
					default:
						warn("the cluster has no topic %s: no restore can complete this snapshot", at.Topic)
					}
				}
				at.TopicID = id
			}
		}
	}
	return m, r.levels, nil
}

// hashAll reads every file once, for its hash.
func hashAll(ctx context.Context, app string, m *snapshot.Manifest, sink op.Sink) error {
	n, total := m.Size()
	sink.Emit(op.Event{Type: op.Phase, Name: "hash", Message: fmt.Sprintf("hashing %d files", n)})
	pr := &meter{sink: sink, total: total}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	m.AllFiles(func(t *snapshot.Task, f *snapshot.File) {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			path := filepath.Join(app, t.Name, filepath.FromSlash(f.Path))
			in, _, err := op.OpenFile(path)
			if err != nil {
				return cannotRead(err)
			}
			defer in.Close()
			h := sha256.New()
			size, err := io.CopyBuffer(io.MultiWriter(h, pr), &stoppable{ctx, in}, make([]byte, 1<<20))
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			if size != f.Size {
				return op.Errorf(op.Precondition, "%s has changed since it was looked at", path).WithTry("stop what writes there and run the command again")
			}
			f.SHA256 = hex.EncodeToString(h.Sum(nil))
			return nil
		})
	})
	return g.Wait()
}

// stoppable reads until the context is cancelled. It hides the file's own way
// to copy itself, which could not be stopped.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// previous is the newest snapshot that holds a task of this one, and whose objects
// this one can reuse: not one that is encrypted for others.
func previous(ctx context.Context, b *snapshot.Bucket, m *snapshot.Manifest, space string) (*snapshot.Manifest, error) {
	ms, err := b.Manifests(ctx, m.ApplicationID)
	if err != nil {
		return nil, err
	}
	for _, x := range ms {
		for _, t := range m.Tasks {
			if x.Space == space && x.Task(t.Name) != nil {
				return x, nil
			}
		}
	}
	return nil, nil
}

// tally says what was new, and why.
func (res *PushResult) tally(m, before *snapshot.Manifest, levels map[string]int, done *snapshot.Pushed) {
	had := map[string]bool{}
	if before != nil {
		res.Previous = before.ID
		for _, t := range before.Tasks {
			for _, s := range t.Stores {
				had[t.Name+"/"+s.Name] = true
			}
		}
	}
	counted := map[string]bool{} // content that several files have is uploaded once
	isNew := func(f *snapshot.File) bool {
		n := done.NewFiles[f.SHA256] && !counted[f.SHA256]
		counted[f.SHA256] = true
		return n
	}
	for i := range m.Tasks {
		t := &m.Tasks[i]
		pt := PushTask{Task: t.Name, Stores: []PushStore{}}
		for j := range t.Stores {
			s := &t.Stores[j]
			ps := PushStore{Store: s.Name, Kind: s.Kind, Offsets: s.Offsets}
			for k := range s.Files {
				f := &s.Files[k]
				n := isNew(f)
				ps.add(f, n)
				res.Total.add(f, n)
				level, table := levels[t.Name+"/"+f.Path]
				switch {
				case !had[t.Name+"/"+s.Name]:
					res.First.add(f, n)
				case !table || !strings.HasSuffix(f.Path, ".sst"):
					res.Small.add(f, n)
				case level == 0:
					res.Flushed.add(f, n)
				default:
					res.Compacted.add(f, n)
				}
			}
			pt.Stores = append(pt.Stores, ps)
		}
		for j := range t.Files {
			n := isNew(&t.Files[j])
			res.Total.add(&t.Files[j], n)
			res.Small.add(&t.Files[j], n)
		}
		res.Tasks = append(res.Tasks, pt)
	}
}
