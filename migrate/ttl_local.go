package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// ttlLocal are local copies of a store, each with the tail of the changelog
// that it does not have yet.
type ttlLocal struct {
	kind   streams.Kind
	values bool
	wanted func(key []byte) bool
	copies []*ttlCopy
	ranges []ttlRange // the units
	sink   op.Sink
}

// ttlCopy is the store in one task.
type ttlCopy struct {
	partition int32
	dir       string
	offset    int64 // last applied
	tail      []ttlTailRow
}

// ttlTailRow is the newest record of a key in the tail.
type ttlTailRow struct {
	key, value []byte
	time, size int64
	deleted    bool
}

// ttlRange is from <= key < to of a copy; nil is open.
type ttlRange struct {
	copy     *ttlCopy
	from, to []byte
}

// The longest tail that is merged: beyond it the changelog is read instead.
const (
	tailOffsets = 2_000_000
	tailBytes   = 32 << 20
)

// rowFamilies are the families of a key-value store's rows, the one that wins
// first: a store that was upgraded keeps the rows it has not touched since in
// an older family.
func rowFamilies() []string {
	return []string{streams.TimestampHeadersFamily, streams.TimestampFamily, streams.DefaultFamily}
}

// openCopy looks at a local copy; why says why its rows cannot stand for the
// changelog's. timed says that the rows' own times count.
func openCopy(d TTLDatabase, topic string, ends kafka.PartitionOffsets, timed bool) (c *ttlCopy, why string) {
	db, err := lsm.OpenDB(d.Dir)
	switch {
	case err != nil:
		return nil, err.Error()
	case db.Version == nil || len(db.Missing) > 0:
		return nil, d.Dir + " is not whole"
	case db.WALBytes > 0:
		return nil, d.Dir + " has rows in a write-ahead log"
	}
	for i := range db.Version.Families {
		f := &db.Version.Families[i]
		if f.Name != streams.OffsetsFamily && !slices.Contains(rowFamilies(), f.Name) {
			return nil, fmt.Sprintf("%s has the column family %q", d.Dir, f.Name)
		}
		if timed && f.Name == streams.DefaultFamily && len(f.Files) > 0 {
			return nil, "rows that the store has not touched since it was upgraded do not have their time"
		}
	}
	offset, ok, err := localOffset(db, d, topic)
	switch {
	case err != nil:
		return nil, err.Error()
	case !ok:
		return nil, "how far the local copy has come in the changelog is not known"
	case offset+1 < ends.Start:
		return nil, fmt.Sprintf("the local copy ends at offset %d, before the changelog begins (%d)", offset, ends.Start)
	case offset >= ends.End:
		return nil, fmt.Sprintf("the local copy is at offset %d, beyond the changelog's end %d: of another topic or cluster", offset, ends.End)
	case ends.End-offset-1 > tailOffsets:
		return nil, fmt.Sprintf("the local copy is %d records behind", ends.End-offset-1)
	}
	return &ttlCopy{partition: d.Partition, dir: d.Dir, offset: offset}, ""
}

// localOffset is the last applied offset of a store's copy: the task's
// .checkpoint, which wins where both exist, or the offsets family.
func localOffset(db *lsm.DB, d TTLDatabase, topic string) (int64, bool, error) {
	tp := streams.TopicPartition{Topic: topic, Partition: d.Partition}
	cp, err := streams.ReadCheckpoint(filepath.Join(d.TaskDir, streams.CheckpointFile))
	if err != nil {
		return 0, false, err
	}
	if o, ok := cp[tp]; ok {
		return o, o >= 0, nil
	}
	if _, ok := db.Version.Family(streams.OffsetsFamily); !ok {
		return 0, false, nil
	}
	b, ok, err := db.Get(streams.OffsetsFamily, streams.OffsetsKey(topic, d.Partition))
	if err != nil || !ok {
		return 0, false, err
	}
	o, err := streams.DecodeOffset(b)
	return o, err == nil && o >= 0, err
}

