package monitor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/worldtest"
)

// usualRules are rules for the JMX exporter as they are in wide use.
const usualRules = `lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: "kafka.streams<type=(.+), thread-id=(.+), task-id=(.+), (.+)=(.+)><>(.+):"
    name: kafka_streams_$1_$6
    type: GAUGE
    labels: {thread_id: "$2", task_id: "$3", $4: "$5"}
  - pattern: "kafka.streams<type=(.+), thread-id=(.+), task-id=(.+)><>(.+):"
    name: kafka_streams_$1_$4
    type: GAUGE
    labels: {thread_id: "$2", task_id: "$3"}
  - pattern: "kafka.streams<type=(.+), thread-id=(.+)><>(.+):"
    name: kafka_streams_$1_$3
    type: GAUGE
    labels: {thread_id: "$2"}
  - pattern: "kafka.consumer<type=(.+), client-id=(.+)><>(.+):"
    name: kafka_consumer_$1_$3
    type: GAUGE
    labels: {client_id: "$2"}
`

// TestRealApplication reads the metrics of a real application in all spellings:
// healthy, it misses no threshold; with hardly a block cache, and while it
// restores, it misses those that it should.
func TestRealApplication(t *testing.T) {
	worldtest.Require(t)
	versions := []string{worldtest.Newest}
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		versions = worldtest.Versions()
	}
	b := worldtest.StartBroker(t, worldtest.Options{})
	for i, v := range versions {
		t.Run(v, func(t *testing.T) {
			rules := []string{usualRules, "{}"}[i%2]
			w := &realApp{ctx: t.Context()}
			w.harness, w.at = worldtest.StreamsWithMetrics(t, v, rules)
			w.app = worldtest.ProfileNamed("papi").App("metrics-"+strings.ReplaceAll(v, ".", "-"), b.Bootstrap, t.TempDir(), false)
			w.app.Settings = map[string]string{"metrics.recording.level": "DEBUG"}
			t.Run("healthy", w.healthy)
			t.Run("misses", w.misses)
			t.Run("restores", w.restores)
		})
	}
}

type realApp struct {
	ctx     context.Context
	harness *worldtest.Harness
	at      worldtest.MetricsEndpoints
	app     worldtest.App
	fed     int
}

// run starts the application, feeds it, and waits until Kafka Streams has read
// RocksDB's statistics.
func (w *realApp) run(t *testing.T, records int) {
	t.Helper()
	if err := w.harness.Start(w.ctx, w.app); err != nil {
		t.Fatal(err)
	}
	in := worldtest.Input{Records: records, First: w.fed, Base: worldtest.InputBase(time.Now()), Step: 100 * time.Millisecond}
	w.fed += records
	if err := w.harness.Feed(w.ctx, w.app, in); err != nil {
		t.Fatal(err)
	}
}

func (w *realApp) end(t *testing.T) {
	t.Helper()
	if err := w.harness.End(w.ctx, w.app); err != nil {
		t.Error(err)
	}
}

