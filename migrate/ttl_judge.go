package migrate

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"sstool/internal/op"
	"sstool/internal/serde"
)

// futureSlack is how far a timestamp may be ahead of our clock: producers'
// clocks differ.
const futureSlack = 5 * time.Minute

// ttlRules are what a row is judged by: the same for all workers.
type ttlRules struct {
	o          *TTLOptions
	now        int64
	latest     int64 // what is later lies in the future
	cutoffs    map[int32]int64
	references map[int32]int64 // what ages count from, where not from now
	hasCutoff  bool
	edges      []int64 // of the histogram, ages in ms, ascending

	key, value, companion ttlColumn
	others                int  // related stores, the companion among them
	companionAt           int  // in the related stores; -1: none
	orphans               bool // a row of the companion goes too when its key has no row
}

// ttlColumn is how keys or values are decoded.
type ttlColumn struct {
	serde serde.Serde
	guess bool
}

// decode returns a value for queries; ok is false when the stated decoder does
// not fit.
func (c *ttlColumn) decode(b []byte) (v any, err error) {
	if b == nil {
		return nil, nil
	}
	if c.serde != nil {
		if v, err = c.serde.Decode(b); err == nil {
			return v, nil
		}
		if !c.guess {
			return nil, err
		}
	}
	return "0x" + hex.EncodeToString(b), nil
}

func (c *ttlColumn) decoder() TTLDecoder {
	if c.serde == nil {
		return TTLDecoder{serde.Hex().Name(), true}
	}
	return TTLDecoder{c.serde.Name(), c.guess}
}

// timeClass says what is known of a row's time.
type timeClass uint8

const (
	timeKnown timeClass = iota
	timeMissing
	timeNegative
	timeFuture
)

func (r *ttlRules) class(ms int64, ok bool) timeClass {
	switch {
	case !ok || ms == -1:
		return timeMissing
	case ms < 0:
		return timeNegative
	case ms > r.latest:
		return timeFuture
	}
	return timeKnown
}

// cutoff is the time that a row must be older than in a partition.
func (r *ttlRules) cutoff(p int32) int64 {
	if c, ok := r.cutoffs[p]; ok {
		return c
	}
	return math.MinInt64
}

// reference is what ages of a partition's rows count from.
func (r *ttlRules) reference(p int32) int64 {
	if ref, ok := r.references[p]; ok {
		return ref
	}
	return r.now
}

// ageRange is the histogram's range of an age.
func (r *ttlRules) ageRange(age int64) int {
	for i, e := range r.edges {
		if age <= e {
			return i
		}
	}
	return len(r.edges)
}

// ttlJudge is a worker's: it judges rows, tallies them and keeps those that are
// to go.
type ttlJudge struct {
	*ttlRules
	ctx     context.Context
	tally   *ttlTally
	victims []byte // see ttlVictim
	others  []*ttlPull
	matched []*ttlRow
}

// take judges a row of the store, or (row nil) a row of the companion whose key
// has none.
func (j *ttlJudge) take(row *ttlRow) error {
	for i, p := range j.others {
		skipped := func(*ttlRow) error { return nil }
		if i == j.companionAt && j.orphans {
			skipped = j.orphan
		}
		m, err := p.at(row, skipped)
		if err != nil {
			return err
		}
		j.matched[i] = m
	}
	return j.judge(row, row)
}

// orphan judges a row of the companion whose key has no row in the store, but
// may have in other related ones.
func (j *ttlJudge) orphan(c *ttlRow) error {
	for i, p := range j.others {
		j.matched[i] = nil
		if i == j.companionAt {
			j.matched[i] = c
			continue
		}
		m, err := p.at(c, nil)
		if err != nil {
			return err
		}
		j.matched[i] = m
	}
	return j.judge(nil, c)
}

// judge decides on a key: row is the store's, nil when it has none, at where
// partition and key are.
func (j *ttlJudge) judge(row, at *ttlRow) error {
	ms, ok := j.timeOf(row)
	class := j.class(ms, ok)
	if row != nil {
		j.tally.row(j.ttlRules, row, ms, class)
	}
	selected := true
	if j.hasCutoff {
		if class == timeKnown {
			selected = ms < j.tally.part(j.ttlRules, at.partition).cutoff
		} else {
			selected = j.o.DeleteUnknown
		}
	}
	if selected && j.o.Where != nil {
		var err error
		if selected, err = j.where(row, at); err != nil {
			return err
		}
	}
	if selected {
		j.victims = appendVictim(j.victims, row, at, ms, class, j.matched)
	}
	return nil
}