// tooOld is why a copy that lacks tombstones is not taken: they may be gone from
// the changelog, and their rows live on in the copy alone (zombies).
const tooOld = "the local copy is older than delete.retention.ms: tombstones that it lacks may be gone from the changelog"

// readTail reads what the copy does not have yet. why says that it is too much,
// or that some of it is from before oldest.
func (c *ttlCopy) readTail(ctx context.Context, t *ttlChangelog, oldest int64) (why string, err error) {
	end := t.end(c.partition)
	if c.offset+1 >= end {
		return "", nil
	}
	o := t.readOptions(c.partition, c.offset+1)
	o.MaxBytes, o.Prefetch = 1<<20, 1
	r, err := t.c.OpenPartition(ctx, o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	newest := map[string]int{}
	held := 0
	var dec kafka.Decoder
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		stats, err := dec.Decode(b, func(rec *kafka.Record) error {
			if rec.Timestamp < oldest {
				why = tooOld
				return errStopRows
			}
			if rec.Key == nil || t.wanted != nil && !t.wanted(rec.Key) {
				return nil
			}
			row := ttlTailRow{key: bytes.Clone(rec.Key), time: rec.Timestamp, size: int64(len(rec.Key) + len(rec.Value)), deleted: rec.Value == nil}
			if t.values {
				row.value = bytes.Clone(rec.Value)
			}
			if held += len(row.key) + len(row.value) + 100; held > tailBytes {
				why = "what the local copy lacks is more than fits the memory"
				return errStopRows
			}
			if i, ok := newest[string(rec.Key)]; ok {
				c.tail[i] = row
				return nil
			}
			newest[string(row.key)] = len(c.tail)
			c.tail = append(c.tail, row)
			return nil
		})
		t.stats.Add(stats)
		if errors.Is(err, errStopRows) {
			c.tail = nil
			return why, nil
		}
		if err != nil {
			return "", err
		}
		r.Release(b)
	}
	slices.SortFunc(c.tail, func(a, b ttlTailRow) int { return bytes.Compare(a.key, b.key) })
	return "", nil
}

// retained is the time from which on tombstones are certainly in a changelog.
func retained(config map[string]string, now time.Time) int64 {
	d, ok := configDuration(config, "delete.retention.ms")
	if !ok {
		return math.MinInt64
	}
	return now.Add(-d).UnixMilli()
}

// divide cuts the copies into ranges of keys, so that several workers have
// something to do: at the borders of files.
func (l *ttlLocal) divide(workers int) error {
	for _, c := range l.copies {
		var borders [][]byte
		if workers > len(l.copies) {
			db, err := lsm.OpenDB(c.dir)
			if err != nil {
				return err
			}
			borders = splitKeys(db, 4*workers)
		}
		var from []byte
		for _, b := range borders {
			l.ranges = append(l.ranges, ttlRange{c, from, b})
			from = b
		}
		l.ranges = append(l.ranges, ttlRange{c, from, nil})
	}
	return nil
}

// splitKeys are at most n keys that cut the rows into parts of roughly the same
// size: where the files begin of the level that has most of the data.
func splitKeys(db *lsm.DB, n int) [][]byte {
	var best []lsm.File
	var most int64
	for i := range db.Version.Families {
		f := &db.Version.Families[i]
		if f.Name == streams.OffsetsFamily {
			continue
		}
		sizes := map[int]int64{}
		levels := map[int][]lsm.File{}
		for _, x := range f.Files {
			if x.Level > 0 {
				sizes[x.Level] += x.Size
				levels[x.Level] = append(levels[x.Level], x)
			}
		}
		for level, size := range sizes {
			if size > most {
				best, most = levels[level], size
			}
		}
	}
	var keys [][]byte
	for _, f := range best {
		keys = append(keys, f.Smallest)
	}
	slices.SortFunc(keys, bytes.Compare)
	if len(keys) < 2 {
		return nil
	}
	step := len(keys)/n + 1
	var out [][]byte
	for i := step; i < len(keys); i += step {
		out = append(out, keys[i])
	}
	return out
}

