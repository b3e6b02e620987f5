package restore

import (
	"context"
	"errors"
	"io"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

const (
	samplePoints = 16       // offsets a long partition is sampled at
	samplePer    = 50_000   // records for each of them in a shorter one
	sampleFetch  = 64 << 10 // bytes fetched at each
	sampleKeep   = 512      // keys kept of each
)

// errEnough ends the decoding of a block that has been looked at enough.
var errEnough = errors.New("enough")

// keySample tells the table where rows will fall and how many bytes to expect.
type keySample struct {
	places   [][]table.Sample
	rows     int64 // records in the ranges
	rowBytes int64 // estimate of all row bytes
}

// sample fetches a little at evenly spread offsets of every partition.
func (b *bulkRun) sample(ctx context.Context) (keySample, error) {
	var out keySample
	var conv *streams.Converter
	if b.store.Kind != streams.Versioned {
		var err error
		if conv, err = streams.NewConverter(b.store); err != nil {
			return out, err
		}
	}
	w := b.watches[0]
	defer w.Enter(op.Idle)
	haveBase := false
	addRow := func(row *streams.Row) error {
		if !haveBase {
			b.base, haveBase = row.Segment, true
		}
		g, err := b.group(row.Segment)
		if err != nil {
			return err
		}
		at := &out.places[len(out.places)-1]
		*at = append(*at, table.Sample{Group: g, Key: append([]byte(nil), row.Key...)})
		return nil
	}
	for _, part := range b.u.Parts {
		n := part.Records()
		out.rows += n
		if n == 0 {
			continue
		}
		var seen, bytes int64
		// A short range sorts in few buckets: little needs to be known of it.
		points := min(samplePoints, 1+n/samplePer)
		for i := range points {
			at := part
			if i > 0 { // the last place is near the end: keys may grow with time
				at.From = part.From + (n-200)*i/(points-1)
			}
			blk, err := b.peek(ctx, at, w)
			if errors.Is(err, io.EOF) {
				continue
			}
			if err != nil {
				return out, err
			}
			out.places = append(out.places, nil)
			var dec kafka.Decoder
			kept := 0
			_, err = dec.Decode(blk, func(r *kafka.Record) error {
				if kept >= sampleKeep {
					return errEnough
				}
				seen++
				bytes += int64(len(r.Key)+len(r.Value)) + 12
				if r.Key == nil {
					return nil
				}
				kept++
				if conv == nil {
					return addRow(&streams.Row{Key: r.Key})
				}
				if _, err := conv.Rows(r.Key, r.Value, r.Headers, r.Timestamp, addRow); err != nil {
					return recordError(err, &batchRecord{offset: r.Offset})
				}
				return nil
			})
			if err != nil && !errors.Is(err, errEnough) {
				return out, err
			}
		}
		if seen > 0 {
			out.rowBytes += bytes * n / seen
		}
	}
	return out, nil
}

// peek reads one small block.
func (b *bulkRun) peek(ctx context.Context, part PartRange, w *op.Stopwatch) (*kafka.Block, error) {
	opt := b.r.readOptions(b.u, part, w)
	opt.MaxBytes = sampleFetch
	opt.Prefetch = 0
	reader, err := b.r.plan.client.OpenPartition(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	w.Enter(op.Network)
	return reader.Next(ctx)
}
