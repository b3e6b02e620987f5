package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
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

// TestScreensOfACluster keeps what a cluster says: beside a state directory,
// and alone.
func TestScreensOfACluster(t *testing.T) {
	dir := screens(t)
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: "golden-cluster"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, store := range []string{"plain-kv", "ts-kv", "session"} {
		topic := "w402-mini-papi-alos-" + store + "-changelog"
		if err := c.Topic(topic, 2, "cleanup.policy", "compact"); err != nil {
			t.Fatal(err)
		}
		var records []kafkatest.Record
		for i := range 300 {
			r := kafkatest.Record{Partition: int32(i % 2), Key: fmt.Appendf(nil, "k%03d", i%40), Value: []byte("value"), Timestamp: pinned().Add(-time.Hour).UnixMilli() + int64(i)}
			if i%7 == 0 {
				r.Value = nil
			}
			records = append(records, r)
		}
		if err := c.ProduceAll(context.Background(), topic, records...); err != nil {
			t.Fatal(err)
		}
	}
	connect := func(ctx context.Context) (*kafka.Client, error) {
		return kafka.Open(ctx, kafka.Config{Bootstrap: c.Addrs()})
	}
	d := fixture(t, "4.0.2-papi-alos")
	on := func(d *driver) *kafka.Client {
		d.m.context().Connect, d.m.context().Cluster = connect, "broker:9092"
		d.m.feed = &feed{conn: &connection{open: connect}}
		t.Cleanup(d.m.feed.conn.close)
		client, err := d.m.feed.conn.get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	disk := d.m.snap.disk.WithCluster(context.Background(), inspect.MapOptions{Client: on(d)}, nil)
	d.send(snapshotMsg{d.m.gen, &snapshot{disk: disk, asked: true, clusterID: "golden-cluster", at: pinned()}})
	d.golden(dir, "cluster-stores")
	d.keys("/", "=plain-kv", "enter", "enter", "6").golden(dir, "cluster-offsets")
	d.keys("7").golden(dir, "cluster-changelog")
	d.keys("esc", ":", "=changelogs", "enter").golden(dir, "changelogs")
	d.keys("d").golden(dir, "changelogs-description")

	alone := newDriver(t, Options{Contexts: []Context{{ApplicationID: "w402-mini-papi-alos"}}})
	list, err := inspect.ListChangelogs(context.Background(), on(alone), []string{"w402-mini-papi-alos"})
	if err != nil {
		t.Fatal(err)
	}
	alone.send(snapshotMsg{alone.m.gen, &snapshot{topics: list, asked: true, clusterID: "golden-cluster", at: pinned()}})
	alone.golden(dir, "cluster-alone")
	alone.keys("enter", "enter").golden(dir, "cluster-alone-changelog")
	alone.send(snapshotMsg{alone.m.gen, &snapshot{topics: list, asked: true, kafkaErr: op.Errorf(op.Unreachable, "connection refused"), at: pinned()}})
	alone.keys("esc", "esc").has("no answer")
}

// TestScreensOfSeveralApplications keeps the list of them, and what is in all.
func TestScreensOfSeveralApplications(t *testing.T) {
	dir, state := screens(t), t.TempDir()
	for _, name := range []string{"4.0.2-opt-alos", "4.0.2-papi-alos", "4.4.0-opt-alos"} {
		_, app := lsmtest.Unpack(t, name)
		if err := os.Rename(app, filepath.Join(state, filepath.Base(app))); err != nil {
			t.Fatal(err)
		}
	}
	d := directory(t, state)
	d.golden(dir, "several-applications")
	d.keys("d").golden(dir, "several-description")
	d.keys("esc", ":", "=stores", "enter").golden(dir, "several-stores")
	d.keys(":", "=tasks", "enter").golden(dir, "several-tasks")
}

// TestThemes keeps the colours of each theme.
func TestThemes(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-opt-alos")
	for _, name := range []string{"dark", "light", "none"} {
		d.keys(":", "=theme "+name, "enter").coloured(dir, "theme-"+name)
		d.keys("/", "=cnt|src", "enter", "enter", "4").coloured(dir, "theme-"+name+"-tombstones")
		d.keys("esc", "esc")
	}
	if s := d.m.View().Content; strings.Contains(s, "38;") || strings.Contains(s, "48;") || strings.Contains(s, "[3") {
		t.Error("the theme none has colours")
	}
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