// timeOf is the time a row is judged by.
func (j *ttlJudge) timeOf(row *ttlRow) (ms int64, ok bool) {
	src, col := row, &j.value
	if j.companionAt >= 0 {
		if src, col = j.matched[j.companionAt], &j.companion; src == nil {
			return 0, false
		}
	}
	if j.companionAt < 0 && j.o.Timestamp == nil || !j.hasCutoff {
		return row.recordTime()
	}
	v, err := col.decode(src.value)
	if err != nil {
		j.tally.undecoded.add(src.key, err)
		return 0, false
	}
	if j.o.Timestamp == nil {
		return serde.Moment(v)
	}
	key, err := j.key.decode(src.key)
	if err != nil {
		j.tally.undecoded.add(src.key, err)
		return 0, false
	}
	found := false
	err = j.o.Timestamp.Run(j.ctx, v, func(out any) error {
		if !found {
			ms, ok = serde.Moment(out)
			found = true
		}
		return nil
	}, key)
	if err != nil {
		j.tally.undecoded.add(src.key, err)
		return 0, false
	}
	return ms, ok
}

// recordTime is the record's timestamp; a row that is not there has none.
func (r *ttlRow) recordTime() (int64, bool) {
	if r == nil {
		return 0, false
	}
	return r.time, r.time != -1
}

// where says whether the expression is true for the row. One that fails leaves
// the row.
func (j *ttlJudge) where(row, at *ttlRow) (bool, error) {
	key, err := j.key.decode(at.key)
	if err != nil {
		j.tally.undecoded.add(at.key, err)
		return false, nil
	}
	in := serde.Object{{Name: "partition", Value: int64(at.partition)}, {Name: "key", Value: key}, {Name: "timestamp", Value: nil}, {Name: "timestamp_ms", Value: nil}, {Name: "value", Value: nil}}
	if row != nil {
		if row.time != -1 {
			in[2].Value, in[3].Value = serde.Time(row.time), row.time
		}
		if in[4].Value, err = j.value.decode(row.value); err != nil {
			j.tally.undecoded.add(row.key, err)
			return false, nil
		}
	}
	yes := false
	err = j.o.Where.Run(j.ctx, in, func(out any) error {
		is, ok := out.(bool)
		if !ok && out != nil {
			return fmt.Errorf("the result is a %s, expected true or false", jsonType(out))
		}
		yes = yes || is
		return nil
	})
	if j.ctx.Err() != nil {
		return false, context.Cause(j.ctx)
	}
	if err != nil {
		j.tally.whereFailed.add(at.key, err)
		return false, nil
	}
	return yes, nil
}

// jsonType names the type of a query's result.
func jsonType(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// ttlVictim is a key that is to go, as it waits to be written: uvarint
// partition, class1, varint time, uvarint size + 1 of the store's row (0: it has
// none), the same for each related store, uvarint length of the key, key.
type ttlVictim struct {
	partition int32
	class     timeClass
	time      int64
	size      int64 // -1: no row
	others    []int64
	key       []byte
}

func appendVictim(dst []byte, row, at *ttlRow, ms int64, class timeClass, matched []*ttlRow) []byte {
	dst = binary.AppendUvarint(dst, uint64(at.partition))
	dst = append(dst, byte(class))
	dst = binary.AppendVarint(dst, ms)
	dst = appendSize(dst, row)
	for _, m := range matched {
		dst = appendSize(dst, m)
	}
	dst = binary.AppendUvarint(dst, uint64(len(at.key)))
	return append(dst, at.key...)
}

func appendSize(dst []byte, r *ttlRow) []byte {
	if r == nil {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(r.size)+1)
}

// read takes the first victim off b.
func (v *ttlVictim) read(b []byte, others int) (rest []byte, err error) {
	bad := false
	next := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return x
	}
	v.partition = int32(next())
	if bad || len(b) == 0 {
		return nil, errVictim()
	}
	v.class, b = timeClass(b[0]), b[1:]
	ms, n := binary.Varint(b)
	if n <= 0 {
		return nil, errVictim()
	}
	v.time, b = ms, b[n:]
	v.size = int64(next()) - 1
	v.others = v.others[:0]
	for range others {
		v.others = append(v.others, int64(next())-1)
	}
	klen := next()
	if bad || klen > uint64(len(b)) {
		return nil, errVictim()
	}
	v.key = b[:klen:klen]
	return b[klen:], nil
}

func errVictim() error { return op.Errorf(op.Failed, "the list of rows is not as it was written") }
