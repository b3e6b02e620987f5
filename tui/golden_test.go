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
