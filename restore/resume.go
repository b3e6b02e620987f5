package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// planResume turns every unit into the tail after its stored offset.
func (p *Plan) planResume(ctx context.Context) error {
	o := &p.Options
	app := appDir(o.resumeDir(), o.ApplicationID)
	for _, t := range p.Tasks {
		if !t.Known {
			return op.Errorf(op.Usage, "store %q: the task directory's name needs the sub-topology", t.Units[0].Request.Name).WithTry("--subtopology N")
		}
		dir := filepath.Join(app, t.Name())
		offsets, err := storedOffsets(dir, o.Target)
		if err != nil {
			return err
		}
		for _, u := range t.Units {
			if u.Done {
				continue // an earlier run resumed it, and this one completes that
			}
			if err := p.resumeUnit(ctx, u, dir, offsets); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plan) resumeUnit(ctx context.Context, u *Unit, dir string, offsets streams.Checkpoint) error {
	s := u.Request.Store
	if !s.Kind.OnDisk() {
		return nil // always from the log start
	}
	store := streams.StoreDir(dir, s)
	if full, err := files.NonEmpty(store); err != nil {
		return err
	} else if !full {
		return op.Errorf(op.NotFound, "store %q: nothing to resume at %s", s.Name, store).WithTry("leave out --from-checkpoint for a full restore")
	}
	if p.Options.Guarantee == ExactlyOnce {
		if err := closedCleanly(dir, s); err != nil {
			return err
		}
		// A follower's stores may be ahead of their offsets, by committed records.
		if !readFollowMark(p.Options.resumeDir(), p.Options.ApplicationID).has(u) {
			if err := notFlushedSince(dir, s); err != nil {
				return err
			}
		}
	}
	config, err := p.client.TopicConfig(ctx, u.Topic)
	if err != nil {
		return op.Errorf(op.KindOf(err), "store %q: whether it is too old to resume cannot be told: %w", s.Name, err)
	}
	for i := range u.Parts {
		r := &u.Parts[i]
		off, ok := offsets[streams.TopicPartition{Topic: u.Topic, Partition: r.Partition}]
		if !ok || off == streams.OffsetUnknown {
			return op.Errorf(op.Precondition, "store %q of task %s has no stored offset for %s-%d", s.Name, filepath.Base(dir), u.Topic, r.Partition).
				WithTry("leave out --from-checkpoint and give --force for a full restore")
		}
		from := off + 1
		if u.Request.Global {
			from = off
		}
		switch {
		case from > r.End:
			return op.Errorf(op.Precondition, "%s-%d: the stored offset %d is beyond the end %d: the store belongs to another topic or cluster, and Kafka Streams would wipe it", u.Topic, r.Partition, off, r.End).
				WithTry("leave out --from-checkpoint and give --force for a full restore")
		case from < r.LogStart:
			return op.Errorf(op.Precondition, "%s-%d: the stored offset %d is below the log start %d: Kafka Streams itself would wipe this store and restore it", u.Topic, r.Partition, off, r.LogStart).
				WithTry("leave out --from-checkpoint and give --force for a full restore")
		}
		if age, limit, old := tooOld(dir, store, config); old && from < r.End {
			return op.Errorf(op.Precondition, "store %q was last written %s ago, and tombstones of %s are gone after delete.retention.ms=%s: deleted rows would live again", s.Name, age.Round(time.Minute), u.Topic, limit).
				WithTry("leave out --from-checkpoint and give --force for a full restore")
		}
		r.From, r.Started = from, "stored offset "+strconv.FormatInt(off, 10)
	}
	u.Resume = dir
	return nil
}

// tooOld compares the age of a store's offset with the changelog's
// delete.retention.ms (truth 11). The age is that of the newest of the
// checkpoint and the store's files.
func tooOld(taskDir, store string, config map[string]string) (age, limit time.Duration, old bool) {
	if limit = deleteRetention(config); limit == 0 {
		return 0, 0, false
	}
	age = time.Since(lastWritten(taskDir, store))
	return age, limit, age > limit
}

func compacted(config map[string]string) bool {
	return strings.Contains(config["cleanup.policy"], "compact")
}

// lastWritten is the time of the newest of a store's offset and its files; zero
// when there is none.
func lastWritten(taskDir, store string) time.Time {
	var newest time.Time
	look := func(path string) {
		if i, err := os.Stat(path); err == nil && i.ModTime().After(newest) {
			newest = i.ModTime()
		}
	}
	look(filepath.Join(taskDir, streams.CheckpointFile))
	filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sst") {
			look(path)
		}
		return nil
	})
	return newest
}

// isDual says whether a store that is resumed still holds rows from before it
// kept timestamps (or headers) in a family of their own.
func isDual(taskDir string, s streams.Store) (bool, error) {
	if len(s.ColumnFamilies()) == 1 {
		return false, nil
	}
	dbs, err := madeDatabases(taskDir, s)
	if err != nil {
		return false, err
	}
	for _, db := range dbs {
		found := errors.New("a row")
		err := lsm.Rows(db, streams.DefaultFamily, func(_, _ []byte) error { return found })
		if errors.Is(err, found) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// copies is how many bytes the clones of resumed stores take on the file system
// of dir: where they cannot be links.
func (p *Plan) copies(dir string) (n int64) {
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Resume == "" || u.Done {
				continue
			}
			store := streams.StoreDir(u.Resume, u.Request.Store)
			if same, err := files.SameFileSystem(store, dir); err != nil || !same {
				n += dirSize(store)
			}
		}
	}
	return n
}

// cloneStore makes a working copy of a store under to: SST files are immutable
// and hard-linked (copied across file systems), the small files are copied. An
// application that runs meanwhile replaces files: then it is begun again.
func cloneStore(fromTask, to string, s streams.Store) error {
	src, dst := streams.StoreDir(fromTask, s), streams.StoreDir(to, s)
	var err error
	for range 5 {
		before, ferr := files.Fingerprint(src)
		if ferr != nil {
			return ferr
		}
		if err = cloneTree(src, dst); err == nil {
			var after string
			if after, err = files.Fingerprint(src); err == nil && after == before {
				return nil
			}
			err = fmt.Errorf("copy %s: the store changes all the time", src)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(dst); err != nil {
			return err
		}
	}
	return err
}

func cloneTree(src, dst string) error {
	src = files.RealPath(src)
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		at := filepath.Join(dst, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case !d.Type().IsRegular() || d.Name() == "LOCK":
			return nil
		case strings.HasSuffix(path, ".sst"):
			if os.Link(path, at) == nil {
				return nil
			}
		}
		return copyFile(path, at)
	})
}

// copyFile copies a file with its time, which tells how old a store is.
func copyFile(from, to string) error {
	in, _, err := op.OpenFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}
