package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"sstool/internal/files"
	"sstool/internal/op"
)

const snapshotsDir = "snapshots/"

func manifestKey(app, id string) string { return snapshotsDir + app + "/" + id + ".json" }

// parseManifestKey is manifestKey backwards.
func parseManifestKey(key string) (app, id string, ok bool) {
	rest, ok1 := strings.CutPrefix(key, snapshotsDir)
	app, name, ok2 := strings.Cut(rest, "/")
	id, ok3 := strings.CutSuffix(name, ".json")
	return app, id, ok1 && ok2 && ok3 && validName(app) && ValidID(id)
}

// Manifests reads the manifests of an application, or with "" of all, newest
// first. One that cannot be read is an error: nobody may believe that it is not
// there.
func (b *Bucket) Manifests(ctx context.Context, app string) ([]*Manifest, error) {
	keys, err := b.manifestKeys(ctx, app)
	if err != nil {
		return nil, err
	}
	out := make([]*Manifest, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Parallel)
	for i, key := range keys {
		g.Go(func() (err error) {
			out[i], err = b.manifest(ctx, key)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(m *Manifest) bool { return m == nil })
	slices.SortStableFunc(out, func(x, y *Manifest) int { return strings.Compare(y.ID, x.ID) })
	return out, nil
}

func (b *Bucket) manifestKeys(ctx context.Context, app string) (keys []string, err error) {
	prefix := snapshotsDir
	if app != "" {
		prefix += app + "/"
	}
	err = b.list(ctx, prefix, func(o object) {
		if _, _, ok := parseManifestKey(o.key); ok {
			keys = append(keys, o.key)
		}
	})
	return keys, err
}

// manifest reads one; nil when it was deleted meanwhile.
func (b *Bucket) manifest(ctx context.Context, key string) (*Manifest, error) {
	data, err := b.getSmall(ctx, key, maxManifest)
	if err != nil && op.KindOf(err) == op.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := DecodeManifest(data)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", b.at(key), err)
	}
	if app, id, _ := parseManifestKey(key); m.ApplicationID != app || m.ID != id {
		return nil, op.Errorf(op.Corrupt, "manifest %s: it is snapshot %s of %q", b.at(key), m.ID, m.ApplicationID)
	}
	return m, nil
}

// receive decrypts what arrives and holds it against size and hash.
func (k Key) receive(space string, f *File, r io.Reader, to io.Writer) error {
	var read readError
	plain, err := k.reader(space, &noted{r, &read})
	var n int64
	h := sha256.New()
	if err == nil {
		n, err = io.Copy(io.MultiWriter(h, to), io.LimitReader(plain, f.Size+1))
	}
	var f1 final
	switch {
	case err == nil:
	case read.err != nil, space == plainSpace, errors.As(err, &f1):
		return err
	default:
		return op.Errorf(op.Corrupt, "it cannot be decrypted: %w", err)
	}
	if n != f.Size {
		return op.Errorf(op.Corrupt, "%d bytes or more arrived, the manifest says %d", n, f.Size)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return op.Errorf(op.Corrupt, "its content has the SHA-256 %s…, the manifest says %s…", got[:16], f.SHA256[:16])
	}
	return nil
}

// Target is a file that a fetch writes.
type Target struct {
	Manifest *Manifest
	File     *File
	Path     string
}

// Fetched is what a fetch has brought, in bytes; what an earlier run had brought
// is not counted.
type Fetched struct {
	Bytes  int64
	Linked int64 // shared with the bucket, see Options.Link
}

// Fetch writes files whose directories are there. What is there already and has
// the right content is taken as it is; nothing wrong ever has its final name.
func (b *Bucket) Fetch(ctx context.Context, targets []Target, key Key, sink op.Sink) (fetched Fetched, err error) {
	var total int64
	for _, t := range targets {
		if err := key.check(t.Manifest.Space); err != nil {
			return fetched, err
		}
		total += t.File.Size
	}
	pr := newProgress(sink, "download", fmt.Sprintf("downloading %d files", len(targets)), total)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Parallel)
	for _, t := range targets {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if holds(t) {
				pr.add(t.File.Size)
				return nil
			}
			linked := b.link(ctx, t, pr)
			if !linked {
				if err := b.fetchOne(ctx, t, key, pr); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if linked {
				fetched.Linked += t.File.Size
			} else {
				fetched.Bytes += t.File.Size
			}
			return nil
		})
	}
	err = g.Wait()
	return fetched, err
}

