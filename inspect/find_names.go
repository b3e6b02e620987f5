package inspect

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/streams"
)

// isTaskName says whether a directory of this name is a task's, or global/.
func isTaskName(name string) bool {
	_, err := streams.ParseTaskID(name)
	return err == nil || name == streams.GlobalDir
}

// topologyName is the topology of a directory like __orders__
// (PI/StateDirectory.NAMED_TOPOLOGY_DIR_PATH_NAME).
func topologyName(dir string) (string, bool) {
	rest, a := strings.CutPrefix(dir, "__")
	name, b := strings.CutSuffix(rest, "__")
	if !a || !b || name == "" {
		return "", false
	}
	return name, true
}

// isTaskFile says whether Kafka Streams keeps a file of this name in a task's
// directory.
func isTaskFile(name string) bool {
	return strings.HasPrefix(name, streams.CheckpointFile) || strings.HasSuffix(name, ".position") || strings.HasSuffix(name, streams.LockFile)
}

// isDatabase says whether a directory with these entries is a RocksDB's.
func isDatabase(list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		if e.isDir {
			return false
		}
		return e.name == "CURRENT" || strings.HasPrefix(e.name, "MANIFEST-") || strings.HasPrefix(e.name, "OPTIONS-") || strings.HasSuffix(e.name, ".sst")
	})
}

// isApplication says whether a directory with these entries is an
// application's.
func isApplication(list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		_, named := topologyName(e.name)
		return e.isDir && (isTaskName(e.name) || named) || !e.isDir && e.name == streams.ProcessFile
	})
}

// looksLikeTask says whether a directory of any name holds what a task's does.
func looksLikeTask(list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		return e.isDir && e.name == streams.RocksDir || !e.isDir && e.name == streams.CheckpointFile
	})
}

// hasDatabases says whether a directory called rocksdb holds stores.
func hasDatabases(w *walk, dir string, list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		return e.isDir && isDatabase(w.list(filepath.Join(dir, e.name)))
	})
}

// segmentsOf says whether a directory called name with these entries is a
// segmented store's.
func segmentsOf(name string, list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		_, ok := segmentStart(name, e.name)
		return ok && e.isDir
	})
}

// segmentStart is when the segment begins, in ms. Besides today's form
// (streams.ParseSegmentDir) there are <store>:<ms> of 1.0 and
// <store>-<yyyyMMddHHmm> of 0.10.1 to 0.11, which Kafka Streams renames when
// it opens them (SI/AbstractSegments.segmentIdFromSegmentName).
func segmentStart(store, name string) (int64, bool) {
	if ms, ok := streams.ParseSegmentDir(store, name); ok {
		return ms, true
	}
	if rest, ok := strings.CutPrefix(name, store+":"); ok {
		return streams.ParseSegmentDir(store, store+"."+rest)
	}
	if rest, ok := strings.CutPrefix(name, store+"-"); ok && len(rest) == len("200601021504") {
		if t, err := time.ParseInLocation("200601021504", rest, time.UTC); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}
