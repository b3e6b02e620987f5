package inspect

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestRealOddTopics reads topics that no healthy application writes from a real
// broker, in every way there is, and holds what is told against a plain
// consumer's records: transactions committed, aborted and open, null and empty
// keys and values, keys of any bytes, a moved log start, a cleaned log.
func TestRealOddTopics(t *testing.T) {
	worldtest.Require(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	b := worldtest.StartBroker(t, worldtest.Options{})
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Cleaned when the test says so: segments roll by their records' times, which are old.
	const years = "315360000000"
	compact := map[string]string{"cleanup.policy": "compact", "max.message.bytes": "4000000", "segment.ms": years, "min.compaction.lag.ms": years}
	o := &oddTopic{c: c, bootstrap: b.Bootstrap, rnd: rand.New(rand.NewPCG(4, 2026)), partitions: 3}

	// Nothing in it, and nothing but a transaction that was aborted.
	o.name = "odd.Empty_1-changelog"
	must(worldtest.CreateTopic(ctx, b.Bootstrap, o.name, o.partitions, compact))
	o.check(ctx, t, "empty")
	must(worldtest.ProduceTxn(ctx, b.Bootstrap, o.name, false, o.records(5, "aborted")...))
	o.check(ctx, t, "aborted alone")

	o.name = "odd." + strings.Repeat("x", 230) + "-changelog"
	must(worldtest.CreateTopic(ctx, b.Bootstrap, o.name, o.partitions, compact))
	for range 3 {
		must(worldtest.Produce(ctx, b.Bootstrap, o.name, o.records(150, "")...))
		must(worldtest.ProduceTxn(ctx, b.Bootstrap, o.name, true, o.records(40, "")...))
		must(worldtest.ProduceTxn(ctx, b.Bootstrap, o.name, false, o.records(30, "aborted")...))
	}
	null := o.records(4, "")
	for i := range null {
		null[i].Key = nil
	}
	must(worldtest.Produce(ctx, b.Bootstrap, o.name, null...))
	o.check(ctx, t, "mixed")
	must(worldtest.MoveLogStart(ctx, b.Bootstrap, o.name, 0, 60))
	o.check(ctx, t, "moved log start")
	last := o.records(int(o.partitions), "") // Compact writes the last of each partition once more
	for i := range last {
		last[i].Partition = int32(i)
	}
	must(worldtest.Produce(ctx, b.Bootstrap, o.name, last...))
	must(b.Compact(ctx, o.name))
	o.check(ctx, t, "cleaned")
	open, err := worldtest.BeginTxn(ctx, b.Bootstrap, o.name, o.records(20, "open")...)
	must(err)
	must(worldtest.Produce(ctx, b.Bootstrap, o.name, o.records(20, "")...))
	o.open = true
	o.check(ctx, t, "open transaction")
	must(open.Abort(ctx))
}

// oddTopic is a topic and what writes into it.
type oddTopic struct {
	c          *kafka.Client
	bootstrap  string
	name       string
	partitions int32
	rnd        *rand.Rand
	n          int
	open       bool // a transaction is
}

// header is a record's header as worldtest.Record has it.
type header = struct {
	Key   string
	Value []byte
}

// records are of any keys and values; mark is a header that says what becomes
// of them.
func (o *oddTopic) records(n int, mark string) []worldtest.Record {
	out := make([]worldtest.Record, n)
	for i := range out {
		o.n++
		r := worldtest.Record{Partition: int32(o.rnd.IntN(int(o.partitions))), Key: o.key(), Timestamp: time.UnixMilli(1_790_000_000_000 + int64(o.rnd.IntN(1_000_000)))}
		switch o.rnd.IntN(8) {
		case 0: // null
		case 1:
			r.Value = []byte{}
		case 2:
			r.Value = bytes.Repeat([]byte{byte(o.n)}, o.rnd.IntN(60_000))
		default:
			r.Value = fmt.Appendf(nil, "v%d", o.n)
		}
		if mark != "" {
			r.Headers = append(r.Headers, header{"mark", []byte(mark)})
		} else if o.rnd.IntN(5) == 0 {
			r.Headers = append(r.Headers, header{"trace\x1b[31m", nil}, header{"", []byte{0, 255}})
		}
		out[i] = r
	}
	return out
}

// key is one of some hundred, of any form.
func (o *oddTopic) key() []byte {
	n := o.rnd.IntN(120)
	switch n {
	case 0:
		return []byte{}
	case 1:
		return []byte{0}
	case 2:
		return []byte{0, 0}
	case 3:
		return bytes.Repeat([]byte{0xff}, 30)
	case 4:
		return bytes.Repeat([]byte("long"), 3000)
	case 5:
		return []byte("k\x1b[2J\x7f\u202e")
	}
	return fmt.Appendf(nil, "k%03d", n)
}

// modelRow is what a plain consumer makes of a partition.
type modelRow struct {
	key, value []byte
	offset, at int64
	headers    int
	deleted    bool
}

// model is the table, partition by partition and by key, deleted keys too, and
// what was counted.
func (o *oddTopic) model(ctx context.Context, t *testing.T) (rows map[int32][]modelRow, count LogCounts, distinct, live int64) {
	t.Helper()
	// A broker writes the markers of a transaction after it has said that it ended.
	var ends map[int32]kafka.PartitionOffsets
	for wait := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var err error
		if ends, err = o.c.Offsets(ctx, o.name, nil); err != nil {
			t.Fatal(err)
		}
		undecided := int64(0)
		for _, e := range ends {
			undecided += e.End - e.LastStable
		}
		if undecided == 0 || o.open || time.Now().After(wait) {
			break
		}
	}
	log, err := worldtest.ReadTopic(ctx, o.bootstrap, o.name)
	if err != nil {
		t.Fatal(err)
	}
	rows = map[int32][]modelRow{}
	for p, records := range log {
		newest := map[string]modelRow{}
		for _, r := range records {
			mark := ""
			for _, h := range r.Headers {
				if h.Key == "mark" {
					mark = string(h.Value)
				}
			}
			switch {
			case r.Offset >= ends[p].LastStable:
				continue
			case r.Attrs.IsControl():
				count.Control++
				continue
			case mark == "aborted":
				count.Aborted++
				continue
			}
			count.Records++
			if len(r.Headers) > 0 {
				count.WithHeaders++
			}
			if r.Value == nil {
				count.Tombstones++
			} else if len(r.Value) == 0 {
				count.EmptyValues++
			}
			if r.Key == nil {
				count.NullKeys++
				continue
			}
			newest[string(r.Key)] = modelRow{key: r.Key, value: r.Value, offset: r.Offset, at: r.Timestamp.UnixMilli(), headers: len(r.Headers), deleted: r.Value == nil}
		}
		distinct += int64(len(newest))
		for _, r := range newest {
			rows[p] = append(rows[p], r)
			if !r.deleted {
				live++
			}
		}
		slices.SortFunc(rows[p], func(a, b modelRow) int { return bytes.Compare(a.key, b.key) })
	}
	return rows, count, distinct, live
}

