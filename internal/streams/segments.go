package streams

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// SegmentTime is the time in a segmented store's record key that raises stream
// time and selects the segment.
func (c *Converter) SegmentTime(key []byte) (int64, error) {
	if c.shape == shapePlain {
		return 0, nil
	}
	s, err := c.split(key)
	return s.time, err
}

// RowsPerRecord is how many rows one live record has: two where index rows are
// written.
func (c *Converter) RowsPerRecord() int64 {
	if c.index {
		return 2
	}
	return 1
}

// SegmentIDs lists the segments that exist in a segmented store's directory,
// oldest first; none when the directory does not exist.
func SegmentIDs(storeDir string, s Store) ([]int64, error) {
	es, err := os.ReadDir(storeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, e := range es {
		if ms, ok := ParseSegmentDir(s.Name, e.Name()); ok {
			ids = append(ids, s.SegmentID(ms))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
