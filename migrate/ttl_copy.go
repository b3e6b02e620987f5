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
	"sstool/internal/streams"
)

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

// The longest tail that is merged: beyond it the changelog is read instead.
const (
	tailOffsets = 2_000_000
	tailBytes   = 32 << 20
)

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

// copies decides which partitions of a store are read from its local copies.
func (r *ttlRun) copies(ctx context.Context, store int) error {
	s := r.stores[store]
	s.why = map[int32]string{}
	if len(s.Databases) == 0 {
		return nil
	}
	all := r.notLocal(store)
	local := &ttlLocal{kind: s.Kind, values: s.log.values, wanted: s.log.wanted, sink: r.sink}
	var rest []int32
	for _, p := range s.log.parts {
		i := slices.IndexFunc(s.Databases, func(d TTLDatabase) bool { return d.Partition == p })
		switch {
		case all != "":
			s.why[p] = all
		case i < 0:
			s.why[p] = "there is no local copy"
		default:
			cp, why, err := r.copyOf(ctx, s, s.Databases[i], r.timed(store))
			if err != nil {
				return err
			}
			if why == "" {
				local.copies = append(local.copies, cp)
				continue
			}
			s.why[p] = why
		}
		rest = append(rest, p)
	}
	if len(local.copies) == 0 || len(r.stores) > 1 && len(rest) > 0 { // a join needs one order of all partitions
		for _, c := range local.copies {
			s.why[c.partition] = "another partition has no current local copy, and stores are joined"
		}
		return nil
	}
	s.local, s.log.parts = local, rest
	if store == 0 && len(r.stores) == 1 {
		return local.divide(s.log.workers)
	}
	return local.divide(1)
}

// notLocal says why no local copy of the store may be read.
func (r *ttlRun) notLocal(store int) string {
	switch {
	case r.o.StreamTime && store == 0:
		return "stream time is in the changelog"
	case r.stores[store].Kind == streams.KV && r.timed(store):
		return "rows of a kv store do not have their time"
	}
	return ""
}

// timed says whether the rows' own times count.
func (r *ttlRun) timed(store int) bool {
	return store == 0 && (r.o.Where != nil || (r.rules.hasCutoff || r.o.MaxRows > 0) && r.o.Timestamp == nil && r.o.Companion == nil)
}

// copyOf opens a local copy and reads what it lacks.
func (r *ttlRun) copyOf(ctx context.Context, s *ttlStoreRun, d TTLDatabase, timed bool) (*ttlCopy, string, error) {
	cp, why := openCopy(d, s.topic, s.log.ends[d.Partition], timed)
	if why != "" {
		return nil, why, nil
	}
	oldest := retained(s.config, r.o.Now)
	if oldest > 0 && cp.offset+1 < s.log.end(d.Partition) {
		// Tombstones right behind its offset may be gone without a trace.
		at, err := r.c.OffsetForTime(ctx, s.topic, d.Partition, oldest)
		if err != nil {
			return nil, "", err
		}
		if at > cp.offset+1 {
			return nil, tooOld, nil
		}
	}
	why, err := cp.readTail(ctx, s.log, oldest)
	return cp, why, err
}
