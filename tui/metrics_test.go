package tui

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sstool/inspect/monitor"
)

const page = `kafka_streams_stream_state_metrics_block_cache_data_hit_ratio{rocksdb_state_id="orders",task_id="0_1",thread_id="shop-StreamThread-1"} 0.41
kafka_streams_stream_state_metrics_estimate_pending_compaction_bytes{rocksdb_state_id="orders",task_id="0_1",thread_id="shop-StreamThread-1"} %g
kafka_streams_stream_state_metrics_estimate_num_keys{rocksdb_state_id="orders",task_id="0_1",thread_id="shop-StreamThread-1"} 120
`

// metered gives the context metrics of these targets.
func (d *driver) metered(targets ...string) *driver {
	d.t.Helper()
	sources, err := monitor.Open(targets, monitor.Access{Timeout: time.Minute})
	if err != nil {
		d.t.Fatal(err)
	}
	d.m.o.Contexts[0].Metrics = &Metrics{Sources: sources, Options: monitor.Options{Thresholds: monitor.Defaults()}, Args: targets}
	return d
}

// TestScreensOfMetrics keeps the gauges, and what is said of one.
func TestScreensOfMetrics(t *testing.T) {
	dir := screens(t)
	chdir(t, t.TempDir())
	if err := os.WriteFile("orders-0.prom", []byte(fmt.Sprintf(page, 1.2e10)), 0o644); err != nil {
		t.Fatal(err)
	}
	hourAgo := pinned().Add(-time.Hour)
	if err := os.Chtimes("orders-0.prom", hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, Options{Contexts: []Context{{Path: "state"}}})
	d.keys(":", "=metrics", "enter").has("No metrics were given", "--metrics URL").keys("esc")
	d.metered(filepath.Base("orders-0.prom")).keys(":", "=metrics", "enter")
	d.golden(dir, "metrics")
	d.keys("d").golden(dir, "metrics-gauge")
	d.keys("esc", "end", "up", "d").has("unmeasured").keys("esc", "y").has("sstool monitor orders-0.prom").keys("esc")
}

// TestMetricsAreLive: while the screen is shown it is fetched again every other
// poll, growth included; an endpoint that does not answer any more is told.
func TestMetricsAreLive(t *testing.T) {
	var pending atomic.Int64
	pending.Store(1000)
	var down atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			http.Error(w, "gone", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, page, float64(pending.Load()))
	}))
	defer srv.Close()
	now := pinned()
	d := newDriver(t, Options{Contexts: []Context{{Path: "state"}}, Now: func() time.Time { return now }, Poll: time.Second})
	d.metered(srv.URL).keys(":", "=metrics", "enter").keys("/", "=pending-compaction ", "enter")
	d.has("1000 B")
	tick := func(by time.Duration) {
		now = now.Add(by)
		d.send(clockMsg(now))
	}
	pending.Store(2e10)
	tick(time.Second)
	d.has("1000 B") // not yet
	tick(time.Second)
	d.has("18.6 GiB", "problem")
	n := d.m.top().fetchN
	down.Store(true)
	tick(2 * time.Second)
	d.has("now: ", "before: 1 problem")
	if got := d.m.top().fetchN; got != n+1 {
		t.Errorf("fetched %d times, before it %d", got, n)
	}
	down.Store(false)
	tick(2 * time.Second)
	if s := d.text(); strings.Contains(s, "now: ") {
		t.Errorf("it answers again:\n%s", s)
	}
	// One of several that does not answer keeps the others.
	d.metered(srv.URL, "http://127.0.0.1:1/metrics")
	d.m.meters = map[int]*metering{}
	tick(2 * time.Second)
	d.has("2 sources, 1 without an answer")
	// What is not shown is not fetched.
	d.keys("esc", "esc")
	tick(time.Minute)
	d.keys(":", "=metrics", "enter").size(200, 50).has("seen for")
}
