package tui

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
)

// TestSoak lets the dashboard look at files and offsets that change all the
// time, with somebody pressing keys, and holds that nothing piles up: memory,
// goroutines, descriptors. SSTOOL_SOAK says how long: 30m.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SSTOOL_SOAK"))
	if err != nil {
		t.Skip("SSTOOL_SOAK=30m runs it")
	}
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: "soak"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	topic := filepath.Base(app) + "-plain-kv-changelog"
	if err := c.Topic(topic, 1, "cleanup.policy", "delete", "retention.bytes", "65536"); err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, Options{Now: time.Now, Poll: 200 * time.Millisecond, Contexts: []Context{{Path: app, Cluster: "soak",
		Connect: func(ctx context.Context) (*kafka.Client, error) {
			return kafka.Open(ctx, kafka.Config{Bootstrap: c.Addrs()})
		}}}})
	msgs := make(chan tea.Msg, 100)
	d.m.send = func(msg tea.Msg) {
		select {
		case msgs <- msg:
		case <-d.m.ctx.Done():
		}
	}
	d.m.startFeed()
	keys := []string{"down", "up", "enter", "enter", "esc", "1", "2", "3", "4", "5", "6", "7", "8", "d", "esc", "esc", "s", "S", "?", "esc", "y", "esc", "pgdown", "home", "ctrl+r"}
	rng := rand.New(rand.NewPCG(7, 7))
	file := filepath.Join(app, "0_0", "rocksdb", "plain-kv", "000999.sst")
	var early soakGauge
	begun := time.Now()
	for n := 0; time.Since(begun) < length; n++ {
		select {
		case msg := <-msgs:
			d.send(msg)
		case <-time.After(20 * time.Millisecond):
		}
		d.send(clockMsg(time.Now()))
		d.keys(keys[rng.IntN(len(keys))])
		if n%50 == 0 {
			d.size(60+rng.IntN(150), 15+rng.IntN(40))
		}
		d.check(d.m.w, d.m.h)
		switch n % 40 {
		case 10:
			_ = os.WriteFile(file, []byte("not a table"), 0o644)
		case 30:
			_ = os.Remove(file)
		case 20:
			_ = c.ProduceAll(d.m.ctx, topic, kafkatest.Record{Key: []byte("k"), Value: []byte("v"), Timestamp: time.Now().UnixMilli()})
		}
		if early.heap == 0 && time.Since(begun) > length/4 {
			early = readGauge(t)
		}
		if len(d.m.stack) == 1 {
			d.keys("enter")
		}
	}
	readGauge(t).holds(t, early)
	d.m.feed.stop()
}

// soakGauge is what must not grow.
type soakGauge struct {
	heap             uint64
	goroutines, open int
}

func readGauge(t *testing.T) soakGauge {
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return soakGauge{ms.HeapAlloc, runtime.NumGoroutine(), openFiles(t)}
}

// holds compares with what it was after a quarter of the time.
func (late soakGauge) holds(t *testing.T, early soakGauge) {
	t.Helper()
	t.Logf("after a quarter: %+v; at the end: %+v", early, late)
	if late.heap > early.heap+early.heap/4+8<<20 || late.goroutines > early.goroutines+10 || late.open > early.open+10 {
		t.Errorf("it grows: after a quarter %+v, at the end %+v", early, late)
	}
}
