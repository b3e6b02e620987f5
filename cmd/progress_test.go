package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

// show runs events through a progress face and returns what it wrote.
func show(t *testing.T, mode string, tty bool, env map[string]string, events ...op.Event) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{io: IO{Err: &out, ErrTTY: tty, Width: 200, Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }}}
	p := a.startProgress(progressFlag{mode})
	for _, e := range events {
		p.sink(e)
	}
	p.close()
	return out.String()
}

func TestProgressModes(t *testing.T) {
	events := []op.Event{
		{Type: op.Phase, Name: "replay"},
		{Type: op.Warning, Name: "t-0", Message: "log start\x1b[2J moved"},
		{Type: op.Item, Name: "t-1", Err: "corrupt batch"},
		{Type: op.Progress, Done: 50, Total: 100, Unit: "records", Rate: 12345, ETA: 4 * time.Second},
		{Type: op.Summary, Message: "end"},
	}
	for _, c := range []struct {
		mode string
		tty  bool
		env  map[string]string
		want []string
		not  []string
	}{
		{"none", true, nil, []string{"warning: \x1b[0mt-0: log start\\x1b[2J moved", "failed: \x1b[0mt-1: corrupt batch"}, []string{"50 %"}},
		{"auto", false, nil, []string{"warning: t-0: log start\\x1b[2J moved\nfailed: t-1: corrupt batch\n"}, []string{"\x1b", "50 %"}},
		{"auto", true, nil, []string{"\r\x1b[Kreplay  [============            ]  50 %  50/100 records  12k/s  ETA 4s"}, nil},
		{"auto", true, map[string]string{"TERM": "dumb"}, []string{"warning: t-0"}, []string{"\r", "\x1b", "50 %"}},
		{"auto", true, map[string]string{"NO_COLOR": "1"}, []string{"warning: t-0"}, []string{"\x1b[33m"}},
		{"text", false, nil, []string{"replay\n", "50/100 records"}, []string{"\r", "\x1b"}},
		{"json", true, nil, []string{`{"type":"warning","name":"t-0"`, `{"type":"progress"`, `{"type":"summary"`}, []string{"\r", "warning: "}},
	} {
		got := show(t, c.mode, c.tty, c.env, events...)
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s tty=%v %v: no %q in %q", c.mode, c.tty, c.env, w, got)
			}
		}
		for _, n := range c.not {
			if strings.Contains(got, n) {
				t.Errorf("%s tty=%v %v: %q in %q", c.mode, c.tty, c.env, n, got)
			}
		}
	}
}

// stuckWriter blocks until it is let go.
type stuckWriter struct {
	bytes.Buffer
	gate chan struct{}
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(b)
}

func TestSlowTerminalDoesNotSlowTheEngineAndLosesNoWarning(t *testing.T) {
	w := &stuckWriter{gate: make(chan struct{})}
	a := &app{io: IO{Err: w}}
	p := a.startProgress(progressFlag{"json"})
	const n = 1000
	for i := range n { // would never return if sink waited for the writer
		p.sink(op.Event{Type: op.Progress, Done: int64(i)})
		p.sink(op.Event{Type: op.Warning, Message: fmt.Sprintf("w%d.", i)})
	}
	close(w.gate)
	p.close()
	got := w.String()
	for i := range n {
		if !strings.Contains(got, fmt.Sprintf(`"w%d."`, i)) {
			t.Fatalf("warning %d is lost", i)
		}
	}
	if c := strings.Count(got, `"progress"`); c == 0 || c > n/2 {
		t.Errorf("%d progress lines of %d: want the newest only", c, n)
	}
}

func TestFlushLeavesNoLineAndTheNextEventShows(t *testing.T) {
	var out bytes.Buffer
	a := &app{io: IO{Err: &out, ErrTTY: true}}
	p := a.startProgress(progressFlag{"auto"})
	p.sink(op.Event{Type: op.Progress, Done: 1, Unit: "records"})
	p.flush()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("a progress line is left: %q", out.String())
	}
	p.sink(op.Event{Type: op.Warning, Message: "late"})
	p.close()
	if !strings.Contains(out.String(), "late\n") {
		t.Errorf("a warning after flush is lost: %q", out.String())
	}
}

// TestNarrowProgressKeepsTheTimeLeft: whatever the width, the time left and the
// share are there, in one line.
func TestNarrowProgressKeepsTheTimeLeft(t *testing.T) {
	e := op.Event{Type: op.Progress, Done: 123_456_789, Total: 999_999_999, Unit: "records", Bytes: 5 << 30, Rate: 456_789, ETA: 754 * time.Second, Message: "orders-account-payment-total-changelog-0"}
	began := time.Now()
	for _, c := range []struct {
		width int
		want  string
	}{
		{200, "replaying changelogs  [==                      ]  12 %  123,456,789/999,999,999 records  457k/s  536.9 MB/s  ETA 12m34s  orders-account-payment-total-changelog-0"},
		{80, "replaying   12 %  123,456,789/999,999,999 records  457k/s  ETA 12m34s"},
		{40, "replaying   12 %  457k/s  ETA 12m34s"},
		{20, "12 %  ETA 12m34s"},
	} {
		p := &progress{width: c.width, phase: "replaying changelogs", began: began}
		got := p.line(e, began.Add(10*time.Second), c.width-1)
		if got != c.want || len(got) >= c.width {
			t.Errorf("width %d: %q\nwant %q", c.width, got, c.want)
		}
	}
}
