// Command screens drives the real dashboard in a real terminal (tmux) through
// its main paths and keeps what the screen shows: as text, and as SVG for the
// documentation. It fails when a screen does not come.
//
//	go run ./build/screens -sstool bin/sstool -out docs/screens
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// shot is a screen: the keys that lead to it from the one before, what it must
// show, and what it is called.
type shot struct {
	keys []string
	want string
	name string // "": passed by
	svg  bool
}

// tour is the way through the dashboard of sstool demo --tui.
func tour() []shot {
	return []shot{
		{nil, "account-payment-total", "", false},
		{[]string{"=wait"}, "lag ", "stores", true},
		{[]string{"Enter"}, "overview", "overview", false},
		{[]string{"2"}, "sorted run", "levels", false},
		{[]string{"3"}, ".sst", "files", false},
		{[]string{"4"}, "tombstones of", "tombstones", false},
		{[]string{"5"}, "rows, keys", "rows", false},
		{[]string{"6"}, "VERDICT", "offsets", true},
		{[]string{"7"}, "Why it is as large", "changelog", false},
		{[]string{"8"}, "since", "history", false},
		{[]string{"Escape", ":", "topology", "Enter"}, "Sub-topology 0", "topology", false},
		{[]string{"Escape", ":", "lint", "Enter"}, "not checked", "lint", false},
		{[]string{"Escape", ":", "restore", "Enter"}, "go ahead", "restore-plan", false},
		{[]string{"y", "=soon"}, "At work", "restore", true},
		{nil, "done in", "restore-done", false},
		{[]string{"Escape", ":", "log", "Enter"}, "done in", "log", false},
		{[]string{"Escape", "?"}, "type a command", "help", false},
	}
}

type terminal struct {
	socket string
}

func (t *terminal) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-L", t.socket}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// until waits for the screen to show want.
func (t *terminal) until(want string) error {
	last := ""
	for range 600 {
		s, err := t.tmux("capture-pane", "-p")
		if err != nil {
			return err
		}
		if last = s; strings.Contains(s, want) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the screen never shows %q:\n%s", want, last)
}

func drive(sstool, out string, w, h int, records string) error {
	t := &terminal{fmt.Sprintf("sstool-screens-%d-%d", os.Getpid(), w)}
	command := fmt.Sprintf("env LANG=C.UTF-8 TERM=tmux-256color COLORTERM=truecolor %s demo --tui --records %s", sstool, records)
	if _, err := t.tmux("new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), command); err != nil {
		return err
	}
	defer func() { _, _ = t.tmux("kill-server") }()
	for _, s := range tour() {
		for _, k := range s.keys {
			if k == "=wait" { // until something came in
				time.Sleep(9 * time.Second)
				continue
			}
			if k == "=soon" {
				time.Sleep(2 * time.Second)
				continue
			}
			if _, err := t.tmux("send-keys", k); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
		}
		if err := t.until(s.want); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		if s.name == "" {
			continue
		}
		name := fmt.Sprintf("%s-%dx%d", s.name, w, h)
		text, err := t.tmux("capture-pane", "-p")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
		if s.svg {
			colours, err := t.tmux("capture-pane", "-p", "-e")
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(out, name+".svg"), []byte(svg(colours, w, h)), 0o644); err != nil {
				return err
			}
		}
	}
	_, err := t.tmux("send-keys", "Escape", "q")
	return err
}

func main() {
	sstool := flag.String("sstool", "bin/sstool", "the program")
	out := flag.String("out", "docs/screens", "where the screens go")
	records := flag.String("records", "1000000", "size of the demo")
	flag.Parse()
	path, err := filepath.Abs(*sstool)
	if err == nil {
		err = os.MkdirAll(*out, 0o755)
	}
	if err == nil {
		err = drive(path, *out, 80, 24, *records)
	}
	if err == nil {
		err = drive(path, *out, 200, 50, *records)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screens:", err)
		os.Exit(1)
	}
}