// look reads an endpoint into a new monitor.
func (w *realApp) look(t *testing.T, url string) *Monitor {
	t.Helper()
	sources, err := Open([]string{url}, Access{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	m := New(sources)
	if err := m.Scrape(w.ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

func (w *realApp) healthy(t *testing.T) {
	w.run(t, 3000)
	defer w.end(t)
	time.Sleep(recorded + 15*time.Second)
	var first []string
	for _, at := range []struct {
		url    string
		scheme Scheme
	}{{w.at.JMX, JMX}, {w.at.Micrometer, Micrometer}, {w.at.Telemetry, OTel}} {
		m := w.look(t, at.url)
		res, err := m.Evaluate(Options{Thresholds: Defaults()})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(res.Sources[0].Schemes, []Scheme{at.scheme}) {
			t.Errorf("%s: schemes %v, want %s", at.url, res.Sources[0].Schemes, at.scheme)
		}
		for _, f := range res.Findings {
			if f.Status.Found() {
				t.Errorf("%s: %s of %s: %v", at.scheme, f.ID, f.Subject, f.Evidence)
			}
			t.Logf("%s: %s %s: %s (%d)", at.scheme, f.Status, f.ID, f.Reason, len(f.Evidence))
		}
		// Every store shows every metric, and all spellings show the same.
		var seen []string
		for _, s := range m.History.stores() {
			if !s.onDisk() {
				continue
			}
			seen = append(seen, s.Scope+" "+s.Store+" "+s.Task)
			for _, i := range metrics() {
				if _, ok := m.History.now(s, i.name); !ok && i.group == stateGroup && i.name != NumKeys {
					t.Errorf("%s: %s lacks %s", at.scheme, s, i.name)
				}
			}
		}
		if len(seen) != 16 {
			t.Errorf("%s: %d stores: %v", at.scheme, len(seen), seen)
		}
		if first == nil {
			first = seen
		} else if !slices.Equal(seen, first) {
			t.Errorf("%s: %v\nwant\n%v", at.scheme, seen, first)
		}
		w.keep(t, at.url, string(at.scheme))
	}
}

// keep saves a page where SSTOOL_KEEP_PAGES says, to make fixtures of it.
func (w *realApp) keep(t *testing.T, url, name string) {
	dir := os.Getenv("SSTOOL_KEEP_PAGES")
	if dir == "" {
		return
	}
	for suffix, accept := range map[string]string{"": "", ".openmetrics": "application/openmetrics-text; version=1.0.0"} {
		page, err := worldtest.Page(w.ctx, url, accept)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("kafka-%s-%s%s.prom", w.harness.Version, name, suffix)), bytes.TrimSpace(page), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// misses is the same application with hardly a block cache.
func (w *realApp) misses(t *testing.T) {
	healthy := w.app
	defer func() { w.app = healthy }()
	w.app.Settings = map[string]string{"metrics.recording.level": "DEBUG", "rocksdb.config.setter": "world.TinyCache"}
	w.run(t, 20_000)
	defer w.end(t)
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Second) {
		res, err := w.look(t, w.at.JMX).Evaluate(Options{Thresholds: Defaults()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Findings {
			if f.ID == string(BlockCacheHits) && f.Status == op.Attention {
				t.Logf("%s: %v", f.Subject, f.Evidence)
				w.keep(t, w.at.JMX, "tinycache")
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no store without a cache misses it: %+v", res.Findings)
		}
	}
}

// restores looks on while the application restores everything, slowly.
func (w *realApp) restores(t *testing.T) {
	if err := os.RemoveAll(w.app.Dir()); err != nil {
		t.Fatal(err)
	}
	w.app.Settings = map[string]string{"metrics.recording.level": "DEBUG", "restore.consumer.max.poll.records": "1", "restore.consumer.fetch.max.bytes": "1024", "restore.consumer.max.partition.fetch.bytes": "1024"}
	started := make(chan error, 1)
	go func() { started <- w.harness.Start(w.ctx, w.app) }()
	th := Defaults()
	lag := th.Checks[RestoreLag]
	lag.Max = value(500) // some thousand records an input are all there are
	th.Checks[RestoreLag] = lag
	seen := map[CheckID]string{}
	for done := false; !done; {
		select {
		case err := <-started:
			if err != nil {
				t.Error(err)
			} else {
				defer w.end(t)
			}
			done = true
		case <-time.After(300 * time.Millisecond):
			sources, err := Open([]string{w.at.JMX}, Access{})
			if err != nil {
				t.Fatal(err)
			}
			m := New(sources)
			if m.Scrape(w.ctx) != nil {
				continue
			}
			res, err := m.Evaluate(Options{Thresholds: th, SLA: time.Second})
			if err != nil {
				continue // the application shows nothing yet
			}
			for _, g := range res.Gauges {
				if g.Status == op.Wrong && seen[g.Check] == "" {
					seen[g.Check] = g.Text()
				}
			}
		}
	}
	t.Logf("%v", seen)
	for _, id := range []CheckID{RestoreLag, RestoreTime} {
		if seen[id] == "" {
			t.Errorf("%s was not missed by a restoration that crawls: %v", id, seen)
		}
	}
}
