package cmd

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"
)

// guardEnv marks the dashboard's own process.
const guardEnv = "SSTOOL_TUI_GUARDED"

// resetScreen leaves the alternate screen, the mouse and all modes that the
// dashboard turned on.
const resetScreen = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[>4m\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m\r\n"

// guarded runs the dashboard in a process of its own, so that whatever ends it,
// kill -9 and a crash in any goroutine included, somebody is left to restore
// the terminal. It says false when this is that process, or when none can be
// started: then the dashboard runs here.
func (a *app) guarded() (code int, done bool) {
	in, ok := a.io.In.(*os.File)
	exe, err := os.Executable()
	if !ok || err != nil || a.io.getenv(guardEnv) != "" || !slices.Equal(a.args, os.Args[1:]) {
		return 0, false
	}
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		return 0, false
	}
	child := exec.Command(exe, a.args...)
	child.Args[0] = os.Args[0] // a program of several names goes by it
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = append(os.Environ(), guardEnv+"=1")
	child.SysProcAttr = endWithParent()
	if err := child.Start(); err != nil {
		return 0, false
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		// Who stops a service or closes a terminal signals both processes; the first
		// signal must not reach the dashboard as its second.
		if s, ok := <-signals; ok {
			_ = child.Process.Signal(first(s))
		}
		for s := range signals {
			_ = child.Process.Signal(s)
		}
	}()
	err = child.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &exit) && exit.Exited() && exit.ExitCode() != crashCode:
		return exit.ExitCode(), true
	}
	_ = term.Restore(int(in.Fd()), state)
	_, _ = io.WriteString(a.io.Out, resetScreen)
	_, _ = io.WriteString(a.io.Err, "sstool: the dashboard ended abnormally ("+err.Error()+"); the terminal was restored, the log file may say more\n")
	return 1, true
}

// endedWith is the exit code of the dashboard's process, which has said why.
func endedWith(code int) error {
	if code == 0 {
		return nil
	}
	return &silentExit{code}
}

// silentExit ends with a code; what there is to say was said.
type silentExit struct{ code int }

// Error implements error.
func (e *silentExit) Error() string { return "the dashboard ended" }

// crashCode is how the Go runtime exits after a panic that nobody caught. A
// usage error has the same code and wrote nothing on the screen.
const crashCode = 2
