package tui

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/topology"
	"sstool/internal/worldtest"
)

// TestSoakLive is TestSoak on the real thing: the whole program on a broker and
// an application that runs, whose files come and go, with records coming in.
// Half of the time somebody presses keys.
//
//	SSTOOL_SOAK=30m SSTOOL_REAL=1 go test -v -run TestSoakLive -timeout 40m ./tui
func TestSoakLive(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SSTOOL_SOAK"))
	if err != nil {
		t.Skip("SSTOOL_SOAK=30m runs it")
	}
	worldtest.Require(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := worldtest.StartBroker(t, worldtest.Options{})
	h := worldtest.Streams(t, worldtest.Newest)
	app := worldtest.ProfileNamed("papi").App("soak", b.Bootstrap, t.TempDir(), false).Busy()
	if err := h.Start(ctx, app); err != nil {
		t.Fatal(err)
	}
	text, err := h.Describe(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(app.StateDir, "topology.txt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	models, err := topology.Load([]string{file}, nil, topology.Options{ApplicationID: app.ID})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("sstool tui %s --bootstrap-server %s --topology %s", app.StateDir, b.Bootstrap, file)
	var screen written
	terminal, keys := pty(t, 200, 50, &screen)
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{In: terminal, Out: terminal, Env: []string{"TERM=xterm-256color"}, Theme: "dark",
			Contexts: []Context{{Path: app.StateDir, Cluster: b.Bootstrap, Topologies: []topology.Model{*models[0]}, Connect: func(ctx context.Context) (*kafka.Client, error) {
				return kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
			}}}})
	}()
	var early soakGauge
	begun, base := time.Now(), worldtest.InputBase(time.Now())
	rng := rand.New(rand.NewPCG(8, 8))
	presses := []string{"j", "k", "\r", "\x1b", "1", "2", "3", "4", "5", "6", "7", "8", "d", "s", "S", "?", "\x1b", "\t", "\x12", ":tasks\r", ":stores\r", ":changelogs\r", ":remarks\r", ":topology\r", ":lint\r", ":doctor\r", ":metrics\r"}
	const span = 30 * time.Second // of pressing keys, then of looking
	for records, round := 0, 0; time.Since(begun) < length; round++ {
		last, before := time.Now(), cpuTime()
		pressing := round%2 == 0
		for time.Since(last) < span {
			if err := h.Feed(ctx, app, worldtest.Input{Records: 400, First: records, Base: base, Step: 100 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			records += 400
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
				if pressing {
					_, _ = io.WriteString(keys, presses[rng.IntN(len(presses))])
				}
			}
			select {
			case err := <-ended:
				t.Fatalf("the dashboard ended: %v", err)
			default:
			}
		}
		share := (cpuTime() - before).Seconds() / time.Since(last).Seconds()
		g := readGauge(t)
		t.Logf("%6s  pressing %-5v  cpu %4.1f %%  rss %s  heap %5.1f MiB  goroutines %d  descriptors %d  drawn %d KiB", time.Since(begun).Round(time.Second), pressing, share*100, rss(), float64(g.heap)/(1<<20), g.goroutines, g.open, screen.n.Load()>>10)
		if early.heap == 0 && time.Since(begun) > length/4 {
			early = g
		}
	}
	readGauge(t).holds(t, early)
	_, _ = io.WriteString(keys, "\x03") // leaves what is typed or asked
	time.Sleep(time.Second)
	_, _ = io.WriteString(keys, "q")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not quit")
	}
	if err := h.End(ctx, app); err != nil {
		t.Error(err)
	}
}

// cpuTime is what this process has used; the broker and the application have
// processes of their own.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the process's resident memory as the kernel says it.
func rss() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "?"
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
	if err != nil {
		return "?"
	}
	return strconv.Itoa(kib>>10) + " MiB"
}
