//go:build cgo

package rocks

// DeleteRange adds the deletion of all rows with from <= key < to.
func (b *Batch) DeleteRange(family int, from, to []byte) {
	if b.check(family) {
		b.wb.DeleteRangeCF(b.d.cfs[family], from, to)
		b.count++
		b.d.mu.RUnlock()
	}
}