func (l *ttlLocal) units() int { return len(l.ranges) }

func (l *ttlLocal) close() error { return nil }

func (l *ttlLocal) reader() ttlReader { return &ttlLocalReader{l: l} }

// ttlLocalReader reads ranges of copies.
type ttlLocalReader struct {
	l   *ttlLocal
	row ttlRow
}

func (r *ttlLocalReader) close() error { return nil }

func (r *ttlLocalReader) each(unit int, fn func(*ttlRow) error) error {
	rg := r.l.ranges[unit]
	tail := rg.copy.tail
	find := func(key []byte) int {
		i, _ := slices.BinarySearchFunc(tail, key, func(a ttlTailRow, k []byte) int { return bytes.Compare(a.key, k) })
		return i
	}
	if rg.to != nil {
		tail = tail[:find(rg.to)]
	}
	if rg.from != nil {
		tail = tail[find(rg.from):]
	}
	db, err := lsm.OpenDB(rg.copy.dir)
	if err != nil {
		return err
	}
	emit := func(t *ttlTailRow) error {
		if t.deleted {
			return nil
		}
		r.row = ttlRow{partition: rg.copy.partition, key: t.key, time: t.time, size: t.size, value: t.value}
		return fn(&r.row)
	}
	err = eachLocalRow(db, rg.from, rg.to, func(family string, key, value []byte) error {
		for len(tail) > 0 {
			c := bytes.Compare(tail[0].key, key)
			if c > 0 {
				break
			}
			t := &tail[0]
			tail = tail[1:]
			if err := emit(t); err != nil {
				return err
			}
			if c == 0 {
				return nil
			}
		}
		if r.l.wanted != nil && !r.l.wanted(key) {
			return nil
		}
		v, err := streams.SplitRowValue(r.l.kind, family, value)
		if err != nil {
			return &op.Error{Kind: op.Corrupt, What: rg.copy.dir, Err: err}
		}
		r.row = ttlRow{partition: rg.copy.partition, key: key, time: -1, size: int64(len(key) + len(v.Value)), value: v.Value}
		if v.HasTime {
			r.row.time = v.Time
		}
		return fn(&r.row)
	})
	for i := range tail {
		if err != nil {
			return err
		}
		err = emit(&tail[i])
	}
	return err
}

// eachLocalRow calls fn with the rows from <= key < to of a key-value store's
// database, those of all its families as one: of the same key the newer
// family's.
func eachLocalRow(db *lsm.DB, from, to []byte, fn func(family string, key, value []byte) error) error {
	type cursor struct {
		*lsm.Iter
		family string
	}
	ended := func(c cursor) bool {
		if c.Valid() {
			return false
		}
		c.Close()
		return true
	}
	var its []cursor
	defer func() {
		for _, it := range its {
			it.Close()
		}
	}()
	for _, name := range rowFamilies() {
		if _, ok := db.Version.Family(name); !ok {
			continue
		}
		it, err := db.Iter(name, lsm.IterOptions{})
		if err != nil {
			return err
		}
		its = append(its, cursor{it, name})
		if from != nil {
			it.SeekGE(from)
		} else {
			it.First()
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	its = slices.DeleteFunc(its, ended)
	for len(its) > 0 {
		best := 0
		for i := 1; i < len(its); i++ {
			if bytes.Compare(its[i].Entry().Key, its[best].Entry().Key) < 0 {
				best = i
			}
		}
		e := its[best].Entry()
		if to != nil && bytes.Compare(e.Key, to) >= 0 {
			return nil
		}
		if err := fn(its[best].family, e.Key, e.Value); err != nil {
			return err
		}
		some := false
		for i := range its {
			if i != best && bytes.Equal(its[i].Entry().Key, e.Key) {
				some = !its[i].Next() || some
			}
		}
		some = !its[best].Next() || some
		if some {
			for _, it := range its {
				if err := it.Err(); err != nil {
					return err
				}
			}
			its = slices.DeleteFunc(its, ended)
		}
	}
	return nil
}
