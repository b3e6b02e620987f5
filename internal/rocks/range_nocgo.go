//go:build !cgo

package rocks

// DeleteRange does nothing without cgo: no Batch can be made.
func (*Batch) DeleteRange(int, []byte, []byte) {}
