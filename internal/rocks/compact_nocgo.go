//go:build !cgo

package rocks

import "context"

// Compact fails without cgo.
func (*DB) Compact(context.Context) error { return errNoCgo() }
