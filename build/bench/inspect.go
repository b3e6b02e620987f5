package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// duel is one thing done by sstool and by another program, in turn.
type duel struct {
	what, other   string
	own, theirs   func() (timing, error)
	aim           float64 // times as fast
	memory        int64   // bytes that sstool may take; 0: not asked
	ours, against []float64
	peak          int64
}

// timing is a run's wall time and, for a process, its peak memory.
type timing struct {
	seconds float64
	peak    int64
}

// inspect makes a store of a gigabyte and reads it with sstool and with
// RocksDB's own means, page cache warm.
func (b *bench) inspect(records int64) error {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := scenario{name: "inspect", gen: worldtest.GenOptions{Kind: "timestamped-kv", Keys: -1}}
	g := s.options(records)
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return err
	}
	made, err := b.into(s, dir)
	if err != nil {
		return err
	}
	store := filepath.Join(dir, "bench-inspect", "0_0", "rocksdb", "st")
	key, err := someKey(store)
	if err != nil {
		return err
	}
	fmt.Printf("inspect: a store of %d records, %.0f MiB\n", made.Total.Records, mib(made.Store))
	duels := []*duel{
		{what: "verify every block, count every entry", other: "sst_dump --command=check", aim: 3, memory: 128 << 20,
			own:    func() (timing, error) { return b.command(b.binary, "inspect", "sst", "--verify", store, "-o", "jsonl") },
			theirs: func() (timing, error) { return b.command("sst_dump", "--command=check", "--file="+store) }},
		{what: "merged scan of live rows", other: "a RocksDB iterator driven from Go", aim: 3,
			own: func() (timing, error) {
				return timed(func() error { return lsm.Rows(store, streams.TimestampFamily, keep) })
			},
			theirs: func() (timing, error) {
				db, err := rocks.Open(store, rocks.Options{})
				if err != nil {
					return timing{}, err
				}
				defer db.Close()
				return timed(func() error { return db.Iterate(max(slices.Index(db.Families(), streams.TimestampFamily), 0), keep) })
			}},
		{what: "scan -o jsonl to a file", other: "ldb scan --hex to a file", aim: 5, memory: 128 << 20,
			own: func() (timing, error) {
				return b.command(b.binary, "scan", store, "-o", "jsonl")
			},
			theirs: func() (timing, error) {
				return b.command("ldb", "--db="+store, "--hex", "--column_family="+streams.TimestampFamily, "--ignore_unknown_options", "scan")
			}},
		{what: "inspect changelog", other: "the raw consume (rate)", aim: 0.5, memory: 256 << 20,
			own: func() (timing, error) {
				return b.command(b.binary, "inspect", "changelog", g.Topic, "--bootstrap-server", b.broker.Bootstrap)
			},
			theirs: func() (timing, error) {
				return timed(func() error { _, _, err := b.client.RawConsume(b.ctx, g.Topic); return err })
			}},
		{what: "get one key, a process of its own", other: "50 ms", aim: 1,
			own: func() (timing, error) {
				return b.command(b.binary, "get", store, "--key", "hex", fmt.Sprintf("%x", key))
			},
			theirs: func() (timing, error) { return timing{seconds: 0.05}, nil }},
	}
	for round := range b.rounds + 1 { // the first brings everything into the page cache
		for _, d := range duels {
			if err := d.fight(round > 0); err != nil {
				return fmt.Errorf("%s: %w", d.what, err)
			}
		}
	}
	for _, d := range duels {
		d.print()
	}
	return nil
}

func keep(_, _ []byte) error { return nil }

// errFound ends a scan.
var errFound = errors.New("found")

// someKey is a key from the middle of the store.
func someKey(store string) (key []byte, err error) {
	n := 0
	err = lsm.Rows(store, streams.TimestampFamily, func(k, _ []byte) error {
		if n++; n < 1_000_000 {
			return nil
		}
		key = bytes.Clone(k)
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return key, err
}

func timed(fn func() error) (timing, error) {
	start := time.Now()
	err := fn()
	return timing{seconds: time.Since(start).Seconds()}, err
}

// command runs a program with its output in a file.
func (b *bench) command(name string, args ...string) (timing, error) {
	out, err := os.CreateTemp("", "sstool-bench-")
	if err != nil {
		return timing{}, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, &stderr
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return timing{}, err
	}
	done := make(chan struct{})
	peak := make(chan int64)
	go watchMemory(cmd.Process.Pid, done, peak)
	err = cmd.Wait()
	t := timing{seconds: time.Since(begun).Seconds()}
	close(done)
	if t.peak = <-peak; err != nil {
		return t, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return t, nil
}

// watchMemory looks at a process's peak memory until done. What wait4 tells
// would include what this program held when it forked.
func watchMemory(pid int, done <-chan struct{}, peak chan<- int64) {
	var most int64
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			peak <- most
			return
		case <-tick.C:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		var kib int64
		if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
			if _, err := fmt.Sscan(after, &kib); err == nil {
				most = max(most, kib<<10)
			}
		}
	}
}

func (d *duel) fight(counts bool) error {
	own, err := d.own()
	if err != nil {
		return err
	}
	theirs, err := d.theirs()
	if errors.Is(err, exec.ErrNotFound) {
		return nil // said at the end
	}
	if err != nil {
		return err
	}
	d.peak = max(d.peak, own.peak)
	if counts {
		d.ours, d.against = append(d.ours, own.seconds), append(d.against, theirs.seconds)
	}
	return nil
}

func (d *duel) print() {
	if len(d.ours) == 0 {
		fmt.Printf("  %s: not compared with %s: it is not installed (Debian, Ubuntu: apt-get install rocksdb-tools)\n", d.what, d.other)
		return
	}
	ratio := median(ratios(d.against, d.ours))
	fmt.Printf("  %s: %.3f s; %s: %.3f s; ratio %.2f", d.what, median(d.ours), d.other, median(d.against), ratio)
	if d.peak > 0 {
		fmt.Printf("; peak memory %.0f MiB", mib(d.peak))
	}
	fmt.Println()
	if ratio < d.aim {
		fmt.Printf("    below the aim of %.1f\n", d.aim)
	}
	if d.memory > 0 && d.peak > d.memory {
		fmt.Printf("    above %.0f MiB\n", mib(d.memory))
	}
}
