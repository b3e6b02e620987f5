package inspect

import (
	"context"
	"runtime"
	"sync"
)

// RowWriter is where the rows of a scan go that only have to be written.
type RowWriter interface {
	// AppendRow appends a row as it is written. Several goroutines call it, for
	// rows of any order.
	AppendRow(dst []byte, row *Row) []byte
	// WriteRows is handed what AppendRow made of so many rows, in the order of
	// the scan. The bytes are borrowed until it returns.
	WriteRows(b []byte, rows int64) error
}

// ScanTo is Scan with rows that go to w. The store is read by one goroutine;
// several take the rows apart, decode them and make bytes of them, and write
// these in order. What is written, also before an error, and what is counted
// is the same as with Scan.
func (r *Rows) ScanTo(ctx context.Context, o RowsScan, w RowWriter) (*RowsResult, error) {
	if o.Limit > 0 || o.Count { // what is to end after some rows must not be far ahead of them
		var line []byte
		return r.Scan(ctx, o, func(row *Row) error {
			line = w.AppendRow(line[:0], row)
			return w.WriteRows(line, 1)
		})
	}
	if err := r.prepare(ctx, o); err != nil {
		return nil, err
	}
	p := &pass{r: r, res: r.result()}
	return p.finish(newRowsPipe(ctx, r, o, w, p.res).run())
}

const (
	batchBytes = 64 << 10 // of rows on disk: some times as much when written, which should stay in a core's cache
	batchRows  = 2048
	giantBatch = 1 << 20 // one that has a giant row: it goes alone, and its buffers are not kept
	maxWorkers = 8
)

// rowsPipe takes batches of rows from who reads them to who writes them.
type rowsPipe struct {
	ctx    context.Context
	cancel context.CancelFunc
	r      *Rows
	o      RowsScan
	w      RowWriter
	res    *RowsResult

	batch int       // bytes after which a batch is sent
	part  int       // which is read
	fill  *rowBatch // nil: a free one has to be taken
	sent  int       // batches
	free  chan *rowBatch
	work  chan *rowBatch
	busy  sync.WaitGroup // batches that are not written yet

	mu      sync.Mutex
	outs    [][]byte    // room for what is made of rows, the last one used the last: it is in a cache
	ready   []*rowBatch // to be written, each where its number says
	written int         // batches
	writing bool        // somebody is: it also writes what gets ready meanwhile
	failed  error       // the first, of the writer or of a batch; of who is writing
}

// rowBatch is some rows of one part, as they lie on disk, and what was made of
// them.
type rowBatch struct {
	n    int // which it is, in the order of rows
	part int
	raw  []byte // keys and values
	rows []rawRow

	out []byte     // of outs
	res RowsResult // what a pass counts
	err error      // after the rows in out
}

type rawRow struct {
	family     string
	key, value int // sizes
}

func newRowsPipe(ctx context.Context, r *Rows, o RowsScan, w RowWriter, res *RowsResult) *rowsPipe {
	batches := 3*min(runtime.GOMAXPROCS(0), maxWorkers) + 2
	x := &rowsPipe{r: r, o: o, w: w, res: res, batch: batchBytes, free: make(chan *rowBatch, batches), work: make(chan *rowBatch, batches), ready: make([]*rowBatch, batches)}
	x.ctx, x.cancel = context.WithCancel(ctx)
	for range batches {
		x.free <- &rowBatch{}
	}
	return x
}

// run reads, and ends when all is written or an error was met: the first in
// the order of rows.
func (x *rowsPipe) run() error {
	var workers sync.WaitGroup
	for range len(x.ready) / 3 {
		workers.Go(func() {
			for b := range x.work {
				b.encode(x)
				x.finish(b)
			}
		})
	}
	err := x.r.walk(x.o, x.begin, x.add)
	x.send()
	close(x.work)
	workers.Wait()
	x.cancel()
	if x.failed != nil {
		return x.failed
	}
	return err
}

