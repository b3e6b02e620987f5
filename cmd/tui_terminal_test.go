package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/terminal"
)

// inTerminal runs this test binary as sstool in a real terminal. When it has
// ended, the terminal says how it finds itself.
func inTerminal(t *testing.T, w, h int, args string) *terminal.Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no real terminal: install tmux")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("export HOME=%s XDG_STATE_HOME= XDG_CONFIG_HOME=; (exec -a sstool %s %s); echo code $?, $(stty -a | grep -o -w -e '-\\?icanon' -e '-\\?echo'); sleep 60", dir, exe, args)
	file := filepath.Join(dir, "run")
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	x, err := terminal.Start(w, h, "bash "+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// steps are carried out one after the other.
func steps(t *testing.T, list ...error) {
	t.Helper()
	for _, err := range list {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealTerminal: mouse, clipboard and sizes, in a terminal that has them.
func TestRealTerminal(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-opt-alos")
	x := inTerminal(t, 80, 24, "tui "+filepath.Dir(app))
	steps(t, x.Until("src-tbl"))
	text, err := x.Text()
	steps(t, err)
	rows := strings.Split(text, "\n")[4:]
	cursor := func(row int) { // its line has a background
		t.Helper()
		var screen string
		for range 1200 {
			screen, err = x.Colours()
			steps(t, err)
			lines := strings.Split(screen, "\n")[4:]
			if strings.Contains(lines[row], "48;") && strings.Contains(lines[row], strings.Fields(rows[row])[1]) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the cursor is not on row %d:\n%s", row, screen)
	}
	steps(t, x.Click(5, 4+2))
	cursor(2)
	steps(t, x.Wheel(true))
	cursor(3)
	steps(t, x.Wheel(false), x.Press("y"), x.Until("as JSON"), x.Press("c"), x.Until("command line copied"))
	copied, err := x.Clipboard()
	steps(t, err)
	if !strings.HasPrefix(copied, "sstool inspect "+filepath.Dir(app)) {
		t.Errorf("the clipboard has %q", copied)
	}
	steps(t, x.Click(5, 4+2), x.Until("overview"), x.Click(14, 2), x.Until("sorted run"), x.Press("Escape"))

	steps(t, x.Resize(200, 50), x.Until("column family:")) // the pane beside the table
	steps(t, x.Resize(30, 8), x.Until("needs 40×10"), x.Resize(1, 1), x.Resize(2, 1), x.Resize(400, 100), x.Until("column family:"))
	for i := range 60 { // faster than it draws
		steps(t, x.Resize(20+i*5, 5+i))
	}
	steps(t, x.Resize(80, 24), x.Until("Enter open"))
	steps(t, x.Press("q"), x.Until("code 0, icanon echo"))
	plainTerminal(t, x)
}

// plainTerminal holds that the terminal is as it was before.
func plainTerminal(t *testing.T, x *terminal.Terminal) {
	t.Helper()
	for name, want := range map[string]string{"alternate_on": "0", "mouse_any_flag": "0", "cursor_flag": "1"} {
		if got, err := x.State(name); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
}

// TestTerminalIsRestored: whatever ends the dashboard, the terminal is as it
// was, and the exit code says how it went.
func TestTerminalIsRestored(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-opt-alos")
	for _, tt := range []struct {
		signal syscall.Signal
		guard  bool // else the process that draws
		both   bool
		want   string
	}{
		{syscall.SIGKILL, false, false, "code 1,"},
		{syscall.SIGQUIT, false, false, "code 1,"}, // the Go runtime ends as after a panic
		{syscall.SIGTERM, false, false, "code 130,"},
		{syscall.SIGTERM, true, false, "code 130,"},
		{syscall.SIGHUP, true, false, "code 130,"},
		{syscall.SIGTERM, true, true, "code 130,"},
		{syscall.SIGHUP, true, true, "code 130,"},
		{syscall.SIGKILL, true, false, ""}, // the shell speaks while the other process still draws
	} {
		t.Run(fmt.Sprintf("%v guard=%v both=%v", tt.signal, tt.guard, tt.both), func(t *testing.T) {
			x := inTerminal(t, 80, 24, "tui "+filepath.Dir(app))
			steps(t, x.Until("src-tbl"))
			if on, err := x.State("alternate_on"); err != nil || on != "1" {
				t.Fatalf("alternate screen %s, %v", on, err)
			}
			shell, err := x.State("pane_pid")
			steps(t, err)
			pid := child(t, shell)
			drawing := child(t, pid)
			if !tt.guard {
				pid = drawing
			}
			n, err := strconv.Atoi(pid)
			steps(t, err)
			if tt.both {
				m, err := strconv.Atoi(drawing)
				steps(t, err, syscall.Kill(m, tt.signal))
			}
			if err := syscall.Kill(n, tt.signal); !tt.both || !errors.Is(err, syscall.ESRCH) { // it may have ended with the other
				steps(t, err)
			}
			for range 1200 { // without its guard it ends a moment later
				if _, err := os.Stat("/proc/" + drawing); err != nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if tt.want != "" {
				steps(t, x.Until(tt.want), x.Until("icanon echo"))
			}
			plainTerminal(t, x)
			if tt.want == "code 1," {
				steps(t, x.Until("ended abnormally"))
			}
		})
	}
}

// child is the only child of a process.
func child(t *testing.T, pid string) string {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("processes are not told here")
	}
	var fields []string
	for _, file := range lists {
		list, _ := os.ReadFile(file) // a thread may be gone
		fields = append(fields, strings.Fields(string(list))...)
	}
	if len(fields) != 1 {
		t.Fatalf("process %s has children %v", pid, fields)
	}
	return fields[0]
}

// TestDemoIsGuarded: the dashboard on the demo's data has the same guard.
func TestDemoIsGuarded(t *testing.T) {
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	x := inTerminal(t, 80, 24, "demo --tui --records 1000")
	steps(t, x.Until("order-dedup"))
	shell, err := x.State("pane_pid")
	steps(t, err)
	n, err := strconv.Atoi(child(t, child(t, shell)))
	steps(t, err, syscall.Kill(n, syscall.SIGKILL), x.Until("ended abnormally"), x.Until("code 1, icanon echo"))
	plainTerminal(t, x)
}