// holds says whether an earlier run has fetched the file.
func holds(t Target) bool {
	f, size, err := op.OpenFile(t.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	if size != t.File.Size {
		return false
	}
	return t.File.is(f)
}

// is says whether all that r reads is the file's content.
func (f *File) is(r io.Reader) bool {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == f.SHA256
}

func (b *Bucket) fetchOne(ctx context.Context, t Target, key Key, pr *progress) error {
	space, name := t.Manifest.Space, t.Path+".part"
	wrong := 0
	err := b.get(ctx, objectKey(space, t.File.SHA256), func(r io.Reader) error {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return final{err}
		}
		var c counter
		err = key.receive(space, t.File, r, io.MultiWriter(&localWriter{f}, pr, &c))
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			pr.add(-c.n)
			// Another try may bring the right bytes; twice the same is for good.
			if op.KindOf(err) == op.Corrupt {
				if wrong++; wrong > 1 {
					return final{err}
				}
			}
			return err
		}
		return nil
	})
	if err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("fetch %s of task %s: %w", t.File.Path, taskOf(t), err)
	}
	if err := os.Chtimes(name, t.File.Modified, t.File.Modified); err != nil {
		return err
	}
	if err := os.Rename(name, t.Path); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(t.Path))
}

// taskOf names the task of a target for a message.
func taskOf(t Target) (name string) {
	t.Manifest.AllFiles(func(task *Task, f *File) {
		if f == t.File {
			name = task.Name
		}
	})
	return name
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// localWriter makes errors of the local disk final.
type localWriter struct{ f *os.File }

func (w *localWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil {
		err = final{err}
	}
	return n, err
}

// Damage is an object that is not what a manifest says.
type Damage struct {
	Object    string   `json:"object"`
	What      string   `json:"what"` // "missing", "wrong", "unreadable"
	Why       string   `json:"why"`
	Files     []string `json:"files"` // "0_1/rocksdb/store/000012.sst", of all snapshots
	Snapshots []string `json:"snapshots"`
}

// Verified is what Verify found.
type Verified struct {
	Snapshots []string `json:"snapshots"`
	Objects   int      `json:"objects"`
	Bytes     int64    `json:"bytes"`
	Damages   []Damage `json:"damages"`
}

// Verify reads every object of the manifests and hashes it again.
func (b *Bucket) Verify(ctx context.Context, ms []*Manifest, key Key, sink op.Sink) (*Verified, error) {
	v := &Verified{Snapshots: []string{}, Damages: []Damage{}}
	type use struct {
		space string
		file  *File
		Damage
	}
	uses := map[string]*use{}
	var total int64
	for _, m := range ms {
		if err := key.check(m.Space); err != nil {
			return nil, fmt.Errorf("snapshot %s: %w", m.ID, err)
		}
		v.Snapshots = append(v.Snapshots, m.ID)
		m.AllFiles(func(t *Task, f *File) {
			k := objectKey(m.Space, f.SHA256)
			u := uses[k]
			if u == nil {
				u = &use{m.Space, f, Damage{Object: k}}
				uses[k] = u
				total += f.Size
			}
			if name := t.Name + "/" + f.Path; !slices.Contains(u.Files, name) {
				u.Files = append(u.Files, name)
			}
			if !slices.Contains(u.Snapshots, m.ID) {
				u.Snapshots = append(u.Snapshots, m.ID)
			}
		})
	}
	v.Objects, v.Bytes = len(uses), total
	pr := newProgress(sink, "verify", fmt.Sprintf("reading %d objects", len(uses)), total)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Parallel)
	for k, u := range uses {
		g.Go(func() error {
			err := b.get(ctx, k, func(r io.Reader) error {
				err := key.receive(u.space, u.file, r, pr)
				if op.KindOf(err) == op.Corrupt && err != nil {
					return final{err}
				}
				return err
			})
			switch {
			case err == nil:
				return nil
			case ctx.Err() != nil:
				return err
			case op.KindOf(err) == op.NotFound:
				u.What = "missing"
			case op.KindOf(err) == op.Corrupt:
				u.What = "wrong"
			case op.KindOf(err) == op.Unreachable || op.KindOf(err) == op.Precondition:
				return err // not the object's fault
			default:
				u.What = "unreadable"
			}
			u.Why = cause(err).Error()
			mu.Lock()
			defer mu.Unlock()
			v.Damages = append(v.Damages, u.Damage)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(v.Damages, func(x, y Damage) int { return strings.Compare(x.Object, y.Object) })
	return v, nil
}

// cause is the innermost error of ours, or the error.
func cause(err error) error {
	var e *op.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
