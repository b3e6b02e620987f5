package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sstool/internal/op"
)

// Folders of markers.
const (
	pendingDir = "pending/"
	pruningDir = "pruning/"
)

// marker is what a push or prune says of itself while it is under way.
type marker struct {
	ID      string   `json:"id"`
	Host    string   `json:"host"`
	Objects []string `json:"objects"` // keys, sorted
}

// lease is a marker that is kept fresh until it is released.
type lease struct {
	b    *Bucket
	key  string
	data []byte

	mu   sync.Mutex
	last time.Time // before the newest write that succeeded
	gap  bool      // it was not fresh all the time since begin

	stop context.CancelFunc
	done chan struct{}
}

// hold writes a marker and keeps it fresh.
func (b *Bucket) hold(ctx context.Context, dir string, m marker) (*lease, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	l := &lease{b: b, key: dir + m.ID + ".json", data: data, done: make(chan struct{})}
	if err := l.write(ctx); err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	go l.keep(ctx)
	return l, nil
}

func (l *lease) keep(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.b.o.tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = l.write(ctx) // fresh tells when it failed for too long
		}
	}
}

func (l *lease) write(ctx context.Context) error {
	before := time.Now()
	ctx, cancel := l.brief(ctx)
	defer cancel()
	if err := l.b.putSmall(ctx, l.key, l.data, false); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = l.gap || !l.last.IsZero() && since(l.last) > l.b.o.lease/2
	l.last = before
	return nil
}

// since is the longer of what the clock on the wall and the one that stands
// still while a machine sleeps say.
func since(t time.Time) time.Duration { return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0))) }

// begin writes the marker anew, and reads it: what answers may be no store at
// all, but a web server that is content with everything. From here on fresh
// tells of gaps.
func (l *lease) begin(ctx context.Context) error {
	if err := l.write(ctx); err != nil {
		return err
	}
	got, err := l.b.getSmall(ctx, l.key, int64(len(l.data)))
	if err != nil && op.KindOf(err) != op.Corrupt && op.KindOf(err) != op.NotFound {
		return err
	}
	if err != nil || !bytes.Equal(got, l.data) {
		return op.Errorf(op.Failed, "%s was written, and something else is read there: this is no store for snapshots", l.b.at(l.key)).
			WithTry("look at the URL: bucket and endpoint")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = false
	return nil
}

// fresh says that nobody can have taken the holder for dead since begin.
func (l *lease) fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = l.gap || since(l.last) > l.b.o.lease/2
	return !l.gap
}

// brief bounds a request that is made under the protection of the lease: it is
// given a quarter of it.
func (l *lease) brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.b.o.lease/4, errStalled)
}

// release removes the marker, also when ctx is cancelled. After a request whose
// end is not known the marker stays and expires: the store may yet carry it out.
func (l *lease) release(ctx context.Context, certain bool) {
	l.stop()
	<-l.done
	if !certain {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(10*time.Second, l.b.o.lease))
	defer cancel()
	_ = l.b.remove(ctx, l.key)
}

// markers lists a folder of markers.
func (b *Bucket) markers(ctx context.Context, dir string) (out []object, err error) {
	err = b.list(ctx, dir, func(o object) {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(o.key, dir), ".json"); ok && ValidID(id) {
			out = append(out, o)
		}
	})
	return out, err
}

// marker reads one; nil when it is gone.
func (b *Bucket) marker(ctx context.Context, key string) (*marker, error) {
	data, err := b.getSmall(ctx, key, maxManifest)
	if op.KindOf(err) == op.NotFound && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m marker
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, op.Errorf(op.Corrupt, "%s: not a marker: %w", b.at(key), err)
	}
	return &m, nil
}

// waitForPrunes waits until no prune is under way that may delete any of the
// objects: each one's marker is gone, or was not written for a whole lease.
func (b *Bucket) waitForPrunes(ctx context.Context, keys map[string]bool, sink op.Sink) error {
	type seen struct{ written, since time.Time }
	was := map[string]seen{}
	harmless := map[string]bool{} // its names never change
	said := false
	for {
		found, err := b.markers(ctx, pruningDir)
		if err != nil {
			return err
		}
		busy := ""
		for _, o := range found {
			if harmless[o.key] {
				continue
			}
			m, err := b.marker(ctx, o.key)
			if err != nil {
				return err
			}
			if m == nil || !slices.ContainsFunc(m.Objects, func(k string) bool { return keys[k] }) {
				harmless[o.key] = true
				continue
			}
			w, ok := was[o.key]
			if !ok || !w.written.Equal(o.time) {
				w = seen{o.time, time.Now()}
				was[o.key] = w
			}
			if time.Since(w.since) <= b.o.lease {
				busy = m.Host
			}
		}
		if busy == "" {
			return nil
		}
		if !said {
			said = true
			sink.Emit(op.Event{Type: op.Phase, Name: "wait", Message: fmt.Sprintf("waiting for a prune on %s to end", busy)})
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for a prune: %w", context.Cause(ctx))
		case <-time.After(max(b.o.lease/100, 10*time.Millisecond)):
		}
	}
}
