package verify

import (
	"maps"
	"os"
	"slices"
	"testing"
)

func mkdirs(dir string) error { return os.MkdirAll(dir, 0o755) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
