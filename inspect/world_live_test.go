package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// underLoad feeds the application and looks at it again and again with every
// command, until it has consumed everything and is closed.
// What Kafka Streams answered to queries at the end is returned.
func (w *worldApp) underLoad(ctx context.Context, t *testing.T) (answers map[string]worldtest.StoreAnswer) {
	stopped := make(chan error, 1)
	var looked atomic.Int32
	go func() {
		base := worldtest.InputBase(time.Now())
		const rounds = 2
		records := w.profile.Records
		for i := range rounds {
			if err := w.harness.Feed(ctx, w.app, worldtest.Input{Records: records, First: i * records, Base: base}); err != nil {
				stopped <- err
				return
			}
		}
		// On a slow machine it is done before there were looks enough.
		for ctx.Err() == nil && looked.Load() < 3 {
			time.Sleep(100 * time.Millisecond)
		}
		var err error
		answers, err = w.harness.Stop(ctx, w.app)
		stopped <- err
	}()
	l := &live{worldApp: w}
	for {
		if err := l.look(ctx, t); err != nil {
			t.Errorf("while it runs, look %d: %v (try %v)", l.looks, err, op.Tries(err))
			looked.Store(3)
			<-stopped
			return answers
		}
		looked.Store(int32(l.looks))
		select {
		case err := <-stopped:
			if err != nil {
				t.Fatal(err)
			}
			if l.looks < 3 || l.churn == 0 {
				t.Errorf("looked %d times, %d files came or went meanwhile: that proves nothing", l.looks, l.churn)
			}
			// Under exactly-once Kafka Streams keeps no offset while it runs, or (from 4.3 on) a late one.
			if l.lags == 0 && !w.eos {
				t.Error("no lag was ever measured")
			}
			t.Logf("looked %d times, %d files came or went meanwhile, %d lags measured, %d false alarms, %d times a kind not told", l.looks, l.churn, l.lags, l.alarms, l.unknown)
			return answers
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// live is a series of looks at a running application.
type live struct {
	*worldApp
	looks, churn, lags int
	unknown            int             // scans of a store whose kind could not be told then
	remarks            map[string]bool // of the look before
	alarms             int             // remarks of one look only
}

// passing is for what is told of a database in the moment in which it is made:
// the next look must not tell it again.
func (l *live) passing(t *testing.T, problems []FileProblem) error {
	now := map[string]bool{}
	for _, p := range problems {
		what := p.Path + ": " + p.What
		if l.remarks[what] {
			return errors.New(what)
		}
		if !now[what] {
			l.alarms++
			t.Logf("look %d: %s", l.looks, what)
		}
		now[what] = true
	}
	l.remarks = now
	return nil
}

// look runs every command that only reads. Nothing may fail, no lock may be
// taken, and no file touched.
func (l *live) look(ctx context.Context, t *testing.T) error {
	l.looks++
	before := fileTimes(t, l.app.Dir())
	begun := time.Now()
	sel := Selection{Path: l.app.Dir()}
	if _, err := InspectLevels(ctx, LevelsOptions{Select: sel}, nil); err != nil {
		return fmt.Errorf("levels: %w", err)
	}
	sst, err := InspectSST(ctx, SSTOptions{Select: []Selection{sel}, Verify: true, KeepGoing: true}, nil)
	if err != nil {
		return fmt.Errorf("sst: %w", err)
	}
	tomb, err := InspectTombstones(ctx, TombstonesOptions{Select: sel}, nil)
	if err != nil {
		return fmt.Errorf("tombstones: %w", err)
	}
	for _, p := range append(Failed(sst.Problems), Failed(tomb.Problems)...) {
		return fmt.Errorf("%s: %s", p.Path, p.What)
	}
	if err := l.passing(t, append(sst.Problems, tomb.Problems...)); err != nil {
		return err
	}
	m, err := MapPath(ctx, MapOptions{Path: l.app.Dir(), Client: l.client}, nil)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	if err := mapProblems(m); err != nil {
		return err
	}
	if err := l.offsets(ctx); err != nil {
		return err
	}
	for _, s := range l.stores {
		if !s.OnDisk() {
			continue
		}
		r, err := OpenRows(ctx, RowsOptions{Path: l.app.Dir(), Store: s.Name})
		if err != nil {
			return fmt.Errorf("rows of %s: %w", s.Name, err)
		}
		res, err := r.Scan(ctx, RowsScan{Count: true}, nil)
		if err != nil {
			return fmt.Errorf("scan %s: %w", s.Name, err)
		}
		if r.kind != streams.Kind(s.Kind) {
			l.unknown++
		}
		if err := res.Compare(ctx, l.client); err != nil {
			return fmt.Errorf("lag of %s: %w", s.Name, err)
		}
	}
	if err := noLocks(); err != nil {
		return err
	}
	return l.untouched(begun, before, fileTimes(t, l.app.Dir()))
}

func mapProblems(m *Map) error {
	all := append(m.Remarks, m.Unreadable...)
	for _, a := range m.Apps {
		all = append(all, a.Remarks...)
		for _, k := range a.Tasks {
			all = append(all, k.Remarks...)
		}
		for _, s := range a.Stores {
			all = append(all, s.Remarks...)
		}
	}
	for _, r := range all {
		if r.Level == Problem {
			return fmt.Errorf("map: %s: %s", r.Where, r.What)
		}
	}
	return nil
}

// offsets holds every offset against its changelog: it lies within.
func (l *live) offsets(ctx context.Context) error {
	o, err := OffsetsPath(ctx, MapOptions{Path: l.app.Dir(), Client: l.client}, nil)
	if err != nil {
		return fmt.Errorf("offsets: %w", err)
	}
	for _, r := range o.Rows {
		switch r.Verdict {
		case OffsetOutOfRange, OffsetUnreadable:
			return fmt.Errorf("offsets: %s of %s: %s: %s (%+v)", r.Store, r.Task, r.Verdict, r.Why, r)
		case OffsetResumes:
			if r.Lag != nil && *r.Lag >= 0 {
				l.lags++
			}
		}
	}
	return nil
}

// noLocks says whether this process holds a lock on any file.
func noLocks() error {
	locks, err := os.ReadFile("/proc/locks")
	if errors.Is(err, os.ErrNotExist) {
		return nil // not Linux
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(locks) {
		if f := strings.Fields(string(line)); len(f) > 4 && f[4] == fmt.Sprint(os.Getpid()) {
			return fmt.Errorf("a lock is held: %s", line)
		}
	}
	return nil
}

// applicationFiles are the names of files that RocksDB and Kafka Streams make.
var applicationFiles = regexp.MustCompile(`^(\d{6,}\.(sst|log|dbtmp)|MANIFEST-\d+|OPTIONS-\d+(\.dbtmp)?|CURRENT|IDENTITY|LOCK|LOG(\.old\.\d+)?` +
	`|\.lock|\.checkpoint(_.+)?(\.tmp)?|.*\.position(\.tmp)?|kafka-streams-process-metadata)$`)

// untouched says which file changed that an application never changes, or is
// not one of its own.
func (l *live) untouched(begun time.Time, before, after map[string]fileTime) error {
	for path, now := range after {
		was, ok := before[path]
		switch {
		case now.mode.IsDir():
		case !applicationFiles.MatchString(filepath.Base(path)):
			return fmt.Errorf("%s was made", path)
		case ok && was != now && strings.HasSuffix(path, ".sst") && begun.Sub(was.modified) > 5*time.Second: // younger ones are being written
			return fmt.Errorf("%s was touched: %v, now %v", path, was, now)
		case !ok:
			l.churn++
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			l.churn++
		}
	}
	return nil
}
