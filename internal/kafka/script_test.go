package kafka

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// script answers every fetch by fn instead of the cluster: for what kfake's
// own log never looks like.
func script(k *kafkatest.Cluster, fn func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) (throttle bool)) {
	k.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = []byte{}
		if fn(req, &p) {
			resp.ThrottleMillis = 50
			return resp, nil, true
		}
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = req.Topics[0].TopicID
		rt.Partitions = append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

func encode(t testing.TB, b *kafkatest.Batch, recs ...kafkatest.Record) []byte {
	t.Helper()
	for i := range recs {
		b.Add(&recs[i])
	}
	raw, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// logOf is a log of three batches of ten records and equal size at offsets 0,
// 10 and 20.
func logOf(t testing.TB) (log []byte, size int) {
	t.Helper()
	for i := range 3 {
		one := encode(t, &kafkatest.Batch{Base: int64(10 * i)}, numbered(10*i+10, 10)...)
		log, size = append(log, one...), max(size, len(one))
	}
	return log, size
}

// fromOffset is what a broker sends: the log from the batch that holds the
// offset, cut at limit bytes.
func fromOffset(log []byte, offset int64, limit int) []byte {
	for len(log) > 0 {
		n, _ := batchSize(log)
		if batch(log).lastOffset() >= offset {
			break
		}
		log = log[n:]
	}
	return log[:min(limit, len(log))]
}

func scripted(t testing.TB) (*kafkatest.Cluster, *Client) {
	k := startCluster(t, kafkatest.Options{})
	topic(t, k, "t", 1)
	return k, open(t, k)
}

func TestPartialLastBatchIsLeftOut(t *testing.T) {
	k, c := scripted(t)
	log, size := logOf(t)
	// Cut anywhere: in a length field, in a header, in the records.
	for _, limit := range []int{size, size + 1, size + 11, size + 12, size + 20, size + 60, size + 70, 2*size + 30, 1 << 20} {
		script(k, func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) bool {
			p.HighWatermark, p.LastStableOffset = 30, 30
			p.RecordBatches = fromOffset(log, req.Topics[0].Partitions[0].FetchOffset, limit)
			return false
		})
		recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30})
		if err != nil {
			t.Fatal(limit, err)
		}
		wantAll(t, recs, 0, 30)
		k = startCluster(t, kafkatest.Options{})
		topic(t, k, "t", 1)
		c = open(t, k)
	}
}

// A broker that cuts even the first batch: the reader asks for as much as it needs.
func TestBatchLargerThanTheFetch(t *testing.T) {
	k, c := scripted(t)
	log, size := logOf(t)
	script(k, func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) bool {
		p.HighWatermark, p.LastStableOffset = 30, 30
		rp := req.Topics[0].Partitions[0]
		p.RecordBatches = fromOffset(log, rp.FetchOffset, int(rp.PartitionMaxBytes))
		return false
	})
	for _, max := range []int32{1, 11, 12, 61, int32(size) - 1} {
		recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 30, MaxBytes: max})
		if err != nil {
			t.Fatal(max, err)
		}
		wantAll(t, recs, 0, 30)
		if !slices.Contains(kinds(events), ReadLarger) {
			t.Errorf("events %v", events)
		}
	}
}

func TestGaps(t *testing.T) {
	log, _ := logOf(t)
	serve := func(log []byte, hw, lso int64) func(*kmsg.FetchRequest, *kmsg.FetchResponseTopicPartition) bool {
		return func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) bool {
			p.HighWatermark, p.LastStableOffset = hw, lso
			p.RecordBatches = fromOffset(log, req.Topics[0].Partitions[0].FetchOffset, 1<<20)
			return false
		}
	}
	first, _ := batchSize(log)
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		k, c := scripted(t)
		script(k, serve(log, 100, 100))
		recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 100})
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, recs, 0, 30)
		if !slices.Equal(kinds(events), []ReadEventKind{ReadEndGap}) {
			t.Errorf("events %v", events)
		}
	})
	t.Run("before the last stable offset", func(t *testing.T) {
		t.Parallel()
		k, c := scripted(t)
		script(k, serve(log, 100, 60))
		recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 100, ReadCommitted: true, StallTimeout: 8 * time.Second})
		optest.WantKind(t, err, op.Precondition, "at 60, 40 before")
		wantAll(t, recs, 0, 30)
		events = slices.DeleteFunc(events, func(e ReadEvent) bool { return e.Kind == ReadRetry || e.Kind == ReadSmaller })
		if !slices.Equal(kinds(events), []ReadEventKind{ReadEndGap, ReadOpenTxn}) {
			t.Errorf("events %v", events)
		}
	})
	t.Run("in the middle and at the start", func(t *testing.T) {
		k, c := scripted(t)
		gap := append(log[first:2*first:2*first], encode(t, &kafkatest.Batch{Base: 90}, numbered(0, 10)...)...)
		script(k, serve(gap, 100, 100))
		recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 100})
		if err != nil || len(recs) != 20 || recs[0].off != 10 || recs[19].off != 99 || len(events) != 0 {
			t.Fatal(len(recs), events, err)
		}
	})
	t.Run("over the end", func(t *testing.T) {
		k, c := scripted(t)
		gap := append(log[:first:first], encode(t, &kafkatest.Batch{Base: 90}, numbered(0, 10)...)...)
		script(k, serve(gap, 100, 100))
		recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 50}) // the next batch begins after 50
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, recs, 0, 10)
	})
	t.Run("an emptied batch", func(t *testing.T) { // compaction keeps it for the producer's sequence
		k, c := scripted(t)
		b := encode(t, &kafkatest.Batch{Base: 30, ProducerID: 5})
		binary.BigEndian.PutUint32(b[23:], 69) // last offset delta
		reseal(b)
		script(k, serve(append(slices.Clone(log), b...), 100, 100))
		recs, st, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 100})
		if err != nil || st.Batches != 4 || len(events) != 0 {
			t.Fatal(st, events, err)
		}
		wantAll(t, recs, 0, 30)
	})
}

