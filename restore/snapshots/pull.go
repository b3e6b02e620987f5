package snapshots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/human"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
)

// PullOptions say what is pulled, and where to.
type PullOptions struct {
	Into          string // state.dir
	ApplicationID string
	Snapshot      string   // "": of every task the newest that holds it
	Tasks, Stores []string // only these; none: all
	Guarantee     string   // ""; as the snapshot says
	Key           snapshot.Key
}

// PullPlan is what a pull does, and, as its result, did.
type PullPlan struct {
	Bucket        string     `json:"bucket"`
	ApplicationID string     `json:"application_id"`
	Into          string     `json:"into"`
	Tasks         []PullTask `json:"tasks"`
	Files         int        `json:"files"`
	Bytes         int64      `json:"bytes"`
	Fetched       int64      `json:"fetched_bytes"` // the rest was there from an earlier run
	SpaceFree     *int64     `json:"space_free"`
	Seconds       float64    `json:"seconds"`
	Warnings      []string   `json:"warnings"`

	b *snapshot.Bucket
	o PullOptions
}

// PullTask is one task of a pull.
type PullTask struct {
	Task     string            `json:"task"`
	Snapshot string            `json:"snapshot"`
	Created  time.Time         `json:"created"`
	Written  time.Time         `json:"written"` // its newest file: as old is what it says
	Host     string            `json:"host"`
	State    string            `json:"state"` // "to pull", "pulled", "done before"
	Stores   []string          `json:"stores"`
	Offsets  []snapshot.Offset `json:"offsets"`
	Files    int               `json:"files"`
	Bytes    int64             `json:"bytes"`

	m       *snapshot.Manifest
	task    *snapshot.Task
	partial bool
}

// The states of a task.
const (
	ToPull     = "to pull"
	Pulled     = "pulled"
	DoneBefore = "done before"
)

// DefaultDeleteRetention is Kafka's delete.retention.ms: state that is older may
// miss tombstones.
const DefaultDeleteRetention = 24 * time.Hour

// PlanPull decides what comes from where, and refuses a target that holds
// something. It changes nothing.
func PlanPull(ctx context.Context, b *snapshot.Bucket, o PullOptions, sink op.Sink) (*PullPlan, error) {
	sink.Emit(op.Event{Type: op.Phase, Name: "look", Message: "reading manifests"})
	p := &PullPlan{Bucket: b.Name(), ApplicationID: o.ApplicationID, Into: o.Into, Tasks: []PullTask{}, Warnings: []string{}, b: b, o: o}
	ms, err := Select(ctx, b, o.ApplicationID, o.Snapshot)
	if err != nil {
		return nil, err
	}
	if err := p.choose(ms); err != nil {
		return nil, err
	}
	for i := range p.Tasks {
		if err := p.checkTask(&p.Tasks[i]); err != nil {
			return nil, err
		}
	}
	if err := p.checkTarget(); err != nil {
		return nil, err
	}
	p.age()
	return p, nil
}

// Select reads the snapshots of an application, newest first: all, or the one
// that is named.
func Select(ctx context.Context, b *snapshot.Bucket, app, id string) ([]*snapshot.Manifest, error) {
	ms, err := b.Manifests(ctx, app)
	if err != nil {
		return nil, err
	}
	of := ""
	if app != "" {
		of = " of " + app
	}
	if len(ms) == 0 {
		return nil, op.Errorf(op.NotFound, "%s has no snapshot%s", b.Name(), of).WithTry("sstool snapshot list shows what is there")
	}
	if id == "" {
		return ms, nil
	}
	ms = slices.DeleteFunc(ms, func(m *snapshot.Manifest) bool { return m.ID != id })
	if len(ms) == 0 {
		return nil, op.Errorf(op.NotFound, "%s has no snapshot %s%s", b.Name(), id, of).WithTry("sstool snapshot list shows what is there")
	}
	return ms, nil
}

