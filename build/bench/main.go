// Command bench compares sstool's restore with Kafka Streams' own and with a
// plain consume of the same changelog: the three in turn, several rounds, in
// one run on one machine, so that only ratios count. `make bench` runs it.
//
// It fails when bulk is less than the factor asked for below, five times as
// fast as Kafka Streams at least. The scenario "inspect" holds reading a store
// against RocksDB's own tools (Debian's rocksdb-tools) and its iterator, "ttl"
// finding the rows to be deleted against a raw consume and that iterator.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/worldtest"
)

// scenario is one changelog and what is asked of it.
type scenario struct {
	name string
	gen  worldtest.GenOptions
	part float64 // of the records asked for
	aim  float64 // bulk against Kafka Streams, the figure
	raw  float64 // rate against the raw consume; 0: not asked
	near bool    // the streams profile is to predict Kafka Streams' time within a quarter
	only bool    // bulk alone, once: memory and temporary disk are asked, not speed
	tail float64 // share of records produced after a restore: how long --from-checkpoint takes against the full one
}

func scenarios() []scenario {
	kv := worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5}
	with := func(f func(*worldtest.GenOptions)) worldtest.GenOptions { o := kv; f(&o); return o }
	return []scenario{
		{name: "kv", gen: kv, part: 1, aim: 10, raw: 0.5, near: true},
		{name: "kv-4-partitions", gen: with(func(o *worldtest.GenOptions) { o.Partitions = 4 }), part: 1, aim: 9},
		{name: "kv-lz4", gen: with(func(o *worldtest.GenOptions) { o.Codec = "lz4" }), part: 1, aim: 9},
		{name: "kv-zstd", gen: with(func(o *worldtest.GenOptions) { o.Codec = "zstd" }), part: 1, aim: 9},
		{name: "kv-unique", gen: with(func(o *worldtest.GenOptions) { o.Keys = -1 }), part: 0.5, aim: 8},
		{name: "window", gen: with(func(o *worldtest.GenOptions) { o.Kind = "timestamped-window" }), part: 0.5, aim: 5, near: true},
		{name: "session", gen: with(func(o *worldtest.GenOptions) { o.Kind = "session" }), part: 0.5, aim: 5, near: true},
		{name: "resume", gen: kv, part: 1, tail: 0.01},
		{name: "memory-8M", gen: kv, part: 1, only: true},
		{name: "memory-40M", gen: kv, part: 5, only: true},
		{name: "memory-skewed", gen: with(func(o *worldtest.GenOptions) { o.KeyShape = "skewed" }), part: 1, only: true},
		{name: "memory-sorted", gen: with(func(o *worldtest.GenOptions) { o.KeyShape = "sorted"; o.Keys = -1 }), part: 1, only: true},
		{name: "memory-prefixed", gen: with(func(o *worldtest.GenOptions) { o.KeyShape = "prefixed"; o.KeyBytes = 64 }), part: 1, only: true},
		{name: "memory-tiny", gen: with(func(o *worldtest.GenOptions) { o.KeyShape = "tiny"; o.Keys = 200; o.ValueBytes = 8 }), part: 1, only: true},
		{name: "memory-huge", gen: with(func(o *worldtest.GenOptions) { o.ValueBytes = 6 << 20; o.BatchBytes = 7 << 20 }), part: 0.00002, only: true},
		{name: "versioned", gen: with(func(o *worldtest.GenOptions) { o.Kind = "versioned" }), part: 0.25, aim: 5},
	}
}

// floor is the factor below which the benchmark fails.
const floor = 5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type figures struct{ streams, bulk, raw, plain, predict, rss, disk []float64 }

