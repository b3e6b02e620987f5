package monitor

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// shortRules are the other rules that are in wide use: they leave out what every
// type of bean says.
const shortRules = `lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: "kafka.streams<type=stream-(.+)-metrics, thread-id=(.+), task-id=(.+), (.+)=(.+)><>(.+):"
    name: kafka_streams_$1_$6
    labels: {thread_id: "$2", task_id: "$3", $4: "$5"}
  - pattern: "kafka.streams<type=stream-(.+)-metrics, thread-id=(.+), task-id=(.+)><>(.+):"
    name: kafka_streams_$1_$4
    labels: {thread_id: "$2", task_id: "$3"}
  - pattern: "kafka.streams<type=stream-(.+)-metrics, thread-id=(.+)><>(.+):"
    name: kafka_streams_$1_$3
    labels: {thread_id: "$2"}
  - pattern: "kafka.streams<type=stream-metrics, client-id=(.+)><>(.+):"
    name: kafka_streams_$2
    labels: {client_id: "$1"}
  - pattern: "kafka.consumer<type=consumer-(.+)-metrics, client-id=(.+)><>(.+):"
    name: kafka_consumer_$1_metrics_$3
    labels: {client_id: "$2"}
`

// TestRealApplication reads the metrics of real applications in all spellings:
// healthy, they miss no threshold; with hardly a block cache, while one restores,
// and with stores that cannot keep up with what is written, they miss those that
// they should. Most of it is waiting for the minute in which Kafka Streams reads
// RocksDB's statistics, so it is done side by side.
func TestRealApplication(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for i, v := range worldtest.Chosen(worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			var wg sync.WaitGroup
			defer wg.Wait()
			for name, part := range map[string]struct {
				rules string
				tests []func(*realApp, *testing.T)
			}{
				"healthy, restores": {[]string{usualRules, "{}"}[i%2], []func(*realApp, *testing.T){(*realApp).healthy, (*realApp).restores}},
				"misses":            {[]string{"{}", usualRules}[i%2], []func(*realApp, *testing.T){(*realApp).misses}},
				"stalls":            {shortRules, []func(*realApp, *testing.T){(*realApp).stalls}},
			} {
				if name == "misses" && !worldtest.Full() {
					continue // RocksDB's statistics of a minute must hold reads that no memtable serves: that may take many
				}
				wg.Go(func() {
					t.Run(name, func(t *testing.T) {
						w := &realApp{ctx: t.Context()}
						w.harness, w.at = worldtest.StreamsWithMetrics(t, v, part.rules)
						id := strings.NewReplacer(".", "-", ", ", "-").Replace("metrics-" + name + "-" + v)
						w.app = worldtest.ProfileNamed("papi").App(id, b.Bootstrap, t.TempDir(), false)
						w.app.Settings = map[string]string{"metrics.recording.level": "DEBUG"}
						for _, test := range part.tests {
							test(w, t)
						}
					})
				})
			}
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

// run starts the application and feeds it.
func (w *realApp) run(t *testing.T, records int) {
	t.Helper()
	if err := w.harness.Start(w.ctx, w.app); err != nil {
		t.Fatal(err)
	}
	w.feed(t, records)
}

func (w *realApp) feed(t *testing.T, records int) {
	t.Helper()
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

// misses is an application with hardly a block cache.
func (w *realApp) misses(t *testing.T) {
	w.app.Settings["rocksdb.config.setter"] = "world.TinyCache"
	w.run(t, 20_000)
	defer w.end(t)
	w.until(t, w.look(t, w.at.JMX), Defaults(), map[CheckID]string{BlockCacheHits: ""}, func() { w.feed(t, 20_000) })
	w.keep(t, w.at.JMX, "tinycache")
}

// stalls is an application with a store whose writes stand still, and one whose
// compactions wait; the others are as they should be.
func (w *realApp) stalls(t *testing.T) {
	w.app.Settings["rocksdb.config.setter"] = "world.metrics.Stalling"
	w.app.Settings["max.poll.records"] = "20" // which are written before it stops
	w.run(t, 1000)
	defer w.end(t)
	th := Defaults()
	for id, change := range map[CheckID]func(*Threshold){
		PendingCompaction: func(x *Threshold) { x.Max = value(100_000) }, // not 10 GB
		PendingGrowth:     func(x *Threshold) { x.Window, x.Floor = time.Minute, value(10_000) },
	} {
		x := th.Checks[id]
		change(&x)
		th.Checks[id] = x
	}
	m := w.look(t, w.at.JMX)
	w.keep(t, w.at.JMX, "jmx-short-stalls-before")
	res := w.until(t, m, th, map[CheckID]string{WriteStalls: "ts-kv", PendingCompaction: "plain-kv", PendingGrowth: "plain-kv"}, func() { w.flood(t, 200) })
	w.keep(t, w.at.JMX, "jmx-short-stalls")
	if !slices.Equal(res.Sources[0].Schemes, []Scheme{JMXShort}) {
		t.Errorf("schemes %v", res.Sources[0].Schemes)
	}
	for _, g := range res.Gauges {
		switch store := g.Subject.Store; {
		case g.Status.Found() && !slices.Contains([]string{"ts-kv", "plain-kv", "nolog-kv"}, store) && slices.Contains([]CheckID{WriteStalls, PendingCompaction, PendingGrowth}, g.Check):
			t.Errorf("%s: %s", g.Subject, g.Text())
		case g.Check == PendingCompaction && store == "nolog-kv": // it has no levels
			if t.Logf("%s: %s", g.Subject, g.Text()); g.Status != op.OK {
				t.Error("universal compaction tells what waits")
			}
		}
	}
}

// flood produces records of some size with keys that are new.
func (w *realApp) flood(t *testing.T, records int) {
	t.Helper()
	batch := make([]worldtest.Record, records)
	for i := range batch {
		w.fed++
		batch[i] = worldtest.Record{Partition: int32(i % 2), Key: fmt.Append(nil, "flood-", w.fed), Value: bytes.Repeat([]byte("x"), 2000)}
	}
	if err := worldtest.Produce(w.ctx, w.app.Bootstrap, w.app.ID+"-in", batch...); err != nil {
		t.Fatal(err)
	}
}

// until gives the application more and looks at it until each check has missed
// its threshold for the store, or for any where it says none.
func (w *realApp) until(t *testing.T, m *Monitor, th Thresholds, missed map[CheckID]string, more func()) *Result {
	t.Helper()
	missing := maps.Clone(missed)
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Second) {
		res, err := m.Evaluate(Options{Thresholds: th})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range res.Gauges {
			if store, ok := missing[g.Check]; ok && g.Status.Found() && (store == "" || g.Subject.Store == store) {
				t.Log(g.Text())
				delete(missing, g.Check)
			}
		}
		if len(missing) == 0 {
			return res
		}
		if time.Now().After(end) {
			t.Fatalf("not missed: %v; %+v", missing, res.Findings)
		}
		more()
		if err := m.Scrape(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// restores looks on while the application restores everything, slowly.
func (w *realApp) restores(t *testing.T) {
	if err := os.RemoveAll(w.app.Dir()); err != nil {
		t.Fatal(err)
	}
	maps.Copy(w.app.Settings, map[string]string{"restore.consumer.max.poll.records": "1", "restore.consumer.fetch.max.bytes": "1024", "restore.consumer.max.partition.fetch.bytes": "1024"})
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
