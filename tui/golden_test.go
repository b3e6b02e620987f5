package tui

import (
	"path/filepath"
	"testing"

	"sstool/internal/topology"
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

// TestScreensOfATopology keeps the drawing and the findings, without and with
// a topology.
func TestScreensOfATopology(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-opt-alos")
	d.keys(":", "=topology", "enter").has("No topology was given")
	d.keys("esc", ":", "=lint", "enter").has("No topology was given").keys("esc")
	models, err := topology.Load([]string{filepath.Join(filepath.Dir(d.dir), "describe.txt")}, nil, topology.Options{ApplicationID: "w402-mini-opt-alos"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range models {
		x.File = "topology.txt"
		d.m.o.Contexts[0].Topologies = append(d.m.o.Contexts[0].Topologies, *x)
	}
	d.m.o.Contexts[0].TopologyArgs = []string{"topology.txt"}
	d.keys(":", "=topology", "enter").golden(dir, "topology")
	d.keys("esc", ":", "=lint", "enter").golden(dir, "lint")
	d.keys("d").golden(dir, "lint-finding")
}

// TestScreensOfContexts keeps the list of contexts.
func TestScreensOfContexts(t *testing.T) {
	d := newDriver(t, Options{Contexts: []Context{{Name: "production", Path: "/var/lib/kafka-streams", Cluster: "broker:9092"}, {Name: "test", ApplicationID: "orders", Cluster: "test:9092"}}, Current: 1})
	d.keys(":", "=ctx", "enter").golden(screens(t), "contexts")
	d.keys("enter")
	if d.m.current != 0 || d.m.top().screen.crumb() != "applications" {
		t.Errorf("context %d, screen %s", d.m.current, d.m.top().screen.crumb())
	}
	d.keys(":", "=ctx test", "enter")
	if d.m.current != 1 {
		t.Errorf("context %d", d.m.current)
	}
	d.keys(":", "=ctx nowhere", "enter").has("no context nowhere")
}
