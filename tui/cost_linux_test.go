package tui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/bigtest"
)

// TestCost measures the dashboard on an application of 200 stores and 20,000
// SST files: the time to the first screen, the processor and the memory while
// nobody does anything, without and with a cluster, which runs in this process
// too. SSTOOL_COST says how long it looks on: 30s.
//
//	SSTOOL_COST=30s go test -v -run TestCost ./tui
func TestCost(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SSTOOL_COST"))
	if err != nil {
		t.Skip("SSTOOL_COST=30s runs it")
	}
	app := bigtest.Application(t, 200, 100)
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: "cost"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for i := range 10 {
		topic := fmt.Sprintf("big-store-%d-changelog", i)
		if err := c.Topic(topic, 20, "cleanup.policy", "compact"); err != nil {
			t.Fatal(err)
		}
		for p := range 20 {
			if err := c.ProduceAll(context.Background(), topic, kafkatest.Record{Partition: int32(p), Key: []byte("k"), Value: []byte("v"), Timestamp: time.Now().UnixMilli()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	alone := Context{Path: app}
	both := Context{Path: app, Cluster: "embedded", Connect: func(ctx context.Context) (*kafka.Client, error) {
		return kafka.Open(ctx, kafka.Config{Bootstrap: c.Addrs()})
	}}
	for name, x := range map[string]Context{"files alone": alone, "with a cluster": both} {
		t.Run(name, func(t *testing.T) {
			shown := &waiting{want: []byte("200 stores"), seen: make(chan struct{})}
			terminal, keys := pty(t, 200, 50, shown)
			ended := make(chan error, 1)
			begun, used := time.Now(), cpuTime()
			go func() {
				ended <- Run(context.Background(), Options{In: terminal, Out: terminal, Env: []string{"TERM=xterm-256color"}, Theme: "dark", Contexts: []Context{x}})
			}()
			select {
			case <-shown.seen:
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-time.After(time.Minute):
				t.Fatal("no store is ever shown")
			}
			t.Logf("first screen after %v, %v of the processor", time.Since(begun).Round(time.Millisecond), (cpuTime() - used).Round(time.Millisecond))
			time.Sleep(3 * time.Second) // the pane, and the first answers of the cluster
			idle, used := time.Now(), cpuTime()
			time.Sleep(length)
			share := (cpuTime() - used).Seconds() / time.Since(idle).Seconds()
			t.Logf("idle for %v: %.2f %% of a core, rss %s, %+v", length, share*100, rss(), readGauge(t))
			if share > 0.05 {
				t.Errorf("it takes %.1f %% of a core when nothing happens", share*100)
			}
			_, _ = keys.WriteString("q")
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// waiting closes seen when want was written.
type waiting struct {
	want []byte
	seen chan struct{}
	once sync.Once
	last []byte
}

func (w *waiting) Write(b []byte) (int, error) {
	w.last = append(w.last, b...)
	if bytes.Contains(w.last, w.want) {
		w.once.Do(func() { close(w.seen) })
	}
	w.last = w.last[max(0, len(w.last)-len(w.want)):]
	return len(b), nil
}
