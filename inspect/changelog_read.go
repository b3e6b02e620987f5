package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/table"
)

const (
	// logRestarts bounds how often a partition whose log start keeps moving is
	// begun again.
	logRestarts = 5
	// changelogReserve is what the runtime and the client take of the memory.
	changelogReserve = 64 << 20

	keyMethod  = "distinct by a 96-bit hash of the key: among a billion keys the odds that two are taken for one are 1 in 10^11"
	tailMethod = "begins after the last offset that is missing: only compaction leaves such gaps; where the cleaner itself has come to, the protocol does not tell"
)

// partitionScan is one partition, read.
type partitionScan struct {
	ChangelogPartition
	codecs  []CodecUse
	headers []string
	looks   keyLooks
}

// sharing is how the threads and the memory are divided.
type sharing struct {
	parallel, workers int
	fetch             int32
	keyMemory         int64 // of one partition
}

func (r *changelogRun) share(partitions int) sharing {
	s := sharing{parallel: max(1, min(r.o.Threads, partitions))}
	s.workers = max(1, r.o.Threads/s.parallel)
	// Of every partition one block is on its way, two wait, and each worker has one.
	buffers := int64(s.parallel * (3 + s.workers))
	s.fetch = int32(min(max(r.o.Memory/8/buffers, 1<<20), 16<<20))
	rest := r.o.Memory - buffers*int64(s.fetch) - changelogReserve
	s.keyMemory = max(max(rest, r.o.Memory/4)/int64(s.parallel), int64(s.workers)<<20)
	return s
}

