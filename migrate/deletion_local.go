package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// DeletedLocal is what became of one local store.
type DeletedLocal struct {
	Task    string `json:"task"`
	Dir     string `json:"dir"`
	Deletes int64  `json:"deletes"` // keys, in every column family with rows
	// The store's offset, where it is kept: ".checkpoint", "offsets" (the
	// column family) or "" when it has none.
	Home   string `json:"offset_home"`
	Before *int64 `json:"offset_before"`
	After  *int64 `json:"offset_after"`
	Note   string `json:"note"` // why the offset was not moved; "" when it was
}

// localStore is the database of a store in a task's directory.
type localStore struct{ task, taskDir, dir string }

// findLocal are the databases of a key-value store for one partition: usually
// one, or none. A standby's counts like an active task's.
func findLocal(stateDir, applicationID, store string, partition int32) ([]localStore, error) {
	app := filepath.Join(stateDir, applicationID)
	parents := []string{app}
	entries, err := os.ReadDir(app)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries { // named topologies
		if n := e.Name(); len(n) > 4 && strings.HasPrefix(n, "__") && strings.HasSuffix(n, "__") {
			parents = append(parents, filepath.Join(app, n))
		}
	}
	var out []localStore
	for _, parent := range parents {
		tasks, err := os.ReadDir(parent)
		if err != nil {
			return nil, err
		}
		for _, e := range tasks {
			id, err := streams.ParseTaskID(e.Name())
			if err != nil || id.Partition != int(partition) {
				continue
			}
			taskDir := filepath.Join(parent, e.Name())
			dir := filepath.Join(taskDir, streams.RocksDir, store)
			if files.Exists(filepath.Join(dir, "CURRENT")) {
				out = append(out, localStore{task: e.Name(), taskDir: taskDir, dir: dir})
			}
		}
	}
	return out, nil
}

// deleteLocal deletes the keys in one database and flushes, and then moves its
// offset: killed in between, the application applies the tombstones again.
func (run *deletionRun) deleteLocal(ctx context.Context, ls localStore, s *DeletionStore, dp *DeletedPartition) (res DeletedLocal, err error) {
	res = DeletedLocal{Task: ls.task, Dir: ls.dir}
	p := s.part(dp.Partition)
	shape, err := lookAt(ls.dir)
	if err != nil {
		return res, err
	}
	db, err := rocks.Open(ls.dir, rocks.Options{Compression: shape.Compression})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if res.Deletes, err = deleteKeys(ctx, db, p.Keys); err != nil {
		return res, err
	}
	if err := db.Flush(); err != nil {
		return res, err
	}
	at := streams.TopicPartition{Topic: s.Topic, Partition: p.Partition}
	home, offset, err := offsetOf(ls, db, at)
	res.Home = home
	switch {
	case err != nil:
		return res, err
	case home == "":
		res.Note = "it has no offset: the application builds it from the changelog"
		return res, nil
	}
	res.Before, res.After = &offset, &offset
	if dp.Last == nil {
		res.Note = "the tombstones are no longer in the changelog"
		return res, nil
	}
	last := *dp.Last
	if offset >= last {
		res.Note = "it was there already"
		return res, nil
	}
	covered, err := covers(ctx, run.c, s.Topic, p, offset)
	if err != nil {
		return res, err
	}
	if !covered {
		res.Note = fmt.Sprintf("it lacks records before the planned end %d: the application replays from there, tombstones included", p.End)
		return res, nil
	}
	if err := moveOffset(ls, db, home, at, last); err != nil {
		return res, err
	}
	res.After = &last
	run.sink.Emit(op.Event{Type: op.Item, Name: ls.dir, Done: res.Deletes, Unit: "rows"})
	return res, nil
}

// deleteKeys deletes every key in every family where its row may be: a store
// that migrates lazily has two. One without rows gets no delete entries.
func deleteKeys(ctx context.Context, db *rocks.DB, keys *KeySet) (n int64, err error) {
	const batchKeys = 10_000
	var families []int
	for i, f := range db.Families() {
		if f == streams.OffsetsFamily {
			continue
		}
		some, err := hasRows(db, i)
		if err != nil {
			return 0, err
		}
		if some {
			families = append(families, i)
		}
	}
	b := db.Batch()
	defer b.Close()
	err = keys.Each(ctx, func(key []byte) error {
		for _, f := range families {
			b.Delete(f, key)
		}
		if n++; n%batchKeys == 0 {
			return db.Write(b)
		}
		return nil
	})
	if err == nil {
		err = db.Write(b)
	}
	return n, err
}

func hasRows(db *rocks.DB, family int) (bool, error) {
	found := errors.New("a row")
	err := db.Iterate(family, func([]byte, []byte) error { return found })
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}

// offsetOf is the store's offset and where it is kept; "" when it has none.
// Where both homes have one Kafka Streams takes the file's.
func offsetOf(ls localStore, db *rocks.DB, at streams.TopicPartition) (home string, offset int64, err error) {
	cp, err := streams.ReadCheckpoint(filepath.Join(ls.taskDir, streams.CheckpointFile))
	if err != nil {
		return "", 0, err
	}
	if off, ok := cp[at]; ok && off >= 0 {
		return streams.CheckpointFile, off, nil
	} else if ok {
		return "", 0, nil // -4: known to have none
	}
	f := slices.Index(db.Families(), streams.OffsetsFamily)
	if f < 0 {
		return "", 0, nil
	}
	v, ok, err := db.Get(f, streams.OffsetsKey(at.Topic, at.Partition))
	if err != nil || !ok {
		return "", 0, err
	}
	off, err := streams.DecodeOffset(v)
	if err != nil || off < 0 {
		return "", 0, err
	}
	return streams.OffsetsFamily, off, nil
}

// covers tells whether a store with this offset has all records before the
// planned end: what follows its offset are only markers of transactions, or nothing.
func covers(ctx context.Context, c *kafka.Client, topic string, p *DeletionPart, offset int64) (bool, error) {
	if offset+1 >= p.End {
		return true, nil
	}
	r, err := c.OpenPartition(ctx, kafka.ReadOptions{Topic: topic, Partition: p.Partition, From: offset + 1, To: p.End, MaxBytes: 64 << 10})
	var moved *kafka.LogStartMovedError
	if errors.As(err, &moved) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	var d kafka.Decoder
	found := errors.New("a record")
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			_, err = d.Decode(b, func(*kafka.Record) error { return found })
		}
		switch {
		case err == found, errors.As(err, &moved):
			return false, nil
		case err != nil:
			return false, err
		}
		r.Release(b)
	}
}

// moveOffset advances the offset where it is kept. Nothing else is touched:
// other stores' lines, position and status stay.
func moveOffset(ls localStore, db *rocks.DB, home string, at streams.TopicPartition, offset int64) error {
	if home == streams.OffsetsFamily {
		b := db.Batch()
		defer b.Close()
		b.Put(slices.Index(db.Families(), streams.OffsetsFamily), streams.OffsetsKey(at.Topic, at.Partition), streams.EncodeOffset(offset))
		if err := db.Write(b); err != nil {
			return err
		}
		return db.Flush()
	}
	path := filepath.Join(ls.taskDir, streams.CheckpointFile)
	cp, err := streams.ReadCheckpoint(path)
	if err != nil {
		return err
	}
	cp[at] = offset
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := cp.Write(path); err != nil {
		return err
	}
	// The lines of other stores are as old as they were: the file's time tells.
	var mtime time.Time = before.ModTime()
	if len(cp) > 1 {
		return os.Chtimes(path, mtime, mtime)
	}
	return nil
}
