package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"sstool/internal/op"
)

// Opener opens a file of a task of the manifest that is pushed.
type Opener func(t *Task, f *File) (io.ReadCloser, error)

// Pushed says what a push did, or would do.
type Pushed struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	New      int   `json:"new_files"` // uploaded: not there before
	NewBytes int64 `json:"new_bytes"`
	// NewFiles are the hashes of what was uploaded.
	NewFiles map[string]bool `json:"-"`
}

// content is one object of a push: files with the same content are one.
type content struct {
	task *Task
	file *File
}

// contents are the objects of a manifest by key.
func (m *Manifest) contents() map[string]content {
	out := map[string]content{}
	m.AllFiles(func(t *Task, f *File) { out[objectKey(m.Space, f.SHA256)] = content{t, f} })
	return out
}

// missing are the keys that have no object, or, where that can be told, one of
// a wrong size.
func (b *Bucket) missing(ctx context.Context, m *Manifest, all map[string]content) ([]string, error) {
	left := maps.Clone(all)
	err := b.list(ctx, "objects/"+m.Space+"/", func(o object) {
		c, ok := left[o.key]
		if ok && (m.Space != plainSpace && o.size > c.file.Size || o.size == c.file.Size) {
			delete(left, o.key)
		}
	})
	return slices.Sorted(maps.Keys(left)), err
}

// Compare says what pushing the manifest would upload.
func (b *Bucket) Compare(ctx context.Context, m *Manifest, seal Seal) (*Pushed, error) {
	m.Space = seal.Space()
	all := m.contents()
	missing, err := b.missing(ctx, m, all)
	if err != nil {
		return nil, err
	}
	p := &Pushed{NewFiles: map[string]bool{}}
	p.Files, p.Bytes = m.Size()
	p.count(all, missing)
	return p, nil
}

func (p *Pushed) count(all map[string]content, keys []string) {
	for _, k := range keys {
		f := all[k].file
		if !p.NewFiles[f.SHA256] {
			p.NewFiles[f.SHA256] = true
			p.New++
			p.NewBytes += f.Size
		}
	}
}

// PushOptions are how a push goes about it.
type PushOptions struct {
	Seal    Seal
	Rewrite bool // upload what is there too

	reached func(point string) error // a test's: dies at a point
}

func (o *PushOptions) at(point string) error {
	if o.reached == nil {
		return nil
	}
	return o.reached(point)
}

// Push uploads what the manifest names and is not there, and then the
// manifest. The package comment says why that is safe.
func (b *Bucket) Push(ctx context.Context, m *Manifest, open Opener, o PushOptions, sink op.Sink) (*Pushed, error) {
	m.Space = o.Seal.Space()
	doc, err := m.encode()
	if err != nil {
		return nil, err
	}
	all := m.contents()
	keys := map[string]bool{}
	for k := range all {
		keys[k] = true
	}
	l, err := b.hold(ctx, pendingDir, marker{m.ID, m.Host, slices.Sorted(maps.Keys(all))})
	if err != nil {
		return nil, err
	}
	certain := true
	defer func() { l.release(ctx, certain) }()
	p := &Pushed{NewFiles: map[string]bool{}}
	p.Files, p.Bytes = m.Size()
	for round := 1; ; round++ {
		if err := l.begin(ctx); err != nil {
			return nil, err
		}
		if err := o.at("marked"); err != nil {
			return nil, err
		}
		if err := b.waitForPrunes(ctx, keys, sink); err != nil {
			return nil, err
		}
		todo := slices.Sorted(maps.Keys(all))
		if !o.Rewrite || round > 1 {
			if todo, err = b.missing(ctx, m, all); err != nil {
				return nil, err
			}
		}
		if err := o.at("listed"); err != nil {
			return nil, err
		}
		if err := b.upload(ctx, all, todo, open, o.Seal, sink); err != nil {
			return nil, err
		}
		p.count(all, todo)
		if err := o.at("uploaded"); err != nil {
			return nil, err
		}
		if l.fresh() {
			break
		}
		if round == 5 {
			return nil, op.Errorf(op.Failed, "push: its marker %s could not be kept fresh", b.at(l.key)).WithTry("run the same command again: what was uploaded stays")
		}
		sink.Warn(b.name, "the push was held up: looking at everything once more")
	}
	brief, cancel := l.brief(ctx)
	defer cancel()
	key := manifestKey(m.ApplicationID, m.ID)
	err = b.putSmall(brief, key, doc, true)
	if code(err) == gcerrors.Unimplemented {
		err = b.putSmall(brief, key, doc, false) // the id is unique by itself
	}
	if code(err) == gcerrors.FailedPrecondition {
		// A try that was written off may have got through.
		if there, gerr := b.getSmall(ctx, key, maxManifest); gerr == nil && string(there) == string(doc) {
			err = nil
		}
	}
	if err != nil {
		certain = false
		return nil, err
	}
	if err := o.at("written"); err != nil {
		return nil, err
	}
	return p, nil
}