// choose takes every task from the newest snapshot that holds it.
func (p *PullPlan) choose(ms []*snapshot.Manifest) error {
	o := &p.o
	taken := map[string]bool{}
	has := map[string]bool{}
	for _, m := range ms {
		for i := range m.Tasks {
			t := &m.Tasks[i]
			if taken[t.Name] || len(o.Tasks) > 0 && !slices.Contains(o.Tasks, t.Name) {
				continue
			}
			taken[t.Name] = true
			pt, err := p.pick(m, t, has)
			if err != nil {
				return err
			}
			if pt != nil {
				p.Tasks = append(p.Tasks, *pt)
			}
		}
	}
	for _, want := range o.Tasks {
		if !taken[want] {
			return op.Errorf(op.NotFound, "no snapshot of %s holds task %s", o.ApplicationID, want).WithTry("sstool snapshot show lists the tasks")
		}
	}
	for _, want := range o.Stores {
		if !has[want] {
			return op.Errorf(op.NotFound, "no task that is pulled has a store %q", want).WithTry("sstool snapshot show lists the stores")
		}
	}
	if len(p.Tasks) == 0 {
		return op.Errorf(op.NotFound, "the snapshots of %s hold no store", o.ApplicationID).WithTry("sstool snapshot show lists tasks and stores")
	}
	slices.SortFunc(p.Tasks, func(x, y PullTask) int {
		a, err1 := streams.ParseTaskID(x.Task)
		b, err2 := streams.ParseTaskID(y.Task)
		if err1 != nil || err2 != nil {
			return strings.Compare(x.Task, y.Task)
		}
		return a.Compare(b)
	})
	return nil
}

// pick is one task with the stores that are asked for; nil without any.
func (p *PullPlan) pick(m *snapshot.Manifest, t *snapshot.Task, has map[string]bool) (*PullTask, error) {
	o := &p.o
	guarantee := o.Guarantee
	if guarantee == "" {
		guarantee = m.Guarantee
	}
	pt := &PullTask{Task: t.Name, Snapshot: m.ID, Created: m.Created, Host: m.Host, State: ToPull, Stores: []string{}, Offsets: []snapshot.Offset{}, m: m}
	kept := *t
	kept.Stores, kept.Files = nil, nil
	for _, s := range t.Stores {
		if len(o.Stores) > 0 && !slices.Contains(o.Stores, s.Name) {
			pt.partial = true
			continue
		}
		has[s.Name] = true
		kept.Stores = append(kept.Stores, s)
		pt.Stores = append(pt.Stores, s.Name)
		pt.Offsets = append(pt.Offsets, s.Offsets...)
		if s.Written.After(pt.Written) {
			pt.Written = s.Written
		}
	}
	if len(kept.Stores) == 0 {
		return nil, nil
	}
	if pt.partial && guarantee == ExactlyOnce {
		return nil, op.Errorf(op.Usage, "under exactly-once task %s must be pulled whole: a store without an offset makes Kafka Streams wipe the task", t.Name).WithTry("leave out --store")
	}
	for _, f := range t.Files {
		name, isPosition := strings.CutSuffix(f.Path, ".position")
		store, isOwn := strings.CutPrefix(f.Path, streams.CheckpointFile+"_")
		if pt.partial && (isPosition && !slices.Contains(pt.Stores, name) || isOwn && !slices.Contains(pt.Stores, store)) {
			continue
		}
		kept.Files = append(kept.Files, f)
	}
	pt.task = &kept
	one := snapshot.Manifest{Tasks: []snapshot.Task{kept}}
	pt.Files, pt.Bytes = one.Size()
	return pt, nil
}

func ownDir(stateDir string) string { return filepath.Join(stateDir, ".sstool") }

func (p *PullPlan) appDir() string { return filepath.Join(p.o.Into, p.o.ApplicationID) }

