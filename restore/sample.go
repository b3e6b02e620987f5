package restore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"

	"golang.org/x/sync/errgroup"
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
	largest  int64 // bytes of the largest batch that a fetch returned whole
}

// sample fetches a little at evenly spread offsets of every partition, by all
// workers at once.
func (b *bulkRun) sample(ctx context.Context) (keySample, error) {
	var out keySample
	for _, part := range b.u.Parts {
		n := part.Records()
		out.rows += n
		if n == 0 {
			continue
		}
		// A short range sorts in few buckets: little needs to be known of it.
		places := make([]samplePlace, min(samplePoints, 1+n/samplePer))
		var next atomic.Int64
		all, actx := errgroup.WithContext(ctx)
		for _, w := range b.watches[:min(b.workers, len(places))] {
			all.Go(func() error {
				defer w.Enter(w.Enter(op.Network))
				for i := next.Add(1) - 1; i < int64(len(places)); i = next.Add(1) - 1 {
					at := part
					if i > 0 { // the last place is near the end: keys may grow with time
						at.From = part.From + (n-200)*i/int64(len(places)-1)
					}
					if err := b.peek(actx, at, w, &places[i]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			return out, err
		}
		var seen, bytes int64
		for _, p := range places {
			seen, bytes = seen+p.seen, bytes+p.bytes
			out.largest = max(out.largest, p.wire)
			if err := b.place(&out, p.rows); err != nil {
				return out, err
			}
		}
		if seen > 0 {
			out.rowBytes += bytes * n / seen
		}
	}
	return out, nil
}

// place adds the rows of a sampled place, which have segments, to the sample,
// whose groups count from the first segment seen.
func (b *bulkRun) place(out *keySample, rows []sampleRow) error {
	var list []table.Sample
	for _, row := range rows {
		if !b.haveBase {
			b.base, b.haveBase = row.segment, true
		}
		g, err := b.group(row.segment)
		if err != nil {
			return err
		}
		list = append(list, table.Sample{Group: g, Key: row.key})
	}
	if len(list) > 0 {
		out.places = append(out.places, list)
	}
	return nil
}

// samplePlace is what was found at one offset.
type samplePlace struct {
	rows        []sampleRow
	seen, bytes int64 // records looked at
	wire        int64 // bytes of the block
}

type sampleRow struct {
	segment int64
	key     []byte
}

// peek reads one small block.
func (b *bulkRun) peek(ctx context.Context, part PartRange, w *op.Stopwatch, to *samplePlace) error {
	opt := b.r.readOptions(b.u, part, w)
	opt.MaxBytes = sampleFetch
	opt.Prefetch = 0
	reader, err := b.r.plan.client.OpenPartition(ctx, opt)
	if err != nil {
		return err
	}
	defer reader.Close()
	blk, err := reader.Next(ctx)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	to.wire = int64(blk.WireBytes)
	var conv *streams.Converter
	if b.store.Kind != streams.Versioned {
		if conv, err = streams.NewConverter(b.store); err != nil {
			return err
		}
	}
	addRow := func(row *streams.Row) error {
		to.rows = append(to.rows, sampleRow{row.Segment, bytes.Clone(row.Key)})
		return nil
	}
	var dec kafka.Decoder
	kept := 0
	_, err = dec.Decode(blk, func(r *kafka.Record) error {
		if kept >= sampleKeep {
			return errEnough
		}
		to.seen++
		to.bytes += int64(len(r.Key)+len(r.Value)) + 12
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
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
