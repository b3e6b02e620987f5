package tui

import (
	"path/filepath"
	"testing"
)

func screens(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "screens"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestScreens keeps whole screens, of a real state directory, at both sizes.
func TestScreens(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-opt-alos")
	d.golden(dir, "stores")
	d.keys("esc").golden(dir, "applications")
	d.keys("enter").golden(dir, "tasks")
	d.keys("d").golden(dir, "task-description")
	d.keys("esc", "enter").golden(dir, "stores-of-task")
	d.keys("d").golden(dir, "store-description")
	d.keys("esc", "?").golden(dir, "help")
	d.keys("esc", "/", "=cnt").golden(dir, "filter-typed")
	d.keys("enter", "y").golden(dir, "copy")
	d.keys("esc", ":", "=st").golden(dir, "command-typed")
	d.keys("esc", ":", "=remarks", "enter").golden(dir, "remarks")
}

// TestScreensOfNothing keeps what is shown while there is nothing.
func TestScreensOfNothing(t *testing.T) {
	dir := screens(t)
	d := newDriver(t, Options{Contexts: []Context{{Path: "state"}}})
	d.golden(dir, "reading")
	chdir(t, t.TempDir())
	d.look()
	d.golden(dir, "no-such-path")
}

// TestScreensOfAStore keeps every tab of a store, of some kinds.
func TestScreensOfAStore(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-papi-alos")
	d.keys("/", "=plain-kv", "enter", "enter").golden(dir, "store-overview")
	d.keys("2").golden(dir, "store-levels")
	d.keys("3").golden(dir, "store-files")
	d.keys("d").golden(dir, "store-file")
	d.keys("esc", "4").golden(dir, "store-tombstones")
	d.keys("5").golden(dir, "store-rows")
	d.keys("f", "=k1", "enter").golden(dir, "store-rows-from")
	d.keys("F", "=ij8$", "enter").golden(dir, "store-rows-search")
	d.keys("F", "ctrl+u", "enter", "v", "=he", "tab", "enter").golden(dir, "store-rows-hex")
	d.keys("d").golden(dir, "store-row")
	d.keys("esc", "6").golden(dir, "store-offsets")
	d.keys("7").golden(dir, "store-history")
	d.keys("esc", "/", "ctrl+u", "=versioned", "enter", "enter", "5").golden(dir, "rows-versioned")
	d.keys("esc", "/", "ctrl+u", "=ts-win", "enter", "enter", "5").golden(dir, "rows-window")
	d.keys("v", "=long", "enter").golden(dir, "rows-not-decoded")
}
