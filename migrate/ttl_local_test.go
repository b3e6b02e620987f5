//go:build cgo

package migrate

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/rocks"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// ttlCopyOf builds the local copy that an application has of a partition after
// the records up to an offset, -1 for none; flushed twice, so that files
// overlap. In the home "offsets" the offset is a row.
func ttlCopyOf(t testing.TB, stateDir, store string, kind streams.Kind, partition int32, recs []kafkatest.Record, offset int64, home string) TTLDatabase {
	t.Helper()
	task := filepath.Join(stateDir, "app", fmt.Sprintf("0_%d", partition))
	dir := filepath.Join(task, streams.RocksDir, store)
	families := []string{streams.DefaultFamily}
	if kind == streams.TimestampedKV {
		families = append(families, streams.TimestampFamily)
	}
	rows := len(families) - 1
	topic := streams.ChangelogTopic("app", store)
	if home == "offsets" {
		families = append(families, streams.OffsetsFamily)
	}
	db, err := rocks.Create(dir, rocks.Options{Families: families})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	write := func(fn func(b *rocks.Batch)) {
		b := db.Batch()
		defer b.Close()
		fn(b)
		if err := db.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for _, half := range []int64{offset / 2, offset} {
		write(func(b *rocks.Batch) {
			for n <= half {
				r := recs[n]
				n++
				switch {
				case r.Value == nil:
					b.Delete(rows, r.Key)
				case kind == streams.TimestampedKV:
					b.Put(rows, r.Key, append(streams.EncodeOffset(r.Timestamp), r.Value...)) // 8 bytes, big-endian
				default:
					b.Put(rows, r.Key, r.Value)
				}
			}
		})
	}
	if home == "offsets" {
		write(func(b *rocks.Batch) {
			b.Put(len(families)-1, streams.OffsetsKey(topic, partition), streams.EncodeOffset(offset))
		})
	} else if home != "" {
		path := filepath.Join(task, streams.CheckpointFile)
		cp, err := streams.ReadCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		if cp == nil {
			cp = streams.Checkpoint{}
		}
		cp[streams.TopicPartition{Topic: topic, Partition: partition}] = offset
		if err := cp.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return TTLDatabase{Partition: partition, TaskDir: task, Dir: dir}
}

// A plan from local copies of any age, their tails merged in, is the plan from
// the changelog.
func TestTTLLocalModel(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 66))
		w := newTTLWorld(t)
		parts := int32(1 + rnd.IntN(3))
		stateDir := t.TempDir()
		stores := []TTLStore{kvStore("st"), kvStore("also"), kvStore("touched")}
		all := true
		for i := range stores {
			s := &stores[i]
			w.topic(streams.ChangelogTopic("app", s.Name), parts, "cleanup.policy", "compact", "delete.retention.ms", fmt.Sprint(100*hour))
			logs := make([][]kafkatest.Record, parts)
			for range 4_000 {
				key := fmt.Sprintf("key-%d", rnd.IntN(1_500))
				p := serde.Partition([]byte(key), parts)
				r := kafkatest.Record{Partition: p, Key: []byte(key), Timestamp: ttlNow - rnd.Int64N(48*hour)}
				if rnd.IntN(5) > 0 {
					r.Value = []byte(strings.Repeat("v", rnd.IntN(20)))
					if s.Name == "touched" {
						r.Value = streams.EncodeOffset(ttlNow - rnd.Int64N(48*hour))
					}
				}
				logs[p] = append(logs[p], r)
			}
			for p, recs := range logs {
				w.produce(s.Name, recs...)
				if seed%4 == 3 && rnd.IntN(3) == 0 {
					all = false
					continue // no copy here
				}
				offset := int64(len(recs) - 1)
				if rnd.IntN(2) == 0 {
					offset = rnd.Int64N(int64(len(recs)))
				}
				home := []string{"file", "offsets"}[rnd.IntN(2)]
				s.Databases = append(s.Databases, ttlCopyOf(t, stateDir, s.Name, s.Kind, int32(p), recs, offset, home))
			}
		}
		o := TTLOptions{OlderThan: time.Duration(1+rnd.Int64N(47)) * time.Hour, Store: stores[0]}
		switch seed % 4 {
		case 1:
			o.Also = stores[1:2]
		case 2, 3:
			o.Also, o.Companion = stores[1:], &stores[2]
		}
		if rnd.IntN(3) == 0 {
			o.Prefix = "key-1"
		}
		local := w.plan(o)
		for _, s := range o.Stores() {
			s.Databases = nil
		}
		log := w.plan(o)
		got, want := selected(t, local), selected(t, log)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %d selected from local copies, %d from the changelog", seed, len(got), len(want))
		}
		if len(want) == 0 || local.Total.Rows != log.Total.Rows || local.Total.Bytes != log.Total.Bytes || local.Unknown != log.Unknown || !slices.EqualFunc(local.Histogram, log.Histogram, func(a, b TTLAge) bool {
			return a.Rows == b.Rows && a.Bytes == b.Bytes && a.Selected == b.Selected
		}) {
			t.Errorf("seed %d: local %+v, changelog %+v", seed, local.Total, log.Total)
		}
		for _, p := range local.Partitions {
			if all && p.Source != "local" {
				t.Errorf("seed %d: partition %d is read from %s: %s", seed, p.Partition, p.Source, p.Why)
			}
		}
		w.client.Close()
		w.cluster.Close()
	}
}