// scan reads the partitions of a topic, several at once.
func (r *changelogRun) scan(ctx context.Context, p *changelogPlan) ([]partitionScan, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	share := r.share(len(p.parts))
	out := make([]partitionScan, len(p.parts))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range share.parallel {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(p.parts) {
					return
				}
				var err error
				if out[i], err = r.partition(ctx, p.info.Name, p.parts[i], share); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return out, context.Cause(ctx)
}

// partition reads one partition, again when the log start moves past the
// position: retention goes on meanwhile.
func (r *changelogRun) partition(ctx context.Context, topic string, part partitionRange, share sharing) (partitionScan, error) {
	for try := 0; ; try++ {
		scan, err := r.partitionOnce(ctx, topic, part, share)
		if start, ok := movedTo(err); ok && try < logRestarts && ctx.Err() == nil {
			r.sink.Warn(fmt.Sprintf("%s-%d", topic, part.partition), fmt.Sprintf("the log start moved to %d while it was read: read again from there", start))
			part.ends.Start = start
			part.ends.LastStable, part.ends.End = max(part.ends.LastStable, start), max(part.ends.End, start)
			continue
		}
		return scan, err
	}
}

func (r *changelogRun) partitionOnce(ctx context.Context, topic string, part partitionRange, share sharing) (_ partitionScan, err error) {
	out := partitionScan{ChangelogPartition: ChangelogPartition{
		Partition: part.partition, LogStart: part.ends.Start, LastStable: part.ends.LastStable, LogEnd: part.ends.End,
	}}
	if part.disk >= 0 {
		out.DiskBytes = &part.disk
	}
	dir := r.o.TempDir
	if dir == "" {
		dir = os.TempDir()
	}
	ranges, sampled := r.ranges(part)
	keys, err := table.NewKeyCounter(table.KeyOptions{Memory: share.keyMemory, TempDir: dir, Workers: share.workers, Records: part.offsets()})
	if err != nil {
		return out, err
	}
	defer func() { err = cmp.Or(err, keys.Close()) }()
	var blocks []blockCounts
	var scanners []*scanner
	for range share.workers {
		scanners = append(scanners, &scanner{keys: keys.NewWriter(), now: r.o.Now().UnixMilli()})
	}
	for _, rg := range ranges {
		got, err := r.blocks(ctx, topic, part.partition, rg, share, scanners)
		if err != nil {
			return out, err
		}
		blocks = append(blocks, got...)
	}
	for _, s := range scanners {
		out.looks.add(&s.looks)
		out.headers = append(out.headers, s.hdrs...)
		out.codecs = append(out.codecs, s.codecs...)
	}
	slices.SortFunc(blocks, func(a, b blockCounts) int { return cmp.Compare(a.first, b.first) })
	var tail TailCounts
	out.LogCounts, out.Times, tail = fold(blocks)
	from := part.ends.Start
	if tail.From != nil {
		from = *tail.From
	}
	tail.From = &from
	stats, err := keys.Count(ctx, from)
	if err != nil {
		return out, err
	}
	if sampled {
		spanned := int64(0)
		for i := range blocks {
			spanned += blocks[i].spanned
		}
		out.extrapolate(part.offsets(), spanned, stats)
	} else {
		out.settle(tail, stats)
	}
	out.Undecided = max(0, part.ends.End-part.ends.LastStable)
	return out, nil
}

// settle adds what the keys say.
func (p *partitionScan) settle(tail TailCounts, s table.KeyStats) {
	p.Keys = &KeyCounts{
		Distinct: s.Keys, Live: s.Live, LiveBytes: s.LiveBytes, LiveEmpty: s.LiveEmpty, Deleted: s.Deleted, DeletedBytes: s.DeletedBytes,
		Superseded: s.Superseded, SupersededBytes: s.SupersededBytes,
	}
	p.Keys.share()
	tail.Keys, tail.Superseded, tail.SupersededBytes = s.TailKeys, s.TailSuperseded, s.TailBytes
	if s.FirstRepeat >= 0 {
		at := s.FirstRepeat
		tail.UncleanFrom = &at
	}
	if tail.NeverCleaned && s.Superseded == 0 {
		p.TailUnmeasured = "no key is there twice and no offset is missing: a log looks the same before and after compaction"
		return
	}
	p.Tail = &tail
}

// offsetRange is a part of a partition; one block of it is enough for a sample.
type offsetRange struct {
	from, to int64
	sample   bool
}

// blocks reads one range with all scanners and counts its blocks.
func (r *changelogRun) blocks(ctx context.Context, topic string, partition int32, rg offsetRange, share sharing, scanners []*scanner) ([]blockCounts, error) {
	if rg.from >= rg.to {
		return nil, nil
	}
	o := kafka.ReadOptions{
		Topic: topic, Partition: partition, From: rg.from, To: rg.to, ReadCommitted: true,
		MaxBytes: share.fetch, Prefetch: 2, StallTimeout: r.o.StallTimeout,
		OnEvent: func(e kafka.ReadEvent) { r.sink.Warn(fmt.Sprintf("%s-%d", topic, partition), e.Text()) },
	}
	if rg.sample {
		o.MaxBytes, o.Prefetch = sampleFetch, 0
		scanners = scanners[:1]
	}
	reader, err := r.client.OpenPartition(ctx, o)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu, next sync.Mutex
	var out []blockCounts
	taken := false
	take := func() (*kafka.Block, error) {
		next.Lock()
		defer next.Unlock()
		if rg.sample && taken {
			return nil, io.EOF
		}
		taken = true
		return reader.Next(ctx)
	}
	var wg sync.WaitGroup
	for _, s := range scanners {
		wg.Go(func() {
			for {
				blk, err := take()
				if errors.Is(err, io.EOF) {
					return
				}
				var c blockCounts
				if err == nil {
					c, err = s.block(blk)
				}
				if err != nil {
					cancel(err)
					return
				}
				r.progress(topic, blk.Next-blk.First, int64(blk.WireBytes))
				reader.Release(blk)
				mu.Lock()
				out = append(out, c)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, wrapPartition(topic, partition, err)
	}
	return out, nil
}

// wrapPartition names the partition, unless the error does.
func wrapPartition(topic string, partition int32, err error) error {
	var e *op.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return err
	}
	return &op.Error{Kind: op.Failed, What: fmt.Sprintf("read %s-%d", topic, partition), Err: err}
}
