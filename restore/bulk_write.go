package restore

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/table"

	"golang.org/x/sync/errgroup"
)

// write turns sorted buckets into SST files, one set per segment, and the
// files into databases.
func (b *bulkRun) write(ctx context.Context, total *Counts) error {
	live := int64(math.MinInt64)
	if b.store.Kind.Segmented() {
		live = b.store.MinLiveSegment(total.StreamTime)
		if g := live - b.base + groupBase; g > 0 {
			b.table.DropGroup(uint32(min(g, math.MaxUint32)))
		}
		// A live segment of which only deletes were seen exists too.
		for s := range b.segments {
			if s < live {
				delete(b.segments, s)
			}
		}
		if err := b.dropExpired(live); err != nil {
			return err
		}
	} else {
		b.segments = map[int64]bool{0: true}
	}
	files, stats, err := b.sortBuckets(ctx, b.table)
	if err != nil {
		return err
	}
	total.Rows = stats.Live
	conv, err := streams.NewConverter(b.store)
	if err != nil {
		return err
	}
	total.Expired = stats.Dropped / conv.RowsPerRecord()
	total.SegmentsLive = len(b.segments)
	return b.buildAll(files)
}

// buildAll makes the databases, as many at once as there are workers, while
// the table's files are given up.
func (b *bulkRun) buildAll(files map[int64][]string) error {
	closed := make(chan struct{})
	go func() {
		b.table.Close()
		close(closed)
	}()
	defer func() { <-closed }()
	free := make(chan *op.Stopwatch, len(b.watches))
	for _, w := range b.watches {
		free <- w
	}
	var all errgroup.Group
	all.SetLimit(len(b.watches))
	for s := range b.segments {
		all.Go(func() error {
			w := <-free
			was := w.Enter(op.Flush)
			err := b.build(s, files[s])
			w.Enter(was)
			free <- w
			return err
		})
	}
	return all.Wait()
}

// dropExpired removes segments of a resumed store that the tail has made
// expire (AbstractSegments.cleanupExpiredSegments); without records none does.
func (b *bulkRun) dropExpired(live int64) error {
	if b.u.Resume == "" || len(b.segments) == 0 {
		return nil
	}
	ids, err := streams.SegmentIDs(streams.StoreDir(b.taskDir, b.store), b.store)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id < live {
			if err := os.RemoveAll(streams.DatabaseDir(b.taskDir, b.store, id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// openedDB is a database being opened while records are read.
type openedDB struct {
	done chan struct{}
	db   *rocks.DB
	err  error
}

func (b *bulkRun) openAhead(dir string) *openedDB {
	o := &openedDB{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.db, o.err = openDB(dir, b.store.ColumnFamilies(), b.r.plan.checksum())
	}()
	return o
}

// take hands the database over.
func (o *openedDB) take() (*rocks.DB, error) {
	<-o.done
	db := o.db
	o.db = nil
	return db, o.err
}

// close closes the database unless it was taken.
func (o *openedDB) close() {
	if db, _ := o.take(); db != nil {
		db.Close()
	}
}

// open opens the database of a segment.
func (b *bulkRun) open(segment int64) (*rocks.DB, error) {
	if b.ahead != nil {
		return b.ahead.take()
	}
	return openDB(streams.DatabaseDir(b.taskDir, b.store, segment), b.store.ColumnFamilies(), b.r.plan.checksum())
}

// build makes one database out of its files, or lays them over one that is
// resumed.
func (b *bulkRun) build(segment int64, files []string) error {
	db, err := b.open(segment)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		slices.Sort(files)
		if err := db.Ingest(b.family, files); err != nil {
			db.Close()
			return err
		}
	}
	if err := db.Flush(); err != nil {
		db.Close()
		return err
	}
	return db.Close()
}

// sortBuckets sorts and writes all buckets of t with all workers; each owns a
// contiguous range of buckets, so its files do not overlap another's.
func (b *bulkRun) sortBuckets(ctx context.Context, t *table.Table) (map[int64][]string, table.Stats, error) {
	n := t.Buckets()
	files := map[int64][]string{}
	var all table.Stats
	var mu sync.Mutex
	var wg sync.WaitGroup
	var firstErr error
	var failed atomic.Bool
	for i := range b.workers {
		lo, hi := n*i/b.workers, n*(i+1)/b.workers
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := b.watches[i]
			defer w.Enter(op.Idle)
			out := &sstSet{b: b, name: strconv.Itoa(i), files: map[int64][]string{}}
			sorter := t.NewSorter()
			defer sorter.Close()
			var stats table.Stats
			err := func() error {
				for k := lo; k < hi; k++ {
					if ctx.Err() != nil || failed.Load() {
						return ctx.Err()
					}
					w.Enter(op.Sort)
					st, err := sorter.Load(k, func(bk *table.Bucket) error {
						was := w.Enter(op.Write)
						defer w.Enter(was)
						return out.bucket(bk)
					})
					if err != nil {
						return err
					}
					stats.Add(st)
				}
				w.Enter(op.Write)
				return out.finish()
			}()
			if err != nil {
				out.abandon()
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed.Store(true)
				if firstErr == nil {
					firstErr = err
				}
			}
			all.Add(stats)
			for s, fs := range out.files {
				files[s] = append(files[s], fs...)
			}
		}()
	}
	wg.Wait()
	if firstErr == nil {
		firstErr = ctx.Err()
	}
	return files, all, firstErr
}

// sstSet is one worker's open SST file and the files it has finished.
type sstSet struct {
	b       *bulkRun
	name    string
	w       *rocks.SSTWriter
	path    string
	segment int64
	count   int
	files   map[int64][]string
}

func (s *sstSet) bucket(bk *table.Bucket) error {
	rows := bk.Rows
	for len(rows) > 0 {
		// Rows are sorted by group first: a run of one group is one database's.
		g := rows[0].Group
		n := len(rows)
		if rows[n-1].Group != g {
			n, _ = slices.BinarySearchFunc(rows, g+1, func(r table.Ref, g uint32) int {
				if r.Group < g {
					return -1
				}
				return 1
			})
		}
		if err := s.put(g, bk.Arena, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (s *sstSet) put(group uint32, arena []byte, rows []table.Ref) error {
	seg := s.b.segment(group)
	if s.w != nil && (seg != s.segment || s.w.Size() >= sstTarget) {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.w == nil {
		s.path = filepath.Join(s.b.tmp, "w"+s.name+"-"+strconv.Itoa(s.count)+".sst")
		s.count++
		w, err := rocks.NewSSTWriterWith(s.path, rocks.Options{Checksum: s.b.r.plan.checksum()})
		if err != nil {
			return err
		}
		s.w, s.segment = w, seg
	}
	return rocks.PutRows(s.w, arena, rows)
}

func (s *sstSet) finish() error {
	if s.w == nil {
		return nil
	}
	_, err := s.w.Finish()
	s.w = nil
	s.files[s.segment] = append(s.files[s.segment], s.path)
	return err
}

func (s *sstSet) abandon() {
	if s.w != nil {
		s.w.Abandon()
		s.w = nil
	}
}