// reseal makes a batch's CRC right again.
func reseal(b []byte) { binary.BigEndian.PutUint32(b[17:], crc(b[21:])) }

func TestThrottled(t *testing.T) {
	k, c := scripted(t)
	log, _ := logOf(t)
	n := 0
	script(k, func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) bool {
		p.HighWatermark, p.RecordBatches = 30, log
		n++
		return n < 4
	})
	recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 30})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 30)
	if len(events) != 3 || events[0].Kind != ReadThrottled {
		t.Errorf("events %v", events)
	}
}

func TestCorrupt(t *testing.T) {
	good, size := logOf(t)
	for _, x := range []struct {
		name, want string
		kind       op.Kind
		harm       func(log []byte) []byte
	}{
		{"a flipped bit", "CRC32C", op.Corrupt, func(l []byte) []byte { l[size+70] ^= 1; return l }},
		{"a flipped CRC", "CRC32C", op.Corrupt, func(l []byte) []byte { l[size+17] ^= 1; return l }},
		{"a negative length", "length", op.Corrupt, func(l []byte) []byte { l[size+8] = 0x80; return l }},
		{"a tiny length", "length", op.Corrupt, func(l []byte) []byte { copy(l[size+8:], []byte{0, 0, 0, 20}); return l }},
		{"an enormous length", "length", op.Corrupt, func(l []byte) []byte { l[size+8] = 0x7f; return l }},
		{"a last offset before the first", "offsets", op.Corrupt, func(l []byte) []byte { l[size+23] = 0x80; return l }},
		{"an offset that goes back", "offsets", op.Corrupt, func(l []byte) []byte { l[size+7] = 3; return l }},
		{"an unknown format", "format 9", op.Corrupt, func(l []byte) []byte { l[size+16] = 9; return l }},
		{"an old format", "format v1", op.Failed, func(l []byte) []byte { l[size+16] = 1; return l }},
		{"an unknown codec", "codec 6", op.Corrupt, func(l []byte) []byte { l[size+22] = 6; reseal(l[size : 2*size]); return l }},
		{"too many records", "cut off", op.Corrupt, func(l []byte) []byte { l[size+60] = 11; reseal(l[size : 2*size]); return l }},
		{"too few records", "after the last record", op.Corrupt, func(l []byte) []byte { l[size+60] = 9; reseal(l[size : 2*size]); return l }},
		{"a negative count", "record count", op.Corrupt, func(l []byte) []byte { l[size+57] = 0x80; reseal(l[size : 2*size]); return l }},
		{"a key past its record", "malformed", op.Corrupt, func(l []byte) []byte { l[size+65] = 0x7e; reseal(l[size : 2*size]); return l }},
	} {
		t.Run(x.name, func(t *testing.T) {
			k, c := scripted(t)
			log := x.harm(slices.Clone(good))
			script(k, func(req *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) bool {
				p.HighWatermark, p.RecordBatches = 30, fromOffset(log, req.Topics[0].Partitions[0].FetchOffset, 1<<20)
				return false
			})
			_, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30, StallTimeout: time.Minute})
			at := 10
			if x.name == "an offset that goes back" {
				at = 3
			}
			optest.WantKind(t, err, x.kind, "t-0", fmt.Sprintf("offset %d", at), x.want)
		})
	}
}