// upload uploads objects, several at once.
func (b *Bucket) upload(ctx context.Context, all map[string]content, keys []string, open Opener, seal Seal, sink op.Sink) error {
	var total int64
	for _, k := range keys {
		total += all[k].file.Size
	}
	pr := newProgress(sink, "upload", fmt.Sprintf("uploading %d files", len(keys)), total)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Parallel)
	for _, k := range keys {
		c := all[k]
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return b.uploadOne(ctx, k, c, open, seal, pr)
		})
	}
	return g.Wait()
}

// uploadOne uploads a file and holds it against its hash meanwhile: one that
// was changed since is not written.
func (b *Bucket) uploadOne(ctx context.Context, key string, c content, open Opener, seal Seal, pr *progress) error {
	return b.put(ctx, key, c.file.Size, false, func(w io.Writer) error {
		r, err := open(c.task, c.file)
		if err != nil {
			return final{err}
		}
		defer r.Close()
		h := sha256.New()
		sw, err := seal.writer(w)
		if err != nil {
			return err
		}
		var read readError
		n, err := io.Copy(sw, io.TeeReader(&noted{r, &read}, io.MultiWriter(h, pr)))
		if read.err != nil {
			return final{read.err}
		}
		if err != nil {
			pr.add(-n)
			return err
		}
		if n != c.file.Size || hex.EncodeToString(h.Sum(nil)) != c.file.SHA256 {
			return final{op.Errorf(op.Precondition, "%s of task %s has changed since it was looked at", c.file.Path, c.task.Name).WithTry("stop what writes there and run the command again")}
		}
		return sw.Close()
	})
}

// noted notes an error of reading, to tell it from one of writing.
type noted struct {
	r  io.Reader
	to *readError
}

type readError struct{ err error }

func (n *noted) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		n.to.err = err
	}
	return k, err
}

// progress counts bytes for the faces.
type progress struct {
	sink     op.Sink
	total    int64
	begun    time.Time
	done     atomic.Int64
	throttle op.Throttle
}

func newProgress(sink op.Sink, phase, message string, total int64) *progress {
	sink.Emit(op.Event{Type: op.Phase, Name: phase, Message: message})
	return &progress{sink: sink, total: total, begun: time.Now()}
}

func (p *progress) Write(b []byte) (int, error) {
	p.add(int64(len(b)))
	return len(b), nil
}

func (p *progress) add(n int64) {
	done := p.done.Add(n)
	now := time.Now()
	if p.sink == nil || !p.throttle.Ready(now) {
		return
	}
	e := op.Event{Type: op.Progress, Done: done >> 20, Total: max(p.total>>20, 1), Unit: "MiB", Bytes: done}
	if s := now.Sub(p.begun).Seconds(); s > 1 && done > 0 {
		e.ETA = time.Duration(float64(p.total-done) / (float64(done) / s) * float64(time.Second))
	}
	p.sink.Emit(e)
}
