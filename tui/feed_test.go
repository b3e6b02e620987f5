package tui

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
)

// follow is a driver whose feed runs: until waits for the screen to show
// something.
func follow(t *testing.T, o Options) (d *driver, until func(want string)) {
	t.Helper()
	d = newDriver(t, o)
	msgs := make(chan tea.Msg, 100)
	ctx, cancel := context.WithCancel(d.m.ctx)
	d.m.send = func(msg tea.Msg) {
		select {
		case msgs <- msg:
		case <-ctx.Done():
		}
	}
	d.m.startFeed()
	t.Cleanup(func() { cancel(); d.m.feed.stop() })
	return d, func(want string) {
		t.Helper()
		give := time.After(2 * time.Minute)
		for !strings.Contains(d.text(), want) {
			select {
			case msg := <-msgs:
				d.send(msg)
			case <-give:
				t.Fatalf("the screen never shows %q:\n%s", want, d.text())
			}
		}
	}
}

// TestFeed: files and offsets are followed, on a state directory with a
// cluster.
func TestFeed(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	id := filepath.Base(app)
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: "feed-cluster"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx := context.Background()
	topic := id + "-plain-kv-changelog"
	if err := c.Topic(topic, 1, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	records := make([]kafkatest.Record, 300)
	for i := range records {
		records[i] = kafkatest.Record{Key: []byte{'k', byte(i)}, Value: []byte("v"), Timestamp: pinned().UnixMilli()}
	}
	if err := c.ProduceAll(ctx, topic, records...); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	d, until := follow(t, Options{Now: func() time.Time { return pinned().Add(time.Since(start)) }, Poll: 100 * time.Millisecond, Contexts: []Context{{Path: filepath.Dir(app), Cluster: "embedded", Flags: []string{"--bootstrap-server", c.Addrs()[0]},
		Connect: func(ctx context.Context) (*kafka.Client, error) {
			return kafka.Open(ctx, kafka.Config{Bootstrap: c.Addrs()})
		}}}})
	until("feed-cluster ●")
	until("lag 93") // 300 less the 207 that the checkpoint has
	d.keys("/", "=plain-kv", "enter", "enter", "6").has("93 records behind", "resumes")
	d.keys("7").has("feed-cluster", "256 distinct")
	if err := c.ProduceAll(ctx, topic, records[:7]...); err != nil {
		t.Fatal(err)
	}
	d.keys("6")
	until("100 records behind")
	d.has("growing")
	d.size(200, 50).keys(":", "=changelogs", "enter").has(topic, "307")
	d.keys("enter").has("feed-cluster")
	d.keys(":", "=stores", "enter")

	// A file that comes or goes is seen.
	if err := os.RemoveAll(filepath.Join(app, "0_0", "rocksdb", "ts-kv")); err != nil {
		t.Fatal(err)
	}
	until("7 stores")
	if d.m.snap.watching != "" {
		t.Error("files are not watched: " + d.m.snap.watching)
	}
}

// TestFeedWithoutDirectory: a cluster alone shows the applications' changelogs.
func TestFeedWithoutDirectory(t *testing.T) {
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: "alone"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Topic("orders-totals-changelog", 3, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	d, until := follow(t, Options{Contexts: []Context{{ApplicationID: "orders", Cluster: "embedded",
		Connect: func(ctx context.Context) (*kafka.Client, error) {
			return kafka.Open(ctx, kafka.Config{Bootstrap: c.Addrs()})
		}}}})
	until("changelogs of 1 application")
	d.has("orders")
	d.keys("enter").has("orders-totals-changelog")
}

// TestFeedEnds: nothing of a feed is left when it is stopped, again and again.
func TestFeedEnds(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	before := runtime.NumGoroutine()
	files := openFiles(t)
	for range 20 {
		f := startFeed(context.Background(), Context{Path: app}, 1, &Options{}, func(tea.Msg) {})
		time.Sleep(5 * time.Millisecond)
		f.stop()
	}
	// What ends takes a moment.
	goroutines, open := 0, 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if goroutines, open = runtime.NumGoroutine(), openFiles(t); goroutines <= before+2 && open <= files+2 {
			return
		}
	}
	t.Errorf("%d goroutines and %d descriptors, %d and %d before", goroutines, open, before, files)
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("descriptors are not counted here: " + err.Error())
	}
	return len(list)
}
