package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"sstool/internal/files"
	"sstool/internal/op"
)

// Options say how the bucket is talked to. The zero value is fine.
type Options struct {
	Create   bool          // of file://: make the directory when it is not there
	Absent   bool          // of file://: one that is not there is taken for empty; it can only be looked at
	Outside  string        // of file://: it must not be this directory, nor lie in it
	Parallel int           // transfers at once; 0: 4
	Limit    int64         // bytes per second over all transfers; 0: no limit
	Stall    time.Duration // a request without progress for so long is given up; 0: 2 minutes
	Tries    int           // how often a request is tried; 0: 5
	Link     bool          // of file://: SST files that are fetched share the bucket's, where that is possible

	pause time.Duration // before the second try; 0: half a second
	lease time.Duration // how long a marker counts that is not rewritten; 0: 5 minutes
	tick  time.Duration // how often it is rewritten; 0: ten times a lease
}

// Bucket is where snapshots are kept. It may be used by several goroutines.
type Bucket struct {
	name  string // without what may be secret
	dir   string // of file://
	b     *blob.Bucket
	o     Options
	limit *limiter
}

func newBucket(name, dir string, b *blob.Bucket, o Options) *Bucket {
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Stall = cmp.Or(o.Stall, 2*time.Minute)
	o.Tries = cmp.Or(o.Tries, 5)
	o.pause = cmp.Or(o.pause, 500*time.Millisecond)
	o.lease = cmp.Or(o.lease, 5*time.Minute)
	o.tick = cmp.Or(o.tick, o.lease/10)
	return &Bucket{name: name, dir: dir, b: b, o: o, limit: newLimiter(o.Limit)}
}

// Name is the bucket's address without anything secret.
func (b *Bucket) Name() string { return b.name }

// Close ends the connection.
func (b *Bucket) Close() error {
	if b.b == nil {
		return nil
	}
	return b.b.Close()
}

// object is one listed object.
type object struct {
	key  string
	size int64
	time time.Time // the store's
}

// errStalled is the cause of a request that was given up.
var errStalled = errors.New("no progress")

// final is an error that trying again does not help: it is ours, not the
// store's.
type final struct{ error }

func (e final) Unwrap() error { return e.error }

// try does something with the store until it succeeds, fails for good, or has
// been tried often enough. do calls alive whenever it gets on.
func (b *Bucket) try(ctx context.Context, what string, do func(ctx context.Context, alive func()) error) error {
	pause := b.o.pause
	for n := 1; ; n++ {
		err := b.once(ctx, do)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
		var f final
		if errors.As(err, &f) || !again(err) || n >= b.o.Tries {
			return b.explain(what, n, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case <-time.After(pause + rand.N(pause)):
		}
		pause = min(2*pause, 20*b.o.pause)
	}
}

func (b *Bucket) once(ctx context.Context, do func(ctx context.Context, alive func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(b.o.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	err := do(ctx, func() { watch.Reset(b.o.Stall) })
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return fmt.Errorf("%w for %s", errStalled, b.o.Stall)
	}
	return err
}

// code is what the store says of an error, more exactly than gocloud.dev knows.
func code(err error) gcerrors.ErrorCode {
	switch apiCode(err) {
	case "NotImplemented":
		return gcerrors.Unimplemented
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId", "XAdminUserNotFound": // statuses differ
		return gcerrors.PermissionDenied
	case "RequestTimeout": // a 400
		return gcerrors.Unknown
	}
	if c := gcerrors.Code(err); c != gcerrors.Unknown {
		return c
	}
	switch s := status(err); {
	case s == 401 || s == 403:
		return gcerrors.PermissionDenied
	case s >= 300 && s < 500 && s != 408 && s != 409 && s != 425 && s != 429:
		return gcerrors.InvalidArgument
	}
	return gcerrors.Unknown
}

// status is the HTTP status of an error, 0 when it has none.
func status(err error) int {
	var http interface{ HTTPStatusCode() int }
	if errors.As(err, &http) {
		return http.HTTPStatusCode()
	}
	return 0
}

// again says whether another try may help.
func again(err error) bool {
	if none := withoutCredentials(err); none != nil {
		return none.had
	}
	switch code(err) {
	case gcerrors.NotFound, gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.Unimplemented, gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		return false
	}
	for _, e := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if errors.Is(err, e) {
			return false
		}
	}
	return true
}

// plainly is an error without what only the makers of the store understand.
type plainly struct{ error }

func (e plainly) Unwrap() error { return e.error }

func (e plainly) Error() string {
	s := e.error.Error()
	if strings.HasPrefix(s, "blob (") {
		if _, rest, ok := strings.Cut(s, "): "); ok {
			s = rest
		}
	}
	before, rest, ok := strings.Cut(s, ", HostID: ")
	if ok {
		_, rest, _ = strings.Cut(rest, ", ")
		s = before + ", " + rest
	}
	return strings.ReplaceAll(s, "RequestID: , , ", "")
}

// explain gives an error of the store its kind and next step.
func (b *Bucket) explain(what string, tries int, err error) error {
	var ours *op.Error
	if errors.As(err, &ours) {
		return fmt.Errorf("%s: %w", what, err)
	}
	var f final
	if errors.As(err, &f) {
		return fmt.Errorf("%s: %w", what, f.error)
	}
	e := &op.Error{Kind: op.Failed, What: what, Err: plainly{err}}
	switch code, none := code(err), withoutCredentials(err); {
	case none != nil:
		e.Kind, e.Err = op.Unreachable, fmt.Errorf("no credentials: %w", none.error)
		e.Try = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile of ~/.aws (profile=NAME in the URL), or a role of the machine"
	case code == gcerrors.NotFound || errors.Is(err, fs.ErrNotExist):
		e.Kind = op.NotFound
	case code == gcerrors.PermissionDenied || errors.Is(err, fs.ErrPermission):
		e.Kind, e.Try = op.Unreachable, "check the credentials and what they may do: to list, read, write and delete below "+b.name
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		e.Try = "free space there, and run the same command again: what was written stays"
	case code == gcerrors.InvalidArgument:
		e.Try = "check the bucket's name, region and endpoint in the URL"
	case b.dir == "":
		e.Kind = op.Unreachable
		e.Try = "check region and endpoint in the URL, and that the store can be reached; run the same command again to go on"
	}
	if tries > 1 {
		e.What += fmt.Sprintf(" (tried %d times)", tries)
	}
	return e
}

// list calls fn with every object below a prefix.
func (b *Bucket) list(ctx context.Context, prefix string, fn func(object)) error {
	if b.dir != "" {
		if err := b.listDir(ctx, prefix, fn); err != nil {
			return b.explain("list "+b.at(prefix), 1, err)
		}
		return nil
	}
	for token := blob.FirstPageToken; len(token) > 0; {
		var page []*blob.ListObject
		var next []byte
		err := b.try(ctx, "list "+b.at(prefix), func(ctx context.Context, alive func()) (err error) {
			page, next, err = b.b.ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: prefix})
			return err
		})
		if err != nil {
			return err
		}
		for _, x := range page {
			if !x.IsDir {
				fn(object{x.Key, x.Size, x.ModTime})
			}
		}
		token = next
	}
	return nil
}

