package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"sstool/internal/op"
)

// SSTInfo is what reading a whole SST file found.
type SSTInfo struct {
	Path          string
	Size          int64
	FormatVersion int
	ChecksumType  string // RocksDB's name, "kCRC32c"

	Entries    int64           // point entries of every kind, deletes included
	Deletes    int64           // the deletes among them
	RangeDels  int64           // range tombstones
	Kinds      KindCounts      // all of them by kind
	KeyBytes   int64           // user keys of the point entries
	ValueBytes int64           // their values as stored
	KindBytes  [numKinds]int64 // user keys and values by kind

	DataBlocks  int64
	Compressed  int64 // data blocks that were stored compressed
	StoredBytes int64 // of the data blocks in the file, without trailers
	BlockBytes  int64 // of the data blocks inflated
	BadBlocks   int64 // blocks of any kind that were damaged; only when a scan keeps going

	SmallestKey, LargestKey []byte // user keys of point entries; nil when there are none
	SmallestSeq, LargestSeq uint64 // as stored; 0 in files made for ingestion
	OrderChecked            bool   // false when the comparator is not bytewise
	Properties              Properties
}

// KindCounts counts entries by kind.
type KindCounts [numKinds]int64

// Of is the number of entries of a kind.
func (c *KindCounts) Of(k EntryKind) int64 {
	if k >= numKinds {
		return 0
	}
	return c[k]
}

// ScanOptions says how a scan reads.
type ScanOptions struct {
	KeepGoing bool          // go on behind a corrupt block, noting each
	Buffer    []byte        // to read into, so that several scans share one; may be nil
	Parallel  int           // goroutines that may walk a large file whose entries nobody wants
	Turns     chan struct{} // how many of them walk at a time, over all scans that share it; nil: all

	least int64 // bytes of a file for each of them, for tests; 0: partBytes
}

// metaBuffer is what blocks that only need verifying are read into, in pieces.
const metaBuffer = 64 << 10

// maxScanErrors bounds the list of errors; the rest is counted.
const maxScanErrors = 1000

// Scan reads every data block and the range tombstones, with every checksum
// verified and every key rebuilt and compared with the one before. fn, which
// may be nil, gets every point entry, borrowed during the call; its error ends
// the scan and is the last of the errors. Memory does not depend on the size
// of the file, its index aside.
//
// Without KeepGoing the first error ends the scan.
func (t *Table) Scan(o ScanOptions, fn func(Entry) error) (SSTInfo, []error) {
	s := scan{t: t, o: o, fn: fn}
	s.run(false)
	return s.info, s.errs
}

// scan is one run of Scan or Verify.
type scan struct {
	t    *Table
	o    ScanOptions
	fn   func(Entry) error
	part stretch
	info SSTInfo
	errs []error
}

// bad notes an error and says whether the scan goes on.
func (s *scan) bad(err error) (goOn bool) {
	s.info.BadBlocks++
	switch {
	case len(s.errs) < maxScanErrors:
		s.errs = append(s.errs, err)
	case len(s.errs) == maxScanErrors:
		s.errs = append(s.errs, &op.Error{Kind: op.Corrupt, What: s.t.name, Err: errors.New("more damage, not listed")})
	}
	return s.o.KeepGoing
}

func (s *scan) run(verify bool) {
	t := s.t
	s.info = SSTInfo{
		Path: t.name, Size: t.size,
		FormatVersion: int(t.foot.version),
		ChecksumType:  t.foot.sum.String(),
		Properties:    t.props,
		OrderChecked:  t.order.bytewise(),
	}
	if len(s.o.Buffer) == 0 {
		s.o.Buffer = make([]byte, min(metaBuffer, max(t.size, 1<<10)))
	}
	if verify && !t.verifyMeta(s.o.Buffer, s.bad) {
		return
	}
	if !s.inParts() && !s.walk() {
		return
	}
	dels, err := t.RangeDeletes()
	if err != nil && !s.bad(err) {
		return
	}
	s.info.RangeDels = int64(len(dels))
	s.info.Kinds[KindRangeDelete] = s.info.RangeDels
	for _, d := range dels {
		s.info.KindBytes[KindRangeDelete] += int64(len(d.Start) + len(d.End))
	}
	if verify && s.info.BadBlocks == 0 {
		if err := t.verifyCounts(s.info); err != nil {
			s.bad(err)
		}
	}
}