// begin goes on to another part.
func (x *rowsPipe) begin(part int) error {
	x.send()
	x.part = part
	return x.ctx.Err()
}

// add puts a row into the batch that is being filled.
func (x *rowsPipe) add(family string, key, value []byte) error {
	b := x.fill
	if b == nil {
		select {
		case b = <-x.free:
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
		b.reset(x.part)
		x.fill = b
	}
	b.raw = append(append(b.raw, key...), value...)
	b.rows = append(b.rows, rawRow{family, len(key), len(value)})
	if len(b.raw) >= x.batch || len(b.rows) >= batchRows {
		x.send()
	}
	return nil
}

// send hands the batch on; there is room for all of them.
func (x *rowsPipe) send() {
	b := x.fill
	if b == nil {
		return
	}
	x.fill = nil
	giant := len(b.raw) >= giantBatch
	b.n = x.sent
	x.sent++
	x.busy.Add(1)
	x.work <- b
	if giant {
		x.busy.Wait()
	}
}

// reset empties a batch.
func (b *rowBatch) reset(part int) {
	if b.raw == nil || cap(b.raw) > giantBatch {
		b.raw = make([]byte, 0, batchBytes+batchBytes/8)
	}
	b.part, b.raw, b.rows, b.err = part, b.raw[:0], b.rows[:0], nil
	b.res = RowsResult{}
}

// encode makes bytes of the batch's rows, up to an error.
func (b *rowBatch) encode(x *rowsPipe) {
	b.out = x.takeOut()
	var src RowsSource
	p := &pass{ctx: x.ctx, r: x.r, res: &b.res, src: &src, keys: x.o.KeysOnly, query: x.o.Query, fn: func(row *Row) error {
		b.out = x.w.AppendRow(b.out, row)
		return nil
	}}
	f := &filter{r: x.r, o: x.o, pass: p, row: Row{Kind: x.r.kind, Task: x.r.parts[b.part].task}}
	rest := b.raw
	for _, raw := range b.rows {
		size := raw.key + raw.value
		if b.err = f.take(raw.family, rest[:raw.key:raw.key], rest[raw.key:size:size]); b.err != nil {
			return
		}
		rest = rest[size:]
	}
}

// finish writes a batch and those behind it that wait for it, unless one
// before it is not written yet: nobody waits for others here, and what was
// made of rows is still in the core's cache when it is written.
func (x *rowsPipe) finish(b *rowBatch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ready[b.n%len(x.ready)] = b
	if x.writing {
		return
	}
	x.writing = true
	for {
		next := &x.ready[x.written%len(x.ready)]
		b := *next
		if b == nil {
			break
		}
		*next = nil
		x.written++
		x.mu.Unlock()
		x.write(b)
		out := b.out
		b.out = nil
		x.free <- b
		x.mu.Lock()
		if cap(out) <= 8*giantBatch {
			x.outs = append(x.outs, out[:0])
		}
	}
	x.writing = false
}

// takeOut is room for what is made of rows.
func (x *rowsPipe) takeOut() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := len(x.outs) - 1
	if last < 0 {
		return nil
	}
	out := x.outs[last]
	x.outs = x.outs[:last]
	return out
}

// write hands a batch to the writer, unless there was an error before, and
// adds up what was counted in it.
func (x *rowsPipe) write(b *rowBatch) {
	if x.failed == nil {
		if x.failed = x.writeBatch(b); x.failed != nil {
			x.cancel()
		}
	}
	x.busy.Done()
}

func (x *rowsPipe) writeBatch(b *rowBatch) error {
	if b.res.Count > 0 {
		if err := x.w.WriteRows(b.out, b.res.Count); err != nil {
			return err
		}
	}
	x.res.Count += b.res.Count
	x.res.Sources[b.part].Rows += b.res.Count
	x.res.Undecoded += b.res.Undecoded
	if x.res.FirstError == "" {
		x.res.FirstError = b.res.FirstError
	}
	return b.err
}
