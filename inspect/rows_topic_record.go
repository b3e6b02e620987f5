package inspect

import (
	"context"
	"encoding/binary"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// packRecord appends what a table keeps of a record besides its key: null1 |
// timestamp8 | offset8 | size4 of the headers | headers | value. A record that
// deletes is kept like others, for its offset and time.
func packRecord(dst []byte, r *kafka.Record) []byte {
	null := byte(0)
	if r.Value == nil {
		null = 1
	}
	dst = append(dst, null)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Timestamp))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Offset))
	headers := r.Headers
	if r.HeaderCount == 0 {
		headers = nil
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	return append(append(dst, headers...), r.Value...)
}

// unpackRecord reads what packRecord wrote; slices are borrowed.
func unpackRecord(b []byte) (kafka.Record, error) {
	const fixed = 1 + 8 + 8 + 4
	if len(b) < fixed || uint64(binary.BigEndian.Uint32(b[17:])) > uint64(len(b)-fixed) {
		return kafka.Record{}, op.Errorf(op.Corrupt, "the table of the topic: a row of %d bytes is not as it was written", len(b))
	}
	r := kafka.Record{Timestamp: int64(binary.BigEndian.Uint64(b[1:])), Offset: int64(binary.BigEndian.Uint64(b[9:]))}
	end := fixed + int(binary.BigEndian.Uint32(b[17:]))
	r.Headers = b[fixed:end:end]
	if b[0] == 0 {
		r.Value = b[end:]
	}
	return r, nil
}

// topicSample is what a few records at both ends of each partition say.
type topicSample struct {
	taken  bool
	places [][]table.Sample
	rows   int64 // records in all, at most
	bytes  int64 // estimate of all their bytes
}

const topicSampleKeep = 256 // records of one place

// look samples the topic once: for the guess of columns, and for the table.
func (t *TopicRows) look(ctx context.Context) error {
	if t.sample.taken {
		return nil
	}
	var keys, foreign, values serde.Guesser
	var sizes windowGuess
	row := Row{Kind: t.r.kind}
	var seen, bytes int64
	for _, p := range t.parts {
		e := t.ends[p]
		n := e.LastStable - e.Start
		if n <= 0 {
			continue
		}
		t.sample.rows += n
		starts := []int64{e.Start}
		if n > 2*topicSampleKeep {
			starts = append(starts, e.LastStable-topicSampleKeep)
		}
		for _, from := range starts {
			place := []table.Sample{}
			err := t.peek(ctx, p, from, e.LastStable, func(r *kafka.Record) error {
				seen++
				bytes += int64(len(r.Key)+len(r.Value)+len(r.Headers)) + 21
				if r.Key == nil {
					return nil
				}
				place = append(place, table.Sample{Group: uint32(p), Key: append([]byte(nil), r.Key...)})
				k, err := streams.SplitRecordKey(t.r.kind, r.Key)
				if err != nil {
					return nil
				}
				if windows(t.r.kind) && r.Value != nil {
					sizes.add(&k.Start, &r.Timestamp)
				}
				keys.Add(k.Key)
				foreign.Add(k.ForeignKey)
				t.r.fillValue(&row, r.Value)
				if row.Value.Err == "" && row.Subscription == nil && row.List == nil {
					values.Add(row.Value.Bytes)
				}
				for i := range row.List {
					values.Add(row.List[i].Bytes)
				}
				return nil
			})
			if _, moved := movedTo(err); err != nil && !moved {
				return err
			}
			t.sample.places = append(t.sample.places, place)
		}
	}
	if seen > 0 {
		t.sample.bytes = bytes * t.sample.rows / seen
	}
	t.r.guessWindow(&sizes)
	t.r.key.take(&keys)
	t.r.foreign.take(&foreign)
	t.r.value.take(&values)
	t.sample.taken = true
	return nil
}

// peek calls fn with some records from an offset on.
func (t *TopicRows) peek(ctx context.Context, p int32, from, to int64, fn func(*kafka.Record) error) error {
	o := kafka.ReadOptions{Topic: t.o.Topic, Partition: p, From: from, To: to, ReadCommitted: true, StallTimeout: t.o.StallTimeout}
	return t.c.Peek(ctx, o, topicSampleKeep, fn)
}