// walk walks the data blocks, or those of the scan's part, and says whether the
// scan goes on.
func (s *scan) walk() (goOn bool) {
	st, err := s.t.newStream(s.o.Buffer)
	if err != nil {
		return s.bad(err)
	}
	defer st.close()
	if s.part.to > 0 {
		st.from, st.to = s.part.from, s.part.to
	}
	e := entries{ordered: s.info.OrderChecked, trailer: keyTrailer, key: make([]byte, 0, quickKey)}
	info := &s.info
	info.SmallestSeq = ^uint64(0)
	goOn = true
	for goOn {
		b, h, err := st.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.block(&e, b, h)
		}
		stop, stopped := errors.AsType[stopScan](err)
		switch {
		case err == nil:
			info.DataBlocks++
		case stopped:
			s.errs = append(s.errs, stop.error)
			goOn = false
		default:
			goOn = s.bad(afterKey(err, info.LargestKey, info.Entries > 0))
		}
	}
	if info.Entries == 0 {
		info.SmallestSeq = 0
	}
	for _, k := range Kinds() {
		if k.IsDelete() {
			info.Deletes += info.Kinds[k] // range deletes are not counted yet
		}
	}
	info.LargestKey = bytes.Clone(info.LargestKey)
	s.part.last = bytes.Clone(e.key)
	info.Compressed, info.StoredBytes = st.squeezed, st.stored
	return goOn
}

// stopScan is an error of the caller's function.
type stopScan struct{ error }

// block walks one data block. LargestKey is left pointing into e: the last key
// that was good.
func (s *scan) block(e *entries, b []byte, h handle) error {
	info, t := &s.info, s.t
	if err := e.reset(b); err != nil {
		return corrupt(t.name, int64(h.off), "data block: %w", err)
	}
	info.BlockBytes += int64(len(b))
	for {
		if s.fn == nil && e.tally(info) {
			info.LargestKey = e.user()
		}
		if !e.next() {
			break
		}
		seq, kind := splitTrailer(e.key)
		info.LargestKey = e.user()
		if !kind.isPoint() { // the key itself is good
			return corrupt(t.name, int64(h.off), "data block: entry of type %#02x, expected a point entry", byte(kind))
		}
		if info.Entries == 0 {
			info.SmallestKey, s.part.first = bytes.Clone(info.LargestKey), bytes.Clone(e.key)
		}
		info.add(kind, 1, len(info.LargestKey), len(e.value))
		info.SmallestSeq, info.LargestSeq = min(info.SmallestSeq, seq), max(info.LargestSeq, seq)
		if s.fn == nil {
			continue
		}
		if t.extern {
			seq = t.seq
		}
		if err := s.fn(Entry{Key: info.LargestKey, Value: e.value, Seq: seq, Kind: kind}); err != nil {
			return stopScan{err}
		}
	}
	if e.err != nil {
		return corrupt(t.name, int64(h.off), "data block: %w", e.err)
	}
	return nil
}

// add counts n point entries of a kind with bytes of keys and values.
func (i *SSTInfo) add(kind EntryKind, n, keys, values int) {
	i.Entries += int64(n)
	i.KeyBytes += int64(keys)
	i.ValueBytes += int64(values)
	i.Kinds[kind] += int64(n)
	i.KindBytes[kind] += int64(keys + values)
}

// maxShownKey is how much of a key an error shows.
const maxShownKey = 64

// afterKey adds the last good key to an error about a data block.
func afterKey(err error, key []byte, any bool) error {
	var e *op.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	switch {
	case !any:
		c.Err = fmt.Errorf("%w; no good key before it", e.Err)
	case len(key) > maxShownKey:
		c.Err = fmt.Errorf("%w; last good key %x… (%d bytes)", e.Err, key[:maxShownKey], len(key))
	default:
		c.Err = fmt.Errorf("%w; last good key %x", e.Err, key)
	}
	return &c
}
