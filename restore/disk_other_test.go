//go:build cgo && !linux

package restore

import "testing"

func smallDisk(t testing.TB, size int) string {
	t.Skip("a small file system is made on Linux only")
	return ""
}