// Dir is where the tasks of snapshots are put together before they are put in
// place, below the snapshots' ids: a pull goes on with what another has left.
func Dir(stateDir, appID string) string { return filepath.Join(ownDir(stateDir), "pull", appID) }

func (p *PullPlan) buildDir() string { return Dir(p.o.Into, p.o.ApplicationID) }

func (p *PullPlan) build(t *PullTask) string { return filepath.Join(p.buildDir(), t.Snapshot, t.Task) }

// donePath is where a pull notes what it puts in place.
func (p *PullPlan) donePath() string {
	return filepath.Join(ownDir(p.o.Into), "pulled-"+p.o.ApplicationID+".json")
}

// placed is a task that a pull has put in place.
type placed struct {
	Snapshot string   `json:"snapshot"`
	Stores   []string `json:"stores"`
	Files    string   `json:"files"` // its fingerprint
}

func (p *PullPlan) done() map[string]placed {
	out := map[string]placed{}
	if data, err := os.ReadFile(p.donePath()); err == nil && json.Unmarshal(data, &out) != nil {
		return map[string]placed{}
	}
	return out
}

// checkTask refuses a place that is taken; by an earlier run of this pull is fine.
func (p *PullPlan) checkTask(t *PullTask) error {
	dir := filepath.Join(p.appDir(), t.Task)
	full, err := files.NonEmpty(dir)
	if err != nil || !full {
		return err
	}
	if d, ok := p.done()[t.Task]; ok && d.Snapshot == t.Snapshot && slices.Equal(d.Stores, t.Stores) {
		if now, err := files.Fingerprint(dir); err == nil && now == d.Files {
			t.State = DoneBefore
			return nil
		}
	}
	return op.Errorf(op.Precondition, "%s is not empty: a snapshot is pulled into an empty place", dir).
		WithTry("move the directory away, or give another --into; --task picks tasks")
}

// checkTarget sums up, and looks at what would stop the pull late.
func (p *PullPlan) checkTarget() error {
	names, err := files.Subdirs(p.o.Into)
	if err != nil {
		return err
	}
	isTask := func(name string) bool { _, err := streams.ParseTaskID(name); return err == nil }
	if files.Exists(filepath.Join(p.o.Into, streams.ProcessFile)) || slices.ContainsFunc(names, isTask) {
		return op.Errorf(op.Usage, "%s is an application's directory, not state.dir: it holds tasks", p.o.Into).
			WithTry("--into %s, the directory above it", filepath.Dir(filepath.Clean(p.o.Into)))
	}
	if same, err := files.SameFileSystem(nearest(ownDir(p.o.Into)), p.appDir()); err == nil && !same {
		return op.Errorf(op.Precondition, "%s lies on another file system than %s: what is pulled cannot be renamed into it", p.appDir(), ownDir(p.o.Into)).
			WithTry("--into the directory that is on that file system")
	}
	p.Files, p.Bytes = 0, 0
	for _, t := range p.Tasks {
		if t.State == ToPull {
			p.Files += t.Files
			p.Bytes += t.Bytes
		}
	}
	var st syscall.Statfs_t
	if syscall.Statfs(nearest(p.o.Into), &st) == nil {
		free := int64(st.Bavail) * int64(st.Bsize)
		p.SpaceFree = &free
		if need := p.Bytes - p.arrived(); free < need {
			return op.Errorf(op.Precondition, "%s has %s free, the snapshot takes %s more", p.o.Into, human.Bytes(free), human.Bytes(need)).WithTry("--task picks tasks; --into another disk")
		}
	}
	return nil
}

// arrived is how much of what is to be pulled, at least, an earlier run has left.
func (p *PullPlan) arrived() (n int64) {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.State != ToPull {
			continue
		}
		one := snapshot.Manifest{Tasks: []snapshot.Task{*t.task}}
		one.AllFiles(func(_ *snapshot.Task, f *snapshot.File) {
			if i, err := os.Lstat(filepath.Join(p.build(t), filepath.FromSlash(f.Path))); err == nil && i.Mode().IsRegular() && i.Size() == f.Size {
				n += f.Size
			}
		})
	}
	return n
}

