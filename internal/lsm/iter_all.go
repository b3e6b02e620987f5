package lsm

// File is the live file that the current entry comes from: for iterators over
// All entries, while they go forward.
func (it *Iter) File() File {
	r := it.source()
	return r.parts[r.at].file
}

// Covered says whether a newer range tombstone of any live file deletes the
// current entry: for iterators over All entries. Always false in an order that
// is the application's own.
func (it *Iter) Covered() bool {
	return it.cur.Kind != KindRangeDelete && len(it.active) > 0 && it.deleted(it.cur.Key, it.cur.Seq)
}

// source is the run that stands on the current entry.
func (it *Iter) source() *run {
	if it.concat {
		return it.m.runs[0]
	}
	return it.m.top()
}
