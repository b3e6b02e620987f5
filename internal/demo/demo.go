// Package demo is the application that `sstool demo` shows: an embedded Kafka
// cluster with the changelog topics of an application `orders`, filled with
// records as Kafka Streams would have written them, and its specification.
//
// The records are made from a fixed seed, so that two runs differ only in their
// times. Nothing here reads records, restores or prints.
package demo

import (
	"context"
	"fmt"
	"iter"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// ApplicationID is the demo application's application.id.
const ApplicationID = "orders"

// Options of the demo's cluster.
type Options struct {
	Listen  string    // host:port; "": a free local port
	Records int64     // of account-payment-total; the other stores follow in proportion
	Now     time.Time // the newest record's time
}

// DefaultRecords is the size of account-payment-total.
const DefaultRecords = 1_000_000

// Cluster is the running demo.
type Cluster struct{ kafka *kafkatest.Cluster }

// Bootstrap is the cluster's address.
func (c *Cluster) Bootstrap() string { return c.kafka.Addrs()[0] }

// Close stops the cluster and forgets all records.
func (c *Cluster) Close() { c.kafka.Close() }

// Start starts the cluster and fills it.
func Start(ctx context.Context, o Options, sink op.Sink) (*Cluster, error) {
	if o.Records <= 0 {
		o.Records = DefaultRecords
	}
	kafka, err := kafkatest.Start(kafkatest.Options{Listen: o.Listen, ClusterID: "sstool-demo"})
	if err != nil {
		return nil, op.Errorf(op.Failed, "start the demo cluster: %w", err).
			WithTry("--listen with another port")
	}
	c := &Cluster{kafka}
	if err := c.fill(ctx, o, sink); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// fill creates the topics and writes the records.
func (c *Cluster) fill(ctx context.Context, o Options, sink op.Sink) error {
	sink.Emit(op.Event{Type: op.Phase, Name: "produce", Message: "writing changelogs"})
	var done, total int64
	for _, s := range stores() {
		total += s.records(o.Records)
	}
	var throttle op.Throttle
	began := time.Now()
	for i, s := range stores() {
		// Its input is long gone; the topic is there as in any cluster.
		if err := c.kafka.Topic(topics()[i], s.partitions); err != nil {
			return op.Errorf(op.Failed, "create demo topic %s: %w", topics()[i], err)
		}
		topic := streams.ChangelogTopic(ApplicationID, s.name)
		if err := c.kafka.Topic(topic, s.partitions, s.config...); err != nil {
			return op.Errorf(op.Failed, "create demo topic %s: %w", topic, err)
		}
		count := func(yield func(*kafkatest.Record) bool) {
			for r := range s.make(s.records(o.Records), o.Now) {
				if !yield(r) || ctx.Err() != nil {
					return
				}
				if done++; done%1024 == 0 && throttle.Ready(time.Now()) {
					e := op.Event{Type: op.Progress, Name: topic, Done: done, Total: total, Unit: "records"}
					e.Rate = float64(done) / time.Since(began).Seconds()
					sink.Emit(e)
				}
			}
		}
		err := c.kafka.Produce(ctx, topic, "lz4", count)
		if stopped := ctx.Err(); stopped != nil { // however Produce puts it
			return fmt.Errorf("fill demo topic %s: %w", topic, stopped)
		}
		if err != nil {
			return op.Errorf(op.Failed, "fill demo topic %s: %w", topic, err)
		}
	}
	return nil
}

// More writes n more records to every changelog, as an application that runs
// does.
func (c *Cluster) More(ctx context.Context, n int64, now time.Time) error {
	for _, s := range stores() {
		if err := c.kafka.Produce(ctx, streams.ChangelogTopic(ApplicationID, s.name), "lz4", s.make(s.records(n), now)); err != nil {
			return fmt.Errorf("write to demo store %s: %w", s.name, err)
		}
	}
	return nil
}

// store is one store of the application: its line of the specification, its
// changelog topic, and its records.
type store struct {
	name       string
	spec       string // the rest of its line in the specification
	partitions int32
	config     []string
	share      float64 // of Options.Records
	make       func(n int64, now time.Time) iter.Seq[*kafkatest.Record]
}

func (s store) records(total int64) int64 { return max(1, int64(float64(total)*s.share)) }

// stores is the application. The topics' configurations are those Kafka Streams
// gives changelogs of these kinds: windowed ones keep a day longer than the
// store, versioned ones are not compacted within history plus a day.
func stores() []store {
	const day = 24 * time.Hour
	ms := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	windowed := func(retention time.Duration) []string {
		return []string{"cleanup.policy", "compact,delete", "retention.ms", ms(retention + day)}
	}
	return []store{
		{"account-payment-total", "kind: timestamped-kv, subtopology: 0", 4, []string{"cleanup.policy", "compact"}, 1, totals},
		{"order-dedup", "kind: window, subtopology: 1, retention: 2h, segment-interval: 1h", 2, windowed(dedupRetention), 0.2, dedup},
		{"payments-per-hour", "kind: timestamped-window, subtopology: 2, retention: 2d, segment-interval: 1d", 2, windowed(countRetention), 0.15, counts},
		{"customer-sessions", "kind: session, subtopology: 3, retention: 6h, segment-interval: 3h", 2, windowed(sessionRetention), 0.15, sessions},
		{"prices", "kind: versioned, subtopology: 4, history-retention: 7d, segment-interval: 7h", 2,
			[]string{"cleanup.policy", "compact", "min.compaction.lag.ms", ms(priceHistory + day)}, 0.1, prices},
	}
}

// Spec is the application's specification, as sstool spec prints one.
func Spec() string {
	text := "application-id: " + ApplicationID + "\nprocessing-guarantee: at_least_once\nkafka-version: \"4.4\"\nstores:\n"
	for _, s := range stores() {
		text += fmt.Sprintf("  - {name: %s, %s}\n", s.name, s.spec)
	}
	return text
}

// MainStore is the store the demo measures first.
const MainStore = "account-payment-total"
