package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

func topicRows(t *testing.T, o TopicRowsOptions, partitions int32, recs ...kafkatest.Record) *TopicRows {
	t.Helper()
	ctx := context.Background()
	cluster, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	if err := cluster.Topic("table", partitions, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.ProduceAll(ctx, "table", recs...); err != nil {
		t.Fatal(err)
	}
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: cluster.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	o.Topic, o.TempDir = "table", t.TempDir()
	tr, err := OpenTopicRows(ctx, c, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func scanTopic(t *testing.T, tr *TopicRows, o RowsScan) (rows []string, res *RowsResult) {
	t.Helper()
	res, err := tr.Scan(context.Background(), o, func(row *Row) error {
		rows = append(rows, string(serde.AppendJSON(nil, row.Object())))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, res
}

func rec(p int32, key, value string, ts int64) kafkatest.Record {
	r := kafkatest.Record{Partition: p, Key: []byte(key), Timestamp: ts}
	if value != "-" {
		r.Value = []byte(value)
	}
	return r
}

// TestTopicRows: the newest record by offset of each key, not by time; an empty
// value is a value, a null deletes, a null key is no row.
func TestTopicRows(t *testing.T) {
	null := kafkatest.Record{Partition: 1, Value: []byte("x"), Timestamp: 9}
	tr := topicRows(t, TopicRowsOptions{}, 2, rec(0, "a", "old", 5000), rec(0, "b", "gone", 2), rec(0, "a", "new", 3000), rec(0, "b", "-", 4),
		rec(1, "a", "other partition", 5), rec(1, "c", "", 6), null)
	rows, res := scanTopic(t, tr, RowsScan{})
	want := []string{
		`{"partition":0,"offset":2,"key":"a","key_hex":"61","timestamp":"1970-01-01T00:00:03.000Z","timestamp_ms":3000,"value":"new","value_hex":"6e6577"}`,
		`{"partition":1,"offset":0,"key":"a","key_hex":"61","timestamp":"1970-01-01T00:00:00.005Z","timestamp_ms":5,"value":"other partition","value_hex":"6f7468657220706172746974696f6e"}`,
		`{"partition":1,"offset":1,"key":"c","key_hex":"63","timestamp":"1970-01-01T00:00:00.006Z","timestamp_ms":6,"value":"","value_hex":""}`,
	}
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if res.Count != 3 || len(res.Sources) != 2 || res.Sources[0].Rows != 1 || *res.Sources[1].To != 3 || !res.Key.Guessed || res.Key.Name != "string" {
		t.Errorf("%+v", res)
	}
	if !slices.ContainsFunc(res.Warnings, func(s string) bool { return strings.HasPrefix(s, "1 records without a key") }) {
		t.Errorf("warnings %q", res.Warnings)
	}
	rows, _ = scanTopic(t, tr, RowsScan{Deleted: true})
	if len(rows) != 4 || !strings.Contains(rows[1], `"offset":3,"key":"b","key_hex":"62","timestamp":"1970-01-01T00:00:00.004Z","timestamp_ms":4,"deleted":true,"value":null,"value_hex":null`) {
		t.Errorf("with deleted keys: %q", rows)
	}
	if _, res := scanTopic(t, tr, RowsScan{Count: true}); res.Count != 3 {
		t.Errorf("counted %d", res.Count)
	}
	if rows, res := scanTopic(t, tr, RowsScan{Limit: 2}); len(rows) != 2 || !res.Limited {
		t.Errorf("limit: %q", rows)
	}
	for _, c := range []struct {
		o    RowsGet
		want int
	}{{RowsGet{Key: "a"}, 2}, {RowsGet{Key: "b"}, 0}, {RowsGet{Key: "b", Deleted: true}, 1}, {RowsGet{Key: "none"}, 0}} {
		res, err := tr.Get(context.Background(), c.o, func(*Row) error { return nil })
		if err != nil || res.Count != int64(c.want) {
			t.Errorf("get %+v: %d rows (%v), want %d", c.o, res.Count, err, c.want)
		}
	}
	if _, err := tr.Get(context.Background(), RowsGet{Key: "a", History: true}, nil); op.KindOf(err) != op.Usage {
		t.Errorf("history: %v", err)
	}
}

// TestTopicRowsOfKinds: records' keys are taken apart as the store's kind says.
func TestTopicRowsOfKinds(t *testing.T) {
	be := binary.BigEndian
	window := string(be.AppendUint32(be.AppendUint64([]byte("w"), 60_000), 0))
	tr := topicRows(t, TopicRowsOptions{Kind: streams.TimestampedWindow, WindowSize: 60_000}, 1, rec(0, window, "v", 61_000), rec(0, "short", "v", 1))
	rows, res := scanTopic(t, tr, RowsScan{})
	if len(rows) != 2 || res.Undecoded != 1 || !strings.Contains(rows[1], `"key":"w","key_hex":"77","start":"1970-01-01T00:01:00.000Z","start_ms":60000,"end":"1970-01-01T00:02:00.000Z"`) {
		t.Errorf("%d undecoded, %q", res.Undecoded, rows)
	}
	from := int64(70_000)
	if rows, _ := scanTopic(t, tr, RowsScan{Times: TimeRange{From: &from}}); len(rows) != 0 {
		t.Errorf("windows from 70 s on: %q", rows)
	}
}

// TestTopicRowsModel: against a map, with rows that do not fit the memory.
func TestTopicRowsModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	model := map[string]string{}
	var recs []kafkatest.Record
	for i := range 20_000 {
		p, key := int32(rnd.IntN(3)), fmt.Sprintf("k%05d", rnd.IntN(5000))
		value := strings.Repeat("x", rnd.IntN(300)) + fmt.Sprint(i)
		if rnd.IntN(10) == 0 {
			value = "-"
		}
		recs = append(recs, rec(p, key, value, int64(i)))
		at := fmt.Sprintf("%d %s", p, key)
		model[at] = value
		if value == "-" {
			delete(model, at)
		}
	}
	tr := topicRows(t, TopicRowsOptions{Memory: 4 << 20}, 3, recs...)
	rows, _ := scanTopic(t, tr, RowsScan{})
	if len(rows) != len(model) {
		t.Fatalf("%d rows, want %d", len(rows), len(model))
	}
	var last string
	for _, row := range rows {
		var got struct {
			Partition  int
			Key, Value string
		}
		if err := json.Unmarshal([]byte(row), &got); err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("%d %s", got.Partition, got.Key)
		if model[at] != got.Value || at <= last {
			t.Fatalf("%s after %s: %q, want %q", at, last, got.Value, model[at])
		}
		last = at
	}
}

func FuzzUnpackRecord(f *testing.F) {
	f.Add(packRecord(nil, &kafka.Record{Timestamp: 1, Offset: 2, Value: []byte("v"), Headers: []byte{2, 2, 'a', 1}, HeaderCount: 1}))
	f.Add(packRecord(nil, &kafka.Record{Timestamp: -1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := unpackRecord(b)
		if err != nil || b[0] > 1 {
			return
		}
		r.HeaderCount = len(r.Headers)
		if back := packRecord(nil, &r); b[0] == 0 && !bytes.Equal(back, b) {
			t.Errorf("%x became %x", b, back)
		}
	})
}