func run(ctx context.Context) error {
	binary := flag.String("sstool", "bin/sstool", "the program to measure")
	rounds := flag.Int("rounds", 5, "rounds of each")
	records := flag.Int64("records", 8_000_000, "records of the largest changelog")
	only := flag.String("only", ".", "scenarios to run, a regular expression")
	flag.Parse()
	pick, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if err := worldtest.Installed(); err != nil {
		return fmt.Errorf("install Java 17 and Maven: %w", err)
	}
	broker, err := worldtest.NewBroker(ctx, worldtest.Options{})
	if err != nil {
		return err
	}
	defer broker.Close()
	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{broker.Bootstrap}})
	if err != nil {
		return err
	}
	defer client.Close()
	b := &bench{ctx: ctx, binary: *binary, broker: broker, client: client, rounds: *rounds}
	if pick.MatchString("rename") {
		if err := b.rename(*records); err != nil {
			return fmt.Errorf("rename: %w", err)
		}
	}
	if pick.MatchString("clone") {
		if err := b.clone(*records); err != nil {
			return fmt.Errorf("clone: %w", err)
		}
	}
	if pick.MatchString("inspect") {
		if err := b.inspect(*records); err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
	}
	if pick.MatchString("ttl") {
		if err := b.ttlRows(*records * 5 / 4); err != nil {
			return fmt.Errorf("ttl: %w", err)
		}
	}
	if pick.MatchString("verify") {
		if err := b.verify(*records); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
	}
	if pick.MatchString("share") {
		if err := b.share(*records * 3); err != nil {
			return fmt.Errorf("share: %w", err)
		}
	}
	if pick.MatchString("snapshot") {
		if err := b.snapshot(*records * 5 / 4); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	if pick.MatchString("produce") {
		if err := b.produce(*records); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
	}
	if pick.MatchString("follow") {
		if err := b.follow(*records); err != nil {
			return fmt.Errorf("follow: %w", err)
		}
	}
	if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return pick.MatchString(s.name) }) {
		return nil
	}
	if b.harness, err = worldtest.NewHarness(worldtest.Newest); err != nil {
		return err
	}
	defer b.harness.Close()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "changelog\trecords\tKafka Streams s\tbulk s\traw s\tbulk vs Kafka Streams\tbulk vs raw (rate)\tbulk vs plain kgo loop (rate)\tpredicted vs Kafka Streams (time)\tpeak MiB\tstore MiB\t")
	var failed []string
	for _, s := range scenarios() {
		if !pick.MatchString(s.name) {
			continue
		}
		if s.only || s.tail > 0 {
			line, err := b.single(s, int64(float64(*records)*s.part))
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Println(line)
			continue
		}
		f, n, err := b.scenario(s, int64(float64(*records)*s.part))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		speed := ratios(f.streams, f.bulk)
		raw, plain := ratios(f.raw, f.bulk), ratios(f.plain, f.bulk)
		predict, predicted := []float64(nil), "–"
		if s.near {
			predict = ratios(f.predict, f.streams)
			predicted = fmt.Sprintf("%.2f", median(predict))
		}
		fmt.Fprintf(out, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.1f×\t%.2f\t%.2f\t%s\t%.0f\t%.0f\t\n", s.name, n, median(f.streams), median(f.bulk), median(f.raw),
			median(speed), median(raw), median(plain), predicted, slices.Max(f.rss)/(1<<20), median(f.disk)/(1<<20))
		if err := out.Flush(); err != nil {
			return err
		}
		if m := median(speed); m < floor {
			failed = append(failed, fmt.Sprintf("%s: bulk is %.1f× Kafka Streams, the floor is %d×", s.name, m, floor))
		} else if m < s.aim {
			fmt.Printf("  below the aim: %.1f× of %.0f×\n", m, s.aim)
		}
		if s.raw > 0 && median(raw) < s.raw {
			fmt.Printf("  below the aim: %.2f of the raw rate, asked %.2f\n", median(raw), s.raw)
		}
		if s.near {
			if m := median(predict); m < 0.75 || m > 1.25 {
				fmt.Printf("  the streams profile predicts %.2f of Kafka Streams' time, asked 0.75 to 1.25\n", m)
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

type bench struct {
	ctx     context.Context
	binary  string
	broker  *worldtest.Broker
	harness *worldtest.Harness
	client  *kafka.Client
	rounds  int
}

func (s scenario) options(n int64) worldtest.GenOptions {
	g := s.gen
	g.Topic, g.Records = "bench-"+s.name+"-st-changelog", n
	switch {
	case g.Keys < 0:
		g.Keys = n * 4
	case g.Keys == 0:
		g.Keys = max(1, n/4)
	}
	return g
}

// memoryLimit is the default budget, which peak memory is held against.
const memoryLimit = 256 << 20

// single runs what is not a race: memory and disk of one bulk restore, or the
// tail after a checkpoint against the full restore.
func (b *bench) single(s scenario, n int64) (string, error) {
	g := s.options(n)
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return "", err
	}
	if s.only {
		r, err := b.sstool(s, "bulk", "2")
		if err != nil {
			return "", err
		}
		line := fmt.Sprintf("%s: %d records, %.0f MiB fetched in %.2f s; peak memory %.0f MiB; temporary files %.2f of the changelog; store %.0f MiB", s.name,
			r.Total.Records, mib(r.Total.Wire), r.Elapsed, mib(r.Peak.Value), float64(r.Temp)/float64(r.Total.Wire), mib(r.Store))
		if r.Peak.Value > memoryLimit {
			line += "\n  above the budget of 256 MiB"
		}
		if float64(r.Temp) > 1.1*float64(r.Total.Wire) && s.gen.Codec == "" {
			line += "\n  more temporary disk than 1.1 of the changelog"
		}
		return line, nil
	}
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	full, err := b.into(s, dir)
	if err != nil {
		return "", err
	}
	g.Records, g.Seed = int64(float64(n)*s.tail), 1
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return "", err
	}
	tail, err := b.into(s, dir, "--from-checkpoint", "--yes")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: full restore of %d records %.2f s, tail of %d records from the checkpoint %.2f s: %.1f %%", s.name,
		full.Total.Records, full.Elapsed, tail.Total.Records, tail.Elapsed, 100*tail.Elapsed/full.Elapsed), nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func (b *bench) into(s scenario, dir string, more ...string) (report, error) {
	return b.run(append([]string{"restore", "--into", dir, "--bootstrap-server", b.broker.Bootstrap, "--application-id", "bench-" + s.name, "--store", "st",
		"--kind", s.gen.Kind, "--subtopology", "0", "--processing-guarantee", "at_least_once", "--target-kafka", worldtest.Newest, "-o", "json"}, more...))
}

func (b *bench) scenario(s scenario, n int64) (f figures, records int64, err error) {
	o := worldtest.RestoreTimeOptions{Bootstrap: b.broker.Bootstrap, App: "bench-" + s.name, Partitions: max(1, s.gen.Partitions), Kind: s.gen.Kind}
	g := s.options(n)
	made, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g)
	if err != nil {
		return f, 0, err
	}
	if _, _, err := b.client.RawConsume(b.ctx, g.Topic); err != nil { // into the page cache
		return f, 0, err
	}
	for range b.rounds {
		start := time.Now()
		if _, _, err := b.client.RawConsume(b.ctx, g.Topic); err != nil {
			return f, 0, err
		}
		f.raw = append(f.raw, time.Since(start).Seconds())
		start = time.Now()
		if _, err := worldtest.PlainConsume(b.ctx, b.broker.Bootstrap, g.Topic); err != nil {
			return f, 0, err
		}
		f.plain = append(f.plain, time.Since(start).Seconds())
		bulk, err := b.sstool(s, "bulk", "2")
		if err != nil {
			return f, 0, err
		}
		f.bulk = append(f.bulk, bulk.Elapsed)
		f.rss = append(f.rss, float64(bulk.Peak.Value))
		f.disk = append(f.disk, float64(bulk.Store))
		if s.near {
			predicted, err := b.sstool(s, "streams", "1") // num.stream.threads is 1
			if err != nil {
				return f, 0, err
			}
			f.predict = append(f.predict, predicted.Estimate.Seconds)
		}
		own, err := b.harness.RestoreTime(b.ctx, o)
		if err != nil {
			return f, 0, err
		}
		f.streams = append(f.streams, own.RestoreSeconds)
	}
	return f, made.Records, nil
}

