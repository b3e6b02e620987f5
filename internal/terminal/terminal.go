// Package terminal runs a program in a real terminal, tmux, types on it and
// reads its screen: for tests of the dashboard and for the tour that makes the
// documentation's screens. It knows nothing of what runs there.
package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Terminal is a tmux server with one window.
type Terminal struct{ dir string }

// Start runs a command line in a terminal of this size. The caller closes it.
func Start(w, h int, command string) (*Terminal, error) {
	dir, err := os.MkdirTemp("", "sstool-term-")
	if err != nil {
		return nil, err
	}
	t := &Terminal{dir}
	_, err = t.tmux("new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "env LANG=C.UTF-8 TERM=tmux-256color COLORTERM=truecolor "+command,
		";", "set", "-g", "mouse", "on", ";", "set", "-s", "set-clipboard", "on", ";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "remain-on-exit-format", "")
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Terminal) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", filepath.Join(t.dir, "socket")}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Press presses keys as tmux names them: a, Enter, Escape, C-r.
func (t *Terminal) Press(keys ...string) error {
	for _, k := range keys {
		if _, err := t.tmux("send-keys", k); err != nil {
			return err
		}
		if k == "Escape" {
			time.Sleep(150 * time.Millisecond) // with the next key it would be Alt and that key
		}
	}
	return nil
}

// Type sends bytes as they are.
func (t *Terminal) Type(s string) error {
	_, err := t.tmux("send-keys", "-l", s)
	return err
}

// Click presses and releases the left button on a cell, counted from 0.
func (t *Terminal) Click(x, y int) error {
	return t.Type(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1))
}

// Wheel turns the wheel by one, down or up.
func (t *Terminal) Wheel(down bool) error {
	button := 64
	if down {
		button++
	}
	return t.Type(fmt.Sprintf("\x1b[<%d;5;5M", button))
}

// Resize gives the terminal another size.
func (t *Terminal) Resize(w, h int) error {
	_, err := t.tmux("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h))
	return err
}

// Text is what the screen shows.
func (t *Terminal) Text() (string, error) { return t.tmux("capture-pane", "-p") }

// Colours is Text with the escape sequences of its colours.
func (t *Terminal) Colours() (string, error) { return t.tmux("capture-pane", "-p", "-e") }

// Clipboard is what the program copied last, by OSC 52.
func (t *Terminal) Clipboard() (string, error) { return t.tmux("show-buffer") }

// State is what tmux knows of the window under a name: alternate_on,
// mouse_any_flag, cursor_flag, pane_dead, pane_dead_status, pane_pid.
func (t *Terminal) State(name string) (string, error) {
	out, err := t.tmux("display-message", "-p", "#{"+name+"}")
	return strings.TrimSpace(out), err
}

// Until waits for the screen to show want, two minutes.
func (t *Terminal) Until(want string) error {
	last := ""
	for range 2400 {
		s, err := t.Text()
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

// Close ends the terminal and what runs in it.
func (t *Terminal) Close() {
	_, _ = t.tmux("kill-server")
	_ = os.RemoveAll(t.dir)
}