// A copy that cannot stand for the changelog is left, and the reason is told.
func TestTTLLocalLeft(t *testing.T) {
	w := newTTLWorld(t)
	var recs []kafkatest.Record
	for i := range int64(100) {
		recs = append(recs, kvRecord(0, fmt.Sprint("k", i), "v", ttlNow-i*hour))
	}
	w.topic(streams.ChangelogTopic("app", "st"), 1, "cleanup.policy", "compact", "delete.retention.ms", fmt.Sprint(50*hour))
	w.produce("st", recs...)
	where, err := serde.ParseQuery(".timestamp_ms > 0")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind   streams.Kind
		offset int64
		home   string
		change func(*TTLOptions)
		want   string
	}{
		"current":                         {streams.TimestampedKV, 99, "file", nil, ""},
		"no offset":                       {streams.TimestampedKV, 99, "", nil, "not known"},
		"beyond the end":                  {streams.TimestampedKV, 99, "file", func(o *TTLOptions) { o.Store.Databases[0].TaskDir = "beyond" }, "beyond"},
		"kv":                              {streams.KV, 99, "file", nil, "do not have their time"},
		"kv, where":                       {streams.KV, 99, "file", func(o *TTLOptions) { o.OlderThan, o.Where = 0, &TTLQuery{where, "x"} }, "do not have their time"},
		"kv, prefix":                      {streams.KV, 99, "file", func(o *TTLOptions) { o.OlderThan, o.Prefix = 0, "k1" }, ""},
		"stream time":                     {streams.TimestampedKV, 99, "file", func(o *TTLOptions) { o.StreamTime = true }, "stream time"},
		"older than the tombstones' time": {streams.TimestampedKV, 40, "file", nil, "delete.retention.ms"},
		"missing file":                    {streams.TimestampedKV, 99, "file", func(o *TTLOptions) { o.Store.Databases[0].Dir += "x" }, "no such file"},
	} {
		stateDir := t.TempDir()
		o := TTLOptions{Store: kvStore("st"), OlderThan: 24 * time.Hour}
		o.Store.Kind = c.kind
		o.Store.Databases = []TTLDatabase{ttlCopyOf(t, stateDir, "st", c.kind, 0, recs, c.offset, c.home)}
		if c.change != nil {
			c.change(&o)
		}
		if o.Store.Databases[0].TaskDir == "beyond" {
			o.Store.Databases[0].TaskDir = t.TempDir()
			cp := streams.Checkpoint{{Topic: streams.ChangelogTopic("app", "st"), Partition: 0}: 100}
			if err := cp.Write(filepath.Join(o.Store.Databases[0].TaskDir, streams.CheckpointFile)); err != nil {
				t.Fatal(err)
			}
		}
		p := w.plan(o).Partitions[0]
		if (c.want == "") != (p.Source == "local") || !strings.Contains(p.Why, c.want) {
			t.Errorf("%s: %s, %q", name, p.Source, p.Why)
		}
	}
}
