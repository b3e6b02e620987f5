package restore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// storedOffsets are the offsets a task directory holds, from both homes: the
// .checkpoint file wins over the offsets family, store by store, as in Kafka
// Streams 4.4. That version takes a line of -4 for a missing one.
//
// Stores that are to be replaced are not looked at: they may be corrupt.
func storedOffsets(taskDir string, target streams.Version, replaced ...string) (streams.Checkpoint, error) {
	out := streams.Checkpoint{}
	stores, err := streams.StoresOnDisk(taskDir)
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		if slices.Contains(replaced, s.Dir) {
			continue
		}
		for _, db := range s.Databases {
			if !files.Exists(filepath.Join(db, "CURRENT")) {
				continue
			}
			if err := offsetRows(db, out); err != nil {
				return nil, err
			}
		}
	}
	cp, err := readCheckpointIf(filepath.Join(taskDir, streams.CheckpointFile))
	if err != nil {
		return nil, err
	}
	for tp, off := range cp {
		if off == streams.OffsetUnknown && streams.OffsetsInStore(target) {
			continue
		}
		out[tp] = off
	}
	return out, nil
}

func offsetRows(db string, into streams.Checkpoint) error {
	return offsetsFamily(db, func(key, value []byte) error {
		tp, ok := streams.ParseOffsetsKey(key)
		if !ok {
			return nil
		}
		off, err := streams.DecodeOffset(value)
		if err != nil {
			return op.Errorf(op.Corrupt, "%s: offset of %s: %w", db, tp, err)
		}
		into[tp] = off
		return nil
	})
}

// offsetsFamily calls fn with the rows of a database's offsets family, if it
// has one.
func offsetsFamily(db string, fn func(key, value []byte) error) error {
	v, err := lsm.ReadManifest(db)
	if err != nil {
		return err
	}
	if _, ok := v.Family(streams.OffsetsFamily); !ok {
		return nil
	}
	return lsm.Rows(db, streams.OffsetsFamily, fn)
}

// notFlushedSince refuses a store that an exactly-once application of Kafka up to
// 4.2 wrote to after its .checkpoint, which a clean close writes last: it may
// hold rows of an aborted transaction. Kafka Streams goes on with it
// nevertheless.
func notFlushedSince(taskDir string, s streams.Store) error {
	i, err := os.Stat(filepath.Join(taskDir, streams.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dbs, err := madeDatabases(taskDir, s)
	if err != nil {
		return err
	}
	for _, db := range dbs {
		live, err := lsm.LiveFiles(db)
		if err != nil {
			return err
		}
		if _, ok := live.Version.Family(streams.OffsetsFamily); !ok && live.FlushedAfter(i.ModTime()) {
			return op.Errorf(op.Precondition, "store %q was not closed cleanly, it was written after its .checkpoint: under exactly-once it may hold rows of an aborted transaction", s.Name).
				WithTry("leave out --from-checkpoint and give --force for a full restore; touch the .checkpoint if it was closed cleanly and times were lost in a copy")
		}
	}
	return nil
}

// closedCleanly refuses a store that an exactly-once application of Kafka 4.3
// or later did not close: it may hold rows of an aborted transaction, and
// Kafka Streams wipes it.
func closedCleanly(taskDir string, s streams.Store) error {
	dbs, err := madeDatabases(taskDir, s)
	if err != nil {
		return err
	}
	for _, db := range dbs {
		err := offsetsFamily(db, func(key, value []byte) error {
			if string(key) != streams.StatusKey {
				return nil
			}
			if status, err := streams.DecodeOffset(value); err != nil || status == streams.StatusOpen {
				return op.Errorf(op.Precondition, "store %q was not closed cleanly: under exactly-once it may hold rows of an aborted transaction, and Kafka Streams would wipe it", s.Name).
					WithTry("leave out --from-checkpoint and give --force for a full restore")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