// at is a key as messages show it.
func (b *Bucket) at(key string) string { return b.name + "/" + key }

// get hands the content of an object to fn, from the start again at every try.
func (b *Bucket) get(ctx context.Context, key string, fn func(r io.Reader) error) error {
	return b.try(ctx, "read "+b.at(key), func(ctx context.Context, alive func()) error {
		r, err := b.b.NewReader(ctx, key, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		return fn(&meteredReader{ctx, r, alive, b.limit})
	})
}

// getSmall reads an object of at most max bytes.
func (b *Bucket) getSmall(ctx context.Context, key string, max int64) (data []byte, err error) {
	err = b.get(ctx, key, func(r io.Reader) error {
		if data, err = io.ReadAll(io.LimitReader(r, max+1)); err == nil && int64(len(data)) > max {
			err = final{op.Errorf(op.Corrupt, "larger than %d bytes", max)}
		}
		return err
	})
	return data, err
}

// put writes an object, which is there as a whole or not at all. fill writes
// its content, from the start again at every try; size is only an estimate.
func (b *Bucket) put(ctx context.Context, key string, size int64, onlyNew bool, fill func(w io.Writer) error) error {
	return b.try(ctx, "write "+b.at(key), func(ctx context.Context, alive func()) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var file *os.File
		w, err := b.b.NewWriter(ctx, key, &blob.WriterOptions{
			ContentType: "application/octet-stream",
			IfNotExist:  onlyNew,
			// An upload has at most 10,000 parts.
			BufferSize:     int(max(8<<20, size/9000)),
			MaxConcurrency: 2,
			BeforeWrite: func(as func(any) bool) error {
				as(&file)
				return nil
			},
		})
		if err != nil {
			return err
		}
		err = fill(&meteredWriter{ctx, w, alive, b.limit})
		if err == nil && file != nil {
			err = file.Sync() // before it gets its name
		}
		if err != nil {
			cancel() // nothing is written
			_ = w.Close()
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if file != nil {
			return b.syncDirs(key)
		}
		return nil
	})
}

// syncDirs makes the name of a file that was written durable.
func (b *Bucket) syncDirs(key string) error {
	for dir := filepath.Dir(filepath.FromSlash(key)); ; dir = filepath.Dir(dir) {
		// One whose name ends in dots is none: fileblob escapes the slash behind it.
		if err := files.SyncDir(filepath.Join(b.dir, dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// putSmall writes an object out of memory.
func (b *Bucket) putSmall(ctx context.Context, key string, data []byte, onlyNew bool) error {
	return b.put(ctx, key, int64(len(data)), onlyNew, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// remove deletes an object; none is fine.
func (b *Bucket) remove(ctx context.Context, key string) error {
	err := b.try(ctx, "delete "+b.at(key), func(ctx context.Context, alive func()) error {
		if err := b.b.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return err
		}
		return nil
	})
	return err
}

// written is when the store says that an object was written.
func (b *Bucket) written(ctx context.Context, key string) (t time.Time, err error) {
	err = b.try(ctx, "look at "+b.at(key), func(ctx context.Context, alive func()) error {
		a, err := b.b.Attributes(ctx, key)
		if err == nil {
			t = a.ModTime
		}
		return err
	})
	return t, err
}
