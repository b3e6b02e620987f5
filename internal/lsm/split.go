package lsm

import (
	"bytes"
	"slices"
)

// Split are keys, ascending, that cut the rows of the families into parts of
// about the given number of bytes on disk, so that several goroutines can read
// them: borders of blocks of the sorted run that has most of the data. What
// cannot be read is not split; reading it will tell why.
func (d *DB) Split(families []string, size int64) [][]byte {
	type place struct {
		family string
		level  int
		number uint64 // of a file of level 0, which is a run of its own
	}
	sizes := map[place]int64{}
	files := map[place][]File{}
	var best place
	for _, name := range d.Having(families) {
		f, _ := d.Version.Family(name)
		for _, x := range f.Files {
			at := place{name, x.Level, 0}
			if x.Level == 0 {
				at.number = x.Number
			}
			sizes[at] += x.Size
			files[at] = append(files[at], x)
			if sizes[at] > sizes[best] {
				best = at
			}
		}
	}
	run := files[best]
	slices.SortFunc(run, func(a, b File) int { return bytes.Compare(a.Smallest, b.Smallest) })
	var keys [][]byte
	var part int64
	for i, f := range run {
		if i > 0 && part >= size { // also where a file cannot be opened
			keys, part = append(keys, f.Smallest), 0
		}
		t, err := OpenTableFile(d.Version.Path(f))
		if err != nil {
			part += f.Size
			continue
		}
		keys, part = t.split(keys, part, size)
		_ = t.Close()
	}
	slices.SortFunc(keys, bytes.Compare) // a separator may lie behind the next file's first key
	return slices.CompactFunc(keys, bytes.Equal)
}

// split appends the keys that cut the table; part is how many bytes lie
// between the last key and the table.
func (t *Table) split(keys [][]byte, part, size int64) ([][]byte, int64) {
	x, err := t.newIndex()
	if err != nil {
		return keys, part + t.size
	}
	for ok := x.begin(forward); ok; ok = x.move(forward) {
		if part += int64(x.at().size); part >= size {
			keys, part = append(keys, bytes.Clone(x.user())), 0
		}
	}
	return keys, part
}

// user is the user key of the separator behind the block.
func (x *indexIter) user() []byte {
	if x.twoLevel {
		return x.part.e.user()
	}
	return x.top.e.user()
}
