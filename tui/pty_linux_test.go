package tui

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is a terminal of this size: the program has one end, keys are written to
// the other, and what is drawn goes to screen.
func pty(t *testing.T, w, h uint16, screen io.Writer) (program, keys *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keys.Close() })
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: h, Col: w})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	go func() { _, _ = io.Copy(screen, keys) }()
	return program, keys
}

// written counts what is drawn.
type written struct{ n atomic.Int64 }

func (w *written) Write(b []byte) (int, error) {
	w.n.Add(int64(len(b)))
	return len(b), nil
}