// nearest is path or the nearest directory above it that exists.
func nearest(path string) string {
	for !files.Exists(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

// age warns of state that may be too old to be resumed (truth 11).
func (p *PullPlan) age() {
	for _, t := range p.Tasks {
		if t.State == ToPull && time.Until(t.Written) > 10*time.Minute {
			p.Warnings = append(p.Warnings, fmt.Sprintf("task %s is dated %s, which is to come: how old it is cannot be told", t.Task, t.Written.UTC().Format(time.RFC3339)))
		}
		if old := time.Since(t.Written); t.State == ToPull && !t.Written.IsZero() && old > DefaultDeleteRetention {
			p.Warnings = append(p.Warnings, fmt.Sprintf("task %s was last written %s ago: where delete.retention.ms of its changelogs is shorter (Kafka's default is 24h), deleted rows would live again; restore such stores in full",
				t.Task, old.Round(time.Minute)))
		}
	}
}

// Steps says what Apply will do.
func (p *PullPlan) Steps() []string {
	out := []string{}
	for _, t := range p.Tasks {
		if t.State == ToPull {
			out = append(out, fmt.Sprintf("task %s: download %d files (%d bytes) of snapshot %s into %s", t.Task, t.Files, t.Bytes, t.Snapshot, filepath.Join(p.appDir(), t.Task)))
		}
	}
	return out
}

// Apply downloads the tasks aside, and puts each in place with one rename when
// it is whole. The application's lock is held all the while. A second run after
// a stop goes on with what is there.
func (p *PullPlan) Apply(ctx context.Context, sink op.Sink) (*PullPlan, error) {
	start := time.Now()
	lock, err := applock.Hold(p.appDir())
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	done := *p
	done.Tasks = slices.Clone(p.Tasks)
	for i := range done.Tasks { // the application may have run meanwhile
		if err := done.checkTask(&done.Tasks[i]); err != nil {
			return nil, err
		}
	}
	if err := Sweep(done.buildDir(), done.pulls); err != nil {
		return nil, err
	}
	var targets []snapshot.Target
	for i := range done.Tasks {
		t := &done.Tasks[i]
		if t.State != ToPull {
			continue
		}
		ts, err := Prepare(done.build(t), t.m, t.task)
		if err != nil {
			return nil, err
		}
		targets = append(targets, ts...)
	}
	fetched, err := p.b.Fetch(ctx, targets, p.o.Key, sink)
	if err != nil {
		return nil, err
	}
	done.Fetched = fetched.Bytes
	sink.Emit(op.Event{Type: op.Phase, Name: "place", Message: "putting tasks in place"})
	for i := range done.Tasks {
		if t := &done.Tasks[i]; t.State == ToPull {
			if err := done.place(t); err != nil {
				return nil, err
			}
			t.State = Pulled
		}
	}
	if err := os.RemoveAll(done.buildDir()); err != nil {
		return nil, err
	}
	_ = os.Remove(filepath.Dir(done.buildDir())) // unless another application is pulled
	done.Seconds = time.Since(start).Seconds()
	return &done, nil
}

// pulls says whether something is still to be pulled of a snapshot.
func (p *PullPlan) pulls(id string) bool {
	return slices.ContainsFunc(p.Tasks, func(t PullTask) bool { return t.Snapshot == id && t.State == ToPull })
}

// Sweep removes from a Dir what stopped pulls have left of snapshots that are not
// pulled.
func Sweep(dir string, pulled func(id string) bool) error {
	names, err := files.Subdirs(dir)
	for _, name := range names {
		if !pulled(name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// Prepare makes the directories of a task below root, removes what is not of
// it, and lists what is to be fetched.
func Prepare(root string, of *snapshot.Manifest, t *snapshot.Task) ([]snapshot.Target, error) {
	var out []snapshot.Target
	wanted := map[string]bool{}
	m := &snapshot.Manifest{ApplicationID: of.ApplicationID, ID: of.ID, Space: of.Space, Tasks: []snapshot.Task{*t}}
	dirs := []string{root}
	for _, s := range t.Stores {
		dirs = append(dirs, filepath.Join(root, filepath.FromSlash(s.Dir())))
	}
	m.AllFiles(func(_ *snapshot.Task, f *snapshot.File) {
		path := filepath.Join(root, filepath.FromSlash(f.Path))
		dirs = append(dirs, filepath.Dir(path))
		wanted[path] = true
		out = append(out, snapshot.Target{Manifest: m, File: f, Path: path})
	})
	// First of all: a link that stands there would lead out of the tree.
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || wanted[path] && d.Type().IsRegular() {
			return err
		}
		return os.Remove(path)
	})
	for _, dir := range dirs {
		err = errors.Join(err, os.MkdirAll(dir, 0o755))
	}
	return out, err
}

// place looks at a task that has arrived as a whole, makes it durable and
// renames it in.
func (p *PullPlan) place(t *PullTask) error {
	root, to := p.build(t), filepath.Join(p.appDir(), t.Task)
	for i := range t.task.Stores {
		if err := CheckWhole(root, &t.task.Stores[i]); err != nil {
			return fmt.Errorf("task %s: %w", t.Task, err)
		}
	}
	if t.partial {
		if err := t.keepLines(root); err != nil {
			return err
		}
	}
	if err := files.SyncTree(root); err != nil {
		return err
	}
	print, err := files.Fingerprint(root)
	if err != nil {
		return err
	}
	ledger := p.done()
	ledger[t.Task] = placed{t.Snapshot, t.Stores, print}
	if err := files.WriteJSON(p.donePath(), ledger); err != nil {
		return err
	}
	if err := files.RemoveEmpty(to); err != nil { // what a wiped task leaves behind
		return err
	}
	now := time.Now() // the cleaner deletes task directories by age
	if err := os.Chtimes(root, now, now); err != nil {
		return err
	}
	if err := os.Rename(root, to); err != nil {
		return &op.Error{Kind: op.Failed, What: "put task " + t.Task + " in place", Err: err, Try: "run the same command again: what was downloaded stays"}
	}
	return errors.Join(files.SyncDir(filepath.Dir(root)), files.SyncDir(filepath.Dir(to)))
}

// CheckWhole says whether a store that was fetched below root has every file that
// its databases name.
func CheckWhole(root string, s *snapshot.Store) error {
	on := filepath.Join(root, filepath.FromSlash(s.Dir()))
	dbs := []string{on}
	if s.Segmented {
		names, err := files.Subdirs(on)
		if err != nil {
			return err
		}
		dbs = nil
		for _, n := range names {
			dbs = append(dbs, filepath.Join(on, n))
		}
	}
	for _, db := range dbs {
		if _, err := lsm.LiveFiles(db); err != nil {
			return fmt.Errorf("store %q is not whole as it was pushed: %w", s.Name, err)
		}
	}
	return nil
}

// keepLines leaves out of the .checkpoint the lines of stores that are not
// pulled: a line without its store is taken for an empty store that is up to date.
func (t *PullTask) keepLines(root string) error {
	path := filepath.Join(root, streams.CheckpointFile)
	if !files.Exists(path) {
		return nil
	}
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	cp, err := streams.ReadCheckpoint(path)
	if err != nil {
		return err
	}
	keep := streams.Checkpoint{}
	for _, o := range t.Offsets {
		if tp := (streams.TopicPartition{Topic: o.Topic, Partition: o.Partition}); o.Home == streams.CheckpointFile {
			if off, ok := cp[tp]; ok {
				keep[tp] = off
			}
		}
	}
	if err := keep.Write(path); err != nil {
		return err
	}
	return os.Chtimes(path, before.ModTime(), before.ModTime())
}
