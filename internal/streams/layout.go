package streams

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sstool/internal/op"
)

// Names inside an application's state directory (PI/StateDirectory,
// PI/StateManagerUtil).
const (
	CheckpointFile = ".checkpoint"
	LockFile       = ".lock"
	ProcessFile    = "kafka-streams-process-metadata"
	GlobalDir      = "global"
	RocksDir       = "rocksdb" // SI/RocksDBStore.DB_FILE_DIR
	positionSuffix = ".position"
)

// TaskID is a task: a sub-topology and a partition.
type TaskID struct{ Subtopology, Partition int }

// ParseTaskID reads "0_1", the name of a task directory
// (PI/StateDirectory.TASK_DIR_PATH_NAME).
func ParseTaskID(s string) (TaskID, error) {
	sub, part, ok := strings.Cut(s, "_")
	a, okA := digits(sub)
	b, okB := digits(part)
	if !ok || !okA || !okB {
		return TaskID{}, op.Errorf(op.Usage, "not a task id: %q", s).WithTry("write it as SUBTOPOLOGY_PARTITION, for example 0_1")
	}
	return TaskID{a, b}, nil
}

// digits parses a number made of digits only: no sign, no space.
func digits(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && s[0] != '+'
}

// String is the task directory's name.
func (t TaskID) String() string { return fmt.Sprintf("%d_%d", t.Subtopology, t.Partition) }

// Compare orders tasks by sub-topology, then partition.
func (t TaskID) Compare(o TaskID) int {
	if t.Subtopology != o.Subtopology {
		return t.Subtopology - o.Subtopology
	}
	return t.Partition - o.Partition
}

// TaskDir is the directory of a task; topology is empty unless the
// application uses named topologies (PI/StateDirectory).
func TaskDir(stateDir, appID, topology string, t TaskID) string {
	if topology != "" {
		return filepath.Join(stateDir, appID, "__"+topology+"__", t.String())
	}
	return filepath.Join(stateDir, appID, t.String())
}

// GlobalTaskDir is the directory of an application's global stores.
func GlobalTaskDir(stateDir, appID string) string {
	return filepath.Join(stateDir, appID, GlobalDir)
}

// StoreDir is the directory that is the store: a database, or a directory of
// databases for segmented kinds, which do not lie under rocksdb/
// (SI/RocksDBStore, SI/KeyValueSegment).
func StoreDir(taskDir string, s Store) string {
	if s.Kind.Segmented() {
		return filepath.Join(taskDir, s.Name)
	}
	return filepath.Join(taskDir, RocksDir, s.Name)
}

// DatabaseDir is the directory of one database of the store; segment is
// ignored for kinds that have one database.
func DatabaseDir(taskDir string, s Store, segment int64) string {
	if !s.Kind.Segmented() {
		return StoreDir(taskDir, s)
	}
	return filepath.Join(taskDir, s.Name, segmentDir(s.Name, segment, s.intervalMs()))
}

// SegmentDir names a segment's directory: "<store>.<start in ms>"
// (SI/AbstractSegments.segmentName, since 1.1).
func SegmentDir(store string, segmentID int64, interval time.Duration) string {
	return segmentDir(store, segmentID, interval.Milliseconds())
}

func segmentDir(store string, segmentID, intervalMs int64) string {
	return store + "." + strconv.FormatInt(segmentID*intervalMs, 10)
}

// ParseSegmentDir reads the start time out of a segment directory's name.
// Anything else in a segmented store's directory is a danger: Kafka Streams up
// to 4.2 then silently opens no segment at all, 4.4 does not start.
func ParseSegmentDir(store, name string) (startMs int64, ok bool) {
	rest, found := strings.CutPrefix(name, store+".")
	if !found || rest == "" || rest[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	return n, err == nil
}

// PositionFile is where Kafka 3.2 to 4.2 keep a store's query position.
func PositionFile(taskDir, store string) string {
	return filepath.Join(taskDir, store+positionSuffix)
}
