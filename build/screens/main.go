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
	"path/filepath"
	"time"

	"sstool/internal/terminal"
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
		{nil, "order-dedup", "", false},
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
		{[]string{"Escape", ":", "doctor", "Enter"}, " not measured, at ", "doctor", false},
		{[]string{"2"}, "here", "doctor-starts", false},
		{[]string{"Escape", ":", "restore", "Enter"}, "go ahead", "restore-plan", false},
		{[]string{"y", "=soon"}, "At work", "restore", true},
		{nil, "done in", "restore-done", false},
		{[]string{"Escape", ":", "log", "Enter"}, "done in", "log", false},
		{[]string{"Escape", "?"}, "type a command", "help", false},
	}
}

func drive(sstool, out string, w, h int, records string) error {
	t, err := terminal.Start(w, h, fmt.Sprintf("%s demo --tui --records %s", sstool, records))
	if err != nil {
		return err
	}
	defer t.Close()
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
			if err := t.Press(k); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
		}
		if err := t.Until(s.want); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		if s.name == "" {
			continue
		}
		name := fmt.Sprintf("%s-%dx%d", s.name, w, h)
		text, err := t.Text()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
		if s.svg {
			colours, err := t.Colours()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(out, name+".svg"), []byte(svg(colours, w, h)), 0o644); err != nil {
				return err
			}
		}
	}
	return t.Press("Escape", "q")
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
