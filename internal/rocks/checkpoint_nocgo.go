//go:build !cgo

package rocks

// Checkpoint fails without cgo.
func (*DB) Checkpoint(string) error { return errNoCgo() }