type report struct {
	Elapsed  float64 `json:"elapsed_seconds"`
	Estimate struct {
		Seconds float64 `json:"seconds"`
	} `json:"application_estimate"`
	Store int64 `json:"store_bytes"`
	Temp  int64 `json:"temporary_bytes"`
	Total struct {
		Records int64 `json:"records"`
		Wire    int64 `json:"wire_bytes"`
	} `json:"total"`
	Peak struct {
		Value int64 `json:"value"`
	} `json:"peak_memory_bytes"`
	Snapshot struct {
		PullSeconds float64 `json:"pull_seconds"`
		Tail        int64   `json:"tail_records"`
	} `json:"snapshot"` // of a restore from snapshots
}

// sstool measures with the program itself, as a user would.
func (b *bench) sstool(s scenario, profile, threads string) (report, error) {
	args := []string{"restore", "--measure", "--bootstrap-server", b.broker.Bootstrap, "--application-id", "bench-" + s.name,
		"--store", "st", "--kind", s.gen.Kind, "--target-kafka", worldtest.Newest, "--profile", profile, "--threads", threads, "-o", "json"}
	switch s.gen.Kind {
	case "timestamped-window", "session":
		args = append(args, "--retention", "1h", "--segment-interval", "30m", "--as-target")
	case "versioned":
		args = append(args, "--history-retention", "1h", "--segment-interval", "5m")
	}
	return b.run(args)
}

func (b *bench) run(args []string) (r report, err error) {
	path, err := filepath.Abs(b.binary)
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(b.ctx, path, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("sstool %s: %w", strings.Join(args, " "), err)
	}
	return r, json.Unmarshal(out, &r)
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}
