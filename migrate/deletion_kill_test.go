//go:build cgo

package migrate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// kills is how many runs of the program are killed, each at a random moment:
// SSTOOL_KILLS, or fifty in the matrix.
func kills(t *testing.T) int {
	if text := os.Getenv("SSTOOL_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		return 50
	}
	return 4
}

// TestTTLKilled kills the program with kill -9 while it cleans a store of a
// real application, at random moments of the time that a run takes, and runs
// it again: the application answers with exactly the young rows, and no
// tombstone was written twice.
func TestTTLKilled(t *testing.T) {
	worldtest.Require(t)
	program := filepath.Join(t.TempDir(), "sstool")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/sstool").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := worldtest.StartBroker(t, worldtest.Options{})
	h := worldtest.Streams(t, worldtest.Newest)
	stores := len(ttlStores())
	var mu sync.Mutex
	died := map[string]int{}
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		all := 0
		for _, n := range died {
			all += n
		}
		t.Logf("killed: %v", died)
		// Of a few kills most may be early or late by chance.
		if inside := all - died[beforeWork] - died[afterEnd]; inside == 0 || all >= 20 && 2*inside <= all {
			t.Errorf("%d of %d kills were in the middle of the work: %v", inside, all, died)
		}
	}()
	sem := make(chan struct{}, 3) // applications mostly wait
	for n := range kills(t) / stores {
		wg.Go(func() {
			sem <- struct{}{}
			defer func() { <-sem }()
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				for _, moment := range killApplication(t, b, h, program, n) {
					mu.Lock()
					died[moment]++
					mu.Unlock()
				}
			})
		})
	}
}

// killApplication does it with one application: one kill for each store, of
// which it says what the program was doing.
func killApplication(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, program string, n int) (died []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n)))
	id := fmt.Sprintf("kill-%d", n)
	host := worldtest.ProfileNamed("papi").App(id, b.Bootstrap, t.TempDir(), n%2 == 1)
	base := worldtest.InputBase(time.Now())
	if _, err := h.Build(ctx, host, worldtest.Input{Records: 300, Base: base}); err != nil {
		t.Fatal(err)
	}
	before, err := h.Handoff(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	cutoff := base.Add(150 * 2 * time.Second)
	want, records := map[string][]string{}, map[string]int{}
	for store, kind := range ttlStores() {
		topic := streams.ChangelogTopic(id, store)
		young, old := ages(ctx, t, b.Bootstrap, topic, cutoff.UnixMilli())
		for _, row := range before.Stores[store].Rows {
			if young[strings.Fields(row)[1]] {
				want[store] = append(want[store], row)
			}
		}
		if old < 10 || len(young) < 10 {
			t.Fatalf("%s: %d rows are old, %d young", store, old, len(young))
		}
		records[topic] = dataRecords(ctx, t, b.Bootstrap, topic) + old
		args := []string{"ttl", "--bootstrap-server", b.Bootstrap, "--application-id", id, "--store", store, "--kind", string(kind), "--state-dir", host.StateDir,
			"--before", cutoff.Format(time.RFC3339), "--processing-guarantee", guarantee(host.EOS), "--yes", "--progress", "json", "--rate", fmt.Sprint(old / 2)} // four rounds, half a second between two
		// One row, twice: then the group is empty, and how long all but the writing takes is known.
		var whole time.Duration
		for range 2 {
			begun := time.Now()
			one := append(slices.Clone(args), "--wait", "30s", "--max-rows", "1", "--ledger", filepath.Join(t.TempDir(), "one.json"))
			if out, err := exec.CommandContext(ctx, program, one...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			whole = time.Since(begun) + 1500*time.Millisecond
		}
		var said bytes.Buffer
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(whole))))
		_ = cmd.Process.Kill()
		err := cmd.Wait()
		died = append(died, moment(err, said.String()))
		if rnd.IntN(3) == 0 { // and once more
			cmd := exec.CommandContext(ctx, program, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rnd.Int64N(int64(whole))))
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
			t.Fatalf("run again: %v\n%s\nthe killed run: %s", err, out, said.String())
		}
		if got := dataRecords(ctx, t, b.Bootstrap, topic); got != records[topic] {
			t.Errorf("%s has %d records, want %d: one tombstone for each old row", topic, got, records[topic])
		}
		if left, _ := filepath.Glob(filepath.Join(host.StateDir, ".sstool", "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	report, err := h.Handoff(ctx, host)
	if err != nil || report.Error != "" {
		t.Fatal(err, report.Error)
	}
	for store, rows := range want {
		if got := report.Stores[store]; !slices.Equal(got.Rows, rows) {
			t.Errorf("%s answers %d rows, want %d", store, len(got.Rows), len(rows))
		}
	}
	return died
}

const (
	beforeWork = "before the first phase"
	afterEnd   = "after the end"
)

// moment says in which part of its work the program was killed.
func moment(err error, said string) string {
	if err == nil {
		return afterEnd
	}
	last := beforeWork
	for _, line := range strings.Split(said, "\n") {
		if _, rest, ok := strings.Cut(line, `"type":"phase","name":"`); ok {
			last, _, _ = strings.Cut(rest, `"`)
			last, _, _ = strings.Cut(last, " ")
		}
	}
	return last
}

func dataRecords(ctx context.Context, t *testing.T, bootstrap, topic string) (n int) {
	t.Helper()
	all, err := worldtest.ReadTopic(ctx, bootstrap, topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, recs := range all {
		for _, r := range recs {
			if !r.Attrs.IsControl() {
				n++
			}
		}
	}
	return n
}