func (o *oddTopic) reader(ctx context.Context, t *testing.T, to TopicRowsOptions) *TopicRows {
	t.Helper()
	to.Topic, to.TempDir = o.name, t.TempDir()
	topic, err := OpenTopicRows(ctx, o.c, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// check reads the topic in every way.
func (o *oddTopic) check(ctx context.Context, t *testing.T, when string) {
	t.Helper()
	rows, count, distinct, live := o.model(ctx, t)
	o.checkCounts(ctx, t, when, count, distinct, live)

	at := func(ms int64) *int64 { return &ms }
	for name, s := range map[string]struct {
		to   TopicRowsOptions
		scan RowsScan
	}{
		"all":          {},
		"deleted too":  {scan: RowsScan{Deleted: true}},
		"small memory": {to: TopicRowsOptions{Memory: 4 << 20}},
		"count":        {scan: RowsScan{Count: true}},
		"keys only":    {scan: RowsScan{KeysOnly: true}},
		"huge limit":   {scan: RowsScan{Limit: math.MaxInt64, Deleted: true}},
		"one":          {scan: RowsScan{Limit: 1}},
		"from":         {scan: RowsScan{From: []byte("k050")}},
		"to":           {scan: RowsScan{To: []byte{0}}},
		"range":        {scan: RowsScan{From: []byte("k010"), To: []byte("k019"), Deleted: true}},
		"prefix":       {scan: RowsScan{Prefix: []byte("k1")}},
		"all ff":       {scan: RowsScan{Prefix: []byte{0xff}}},
		"times":        {scan: RowsScan{Times: TimeRange{at(1_790_000_300_000), at(1_790_000_600_000)}}},
		"partitions":   {to: TopicRowsOptions{Partitions: []int32{0, 2}}},
		"stated":       {to: TopicRowsOptions{Key: serde.Hex(), Value: serde.Hex()}},
		"timestamped":  {to: TopicRowsOptions{Kind: streams.TimestampedKV}},
	} {
		var want, got []string
		for p := range o.partitions {
			if len(s.to.Partitions) > 0 && !slices.Contains(s.to.Partitions, p) {
				continue
			}
			for _, r := range rows[p] {
				x := s.scan
				if r.deleted && !x.Deleted || x.From != nil && bytes.Compare(r.key, x.From) < 0 || x.To != nil && bytes.Compare(r.key, x.To) > 0 ||
					!bytes.HasPrefix(r.key, x.Prefix) || !x.Times.has(r.at) || x.Limit > 0 && int64(len(want)) >= x.Limit {
					continue
				}
				want = append(want, fmt.Sprintf("%d %x = %x %t @%d #%d %d", p, r.key, r.value, r.value == nil, r.at, r.offset, r.headers))
			}
		}
		topic := o.reader(ctx, t, s.to)
		res, err := topic.Scan(ctx, s.scan, func(row *Row) error {
			got = append(got, fmt.Sprintf("%d %x = %x %t @%d #%d %d", *row.Partition, row.Key.Bytes, row.Value.Bytes, row.Value.Bytes == nil, *row.Time, *row.Offset, len(row.Headers)))
			if b := row.AppendJSON(nil); bytes.ContainsAny(b, "\x1b\x7f") || bytes.Contains(b, []byte("\u202e")) {
				return fmt.Errorf("not for a terminal: %q", b)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s, %s: %v", when, name, err)
			continue
		}
		if s.scan.Count {
			if res.Count != int64(len(want)) || len(got) > 0 {
				t.Errorf("%s, %s: %d, want %d", when, name, res.Count, len(want))
			}
			continue
		}
		slices.Sort(want)
		if s.scan.Limit != 1 {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) || res.Count != int64(len(want)) {
			t.Errorf("%s, %s: %d rows, counted %d, want %d", when, name, len(got), res.Count, len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("row %d: %.200s\nwant   %.200s", i, got[i], want[i])
					break
				}
			}
		}
	}
	o.checkGets(ctx, t, when, rows)
}

// checkGets looks every third key up, typed as hex, and asks for what a topic
// does not have.
func (o *oddTopic) checkGets(ctx context.Context, t *testing.T, when string, rows map[int32][]modelRow) {
	t.Helper()
	n := 0
	for p, list := range rows {
		for i := 0; i < len(list); i += 9 {
			r := list[i]
			for _, deleted := range []bool{false, true} {
				topic := o.reader(ctx, t, TopicRowsOptions{Key: serde.Hex(), Partitions: []int32{p}})
				var got []byte
				res, err := topic.Get(ctx, RowsGet{Key: fmt.Sprintf("%x", r.key), Deleted: deleted}, func(row *Row) error { got = bytes.Clone(row.Value.Bytes); return nil })
				shown := int64(1)
				if r.deleted && !deleted {
					shown = 0
				}
				if err != nil || res.Count != shown || shown == 1 && !bytes.Equal(got, r.value) {
					t.Errorf("%s: get %.40x of %d (deleted %t): %v, %.40x", when, r.key, p, deleted, err, got)
				}
			}
			n++
		}
	}
	topic := o.reader(ctx, t, TopicRowsOptions{Key: serde.Hex()})
	if _, err := topic.Get(ctx, RowsGet{Key: "zz"}, nil); op.KindOf(err) != op.Usage {
		t.Errorf("%s: a key that is no hex: %v", when, err)
	}
	if _, err := topic.Get(ctx, RowsGet{Key: "00", History: true}, nil); op.KindOf(err) != op.Usage {
		t.Errorf("%s: history of a topic: %v", when, err)
	}
	if res, err := topic.Get(ctx, RowsGet{Key: "aabbcc"}, nil); err != nil || res.Count != 0 {
		t.Errorf("%s: a key that is not there: %v", when, err)
	}
	// As any kind: what does not have its form is shown as what it is.
	for _, k := range streams.Kinds() {
		topic := o.reader(ctx, t, TopicRowsOptions{Kind: k})
		if _, err := topic.Scan(ctx, RowsScan{Deleted: true}, func(row *Row) error { row.AppendJSON(nil); return nil }); err != nil {
			t.Errorf("%s: as %s: %v", when, k, err)
		}
	}
}

// checkCounts holds inspect changelog against the model, with much memory and
// with little, and looks at a sample.
func (o *oddTopic) checkCounts(ctx context.Context, t *testing.T, when string, want LogCounts, distinct, live int64) {
	t.Helper()
	for _, memory := range []int64{0, 8 << 20} {
		res, err := Changelog(ctx, o.c, ChangelogOptions{Topics: []string{o.name}, TempDir: t.TempDir(), Memory: memory}, nil)
		if err != nil {
			t.Errorf("%s: changelog: %v", when, err)
			continue
		}
		g := res.Topics[0].Total
		got := LogCounts{Records: g.Records, Tombstones: g.Tombstones, EmptyValues: g.EmptyValues, NullKeys: g.NullKeys, Control: g.Control, Aborted: g.Aborted, WithHeaders: g.WithHeaders}
		if got != want || g.Keys == nil && want.Records > 0 || g.Keys != nil && (g.Keys.Distinct != distinct || g.Keys.Live != live) {
			t.Errorf("%s: %+v, keys %+v; want %+v, %d distinct, %d live", when, got, g.Keys, want, distinct, live)
		}
	}
	res, err := Changelog(ctx, o.c, ChangelogOptions{Topics: []string{o.name}, TempDir: t.TempDir(), Sample: true}, nil)
	if err != nil {
		t.Errorf("%s: sample: %v", when, err)
	} else if g := res.Topics[0].Total; g.Records < want.Records/2 || g.Records > 2*want.Records+10 {
		t.Errorf("%s: a sample says %d records, there are %d", when, g.Records, want.Records)
	}
}
