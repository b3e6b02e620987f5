package streams

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sstool/internal/op"
)

// OffsetUnknown is the offset of a store that is registered but has none:
// restore from the log start, and under exactly-once do not wipe the task
// (SI/OffsetCheckpoint.OFFSET_UNKNOWN; as a line of the file 4.3+ reads it as
// missing, as a row of the offsets family it still works).
const OffsetUnknown = -4

// maxCheckpoint bounds what is read: a line takes at most some 280 bytes.
const maxCheckpoint = 64 << 20

// TopicPartition names one partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is "<topic>-<partition>", as Kafka's TopicPartition.toString.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Checkpoint is the content of a .checkpoint or .position file. In a task's
// .checkpoint the number is the offset of the last applied record; in
// global/.checkpoint it is the next offset (SI/OffsetCheckpoint, Kafka >= 2.6).
type Checkpoint map[TopicPartition]int64

// ReadCheckpoint reads the file as Kafka Streams does; a missing file is an
// empty checkpoint.
func ReadCheckpoint(path string) (Checkpoint, error) {
	c, _, err := ReadCheckpointWarn(path)
	return c, err
}

// ReadCheckpointWarn is ReadCheckpoint that also says what was skipped.
func ReadCheckpointWarn(path string) (Checkpoint, []string, error) {
	f, _, err := op.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, nil, nil
	}
	if err != nil {
		return nil, nil, &op.Error{Kind: op.Failed, What: "read checkpoint " + path, Err: err}
	}
	defer f.Close()
	c, warnings, err := ParseCheckpoint(f)
	if err != nil {
		return nil, warnings, &op.Error{Kind: op.KindOf(err), What: "read checkpoint " + path, Err: err,
			Try: "Kafka Streams does not start on this file either; restore the task afresh"}
	}
	return c, warnings, nil
}

// ParseCheckpoint follows SI/OffsetCheckpoint.read: version 0 only, as many
// lines as declared, columns split at runs of white space. A negative offset
// other than -4 is skipped with a warning and not counted; the file is wrong
// as a whole in every other case.
func ParseCheckpoint(r io.Reader) (Checkpoint, []string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCheckpoint+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxCheckpoint {
		return nil, nil, op.Errorf(op.Corrupt, "larger than %d bytes", maxCheckpoint)
	}
	if !utf8.Valid(data) {
		return nil, nil, op.Errorf(op.Corrupt, "not UTF-8 text")
	}
	lines := javaLines(string(data))
	if len(lines) < 2 {
		return nil, nil, op.Errorf(op.Corrupt, "ends early: expected version and number of entries, found %d lines", len(lines))
	}
	version, err := strconv.ParseInt(lines[0], 10, 32)
	if err != nil {
		return nil, nil, op.Errorf(op.Corrupt, "line 1: version is not a number: %.40q", lines[0])
	}
	if version != 0 {
		return nil, nil, op.Errorf(op.Corrupt, "line 1: unknown version %d, expected 0", version)
	}
	want, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil {
		return nil, nil, op.Errorf(op.Corrupt, "line 2: number of entries is not a number: %.40q", lines[1])
	}
	c := make(Checkpoint, min(len(lines)-2, 1<<16))
	var warnings []string
	for i, line := range lines[2:] {
		tp, offset, err := checkpointLine(line)
		if err != nil {
			return nil, warnings, op.Errorf(op.Corrupt, "line %d: %w", i+3, err)
		}
		if offset < 0 && offset != OffsetUnknown {
			warnings = append(warnings, fmt.Sprintf("line %d: offset %d of %s skipped", i+3, offset, tp))
			want--
			continue
		}
		c[tp] = offset
	}
	if int64(len(c)) != want {
		return nil, warnings, op.Errorf(op.Corrupt, "expected %d entries, found %d", want, len(c))
	}
	return c, warnings, nil
}

func checkpointLine(line string) (tp TopicPartition, offset int64, err error) {
	isSpace := func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) } // Java's \s
	fields := strings.FieldsFunc(line, isSpace)
	// Java's split keeps an empty first column before leading white space.
	if len(fields) != 3 || isSpace(rune(line[0])) {
		return tp, 0, fmt.Errorf("expected topic, partition and offset, found %.80q", line)
	}
	p, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil {
		return tp, 0, fmt.Errorf("partition is not a number: %.40q", fields[1])
	}
	offset, err = strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return tp, 0, fmt.Errorf("offset is not a number: %.40q", fields[2])
	}
	return TopicPartition{fields[0], int32(p)}, offset, nil
}

// javaLines splits like BufferedReader.readLine: at \n, \r or \r\n, without an
// empty line after the last terminator.
func javaLines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// Keys are the partitions of c in order.
func (c Checkpoint) Keys() []TopicPartition {
	keys := make([]TopicPartition, 0, len(c))
	for tp := range c {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, func(a, b TopicPartition) int {
		if n := strings.Compare(a.Topic, b.Topic); n != 0 {
			return n
		}
		return int(a.Partition) - int(b.Partition)
	})
	return keys
}

// Encode is the file's text. Lines are sorted; Kafka's order is arbitrary.
func (c Checkpoint) Encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(c))
	for _, tp := range c.Keys() {
		offset := c[tp]
		if offset < 0 && offset != OffsetUnknown {
			return nil, op.Errorf(op.Failed, "offset %d of %s cannot be written to a checkpoint", offset, tp)
		}
		if err := ValidateTopic(tp.Topic); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s %d %d\n", tp.Topic, tp.Partition, offset)
	}
	return b.Bytes(), nil
}

// Write replaces the file: written beside it as "<path>.tmp" (Kafka Streams'
// own name for it), synced, renamed, and the directory synced. An empty
// checkpoint deletes the file, as Kafka Streams does.
func (c Checkpoint) Write(path string) error {
	fail := func(err error) error {
		return &op.Error{Kind: op.KindOf(err), What: "write checkpoint " + path, Err: err}
	}
	if len(c) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
		return syncDir(filepath.Dir(path), fail)
	}
	data, err := c.Encode()
	if err != nil {
		return fail(err)
	}
	tmp := path + ".tmp"
	if err := writeSynced(tmp, data); err != nil {
		os.Remove(tmp)
		return fail(err)
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return fail(err)
	}
	return syncDir(filepath.Dir(path), fail)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string, fail func(error) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return fail(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fail(err)
	}
	return nil
}
