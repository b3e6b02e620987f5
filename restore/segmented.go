package restore

import (
	"os"

	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// segmentedStore is a store of one database per segment
// (AbstractRocksDBSegmentedBytesStore.restoreAllInternal): stream time is
// raised over the whole batch first, then each record goes to its segment if
// that is still live.
type segmentedStore struct {
	task     string
	store    streams.Store
	conv     *streams.Converter
	sum      rocks.Checksum
	observed int64
	open     map[int64]*segment
	dropped  int64
	perSeg   map[int64]int64 // records that went into a segment, to count those lost with it
	stalled  int64
}

type segment struct {
	db    *rocks.DB
	dir   string
	batch *rocks.Batch
}

func openSegmented(task string, s streams.Store, conv *streams.Converter, sum rocks.Checksum) (*segmentedStore, error) {
	st := &segmentedStore{task: task, sum: sum, store: s, conv: conv, observed: -1, open: map[int64]*segment{}, perSeg: map[int64]int64{}}
	ids, err := streams.SegmentIDs(streams.StoreDir(task, s), s)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := st.segment(id); err != nil {
			st.close()
			return nil, err
		}
	}
	return st, nil
}

func (s *segmentedStore) segment(id int64) (*segment, error) {
	if x := s.open[id]; x != nil {
		return x, nil
	}
	dir := streams.DatabaseDir(s.task, s.store, id)
	db, err := openDB(dir, s.store.ColumnFamilies(), s.sum)
	if err != nil {
		return nil, err
	}
	x := &segment{db: db, dir: dir, batch: db.Batch()}
	s.open[id] = x
	return x, nil
}

func (s *segmentedStore) apply(recs []batchRecord, c *Counts) error {
	for i := range recs {
		t, err := s.conv.SegmentTime(recs[i].key)
		if err != nil {
			return recordError(err, &recs[i])
		}
		s.observed = max(s.observed, t)
	}
	c.StreamTime = max(c.StreamTime, s.observed)
	live := s.store.MinLiveSegment(s.observed)
	for i := range recs {
		r := &recs[i]
		counted := false
		_, err := s.conv.Rows(r.key, r.value, r.headers, r.ts, func(row *streams.Row) error {
			if row.Segment < live {
				if !counted {
					s.dropped++
					counted = true
				}
				return nil
			}
			x := s.open[row.Segment]
			if x == nil {
				var err error
				if x, err = s.segment(row.Segment); err != nil {
					return err
				}
			}
			if !counted {
				s.perSeg[row.Segment]++
				counted = true
			}
			if row.Delete {
				x.batch.Delete(row.Family, row.Key)
			} else {
				x.batch.Put(row.Family, row.Key, row.Value)
			}
			return nil
		})
		if err != nil {
			return recordError(err, r)
		}
	}
	// AbstractSegments.cleanupExpiredSegments
	for id, x := range s.open {
		if id < live {
			if err := s.destroy(id, x); err != nil {
				return err
			}
			continue
		}
		if x.batch.Count() > 0 {
			if err := x.db.Write(x.batch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *segmentedStore) destroy(id int64, x *segment) error {
	d, err := x.db.StallTime()
	if err == nil {
		s.stalled += int64(d)
	}
	delete(s.open, id)
	s.dropped += s.perSeg[id]
	delete(s.perSeg, id)
	x.batch.Close()
	if err := x.db.Close(); err != nil {
		return err
	}
	return os.RemoveAll(x.dir)
}

func (s *segmentedStore) flush() error {
	for _, x := range s.open {
		if err := x.db.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s *segmentedStore) checkpoint(from, to string) error {
	for _, x := range s.open {
		if err := checkpointDB(x.db, from, to); err != nil {
			return err
		}
	}
	return nil
}

func (s *segmentedStore) stall() (int64, error) {
	n := s.stalled
	for _, x := range s.open {
		d, err := x.db.StallTime()
		if err != nil {
			return n, err
		}
		n += int64(d)
	}
	return n, nil
}

func (s *segmentedStore) expired() int64 { return s.dropped }

func (s *segmentedStore) databases() []string {
	var out []string
	for _, x := range s.open {
		out = append(out, x.dir)
	}
	return out
}

func (s *segmentedStore) close() error {
	var first error
	for id, x := range s.open {
		x.batch.Close()
		if err := x.db.Close(); err != nil && first == nil {
			first = err
		}
		delete(s.open, id)
	}
	return first
}
