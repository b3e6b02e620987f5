package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// start runs this test binary as sstool (see TestMain).
func start(t *testing.T, stdout *os.File, stderr io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: exe, Args: append([]string{"sstool"}, args...), Stderr: stderr, Env: append(os.Environ(), "HOME=/nonexistent", "XDG_CONFIG_HOME=")}
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// code waits for the exit code, not for ever.
func code(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(2 * time.Minute):
		t.Fatal("sstool did not end")
		return -1
	}
}

func TestFirstInterruptStopsTheCommand(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) { interrupted(t, s) })
	}
}

func interrupted(t *testing.T, s os.Signal) {
	if s == syscall.SIGHUP && signal.Ignored(s) {
		t.Skip("SIGHUP is ignored here, as under nohup, and sstool respects that")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	patient := filepath.Join(t.TempDir(), "client.properties") // it would not end by itself
	if err := os.WriteFile(patient, []byte("default.api.timeout.ms=3600000\nsocket.connection.setup.timeout.ms=3600000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := start(t, nil, &stderr, "restore", "--measure", "--application-id", "a", "--store", "s", "--bootstrap-server", l.Addr().String(), "--command-config", patient)
	conn, err := l.Accept() // a broker that never answers: the command is waiting
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd); got != 130 || !strings.Contains(stderr.String(), "stopping cleanly") {
		t.Errorf("exit code %d, stderr %q; want 130", got, stderr.String())
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// Nobody reads, and there is little room: the command gets stuck in a write,
	// where no context reaches it.
	const pipeSize = 65536
	if _, err := w.Write(make([]byte, pipeSize-4096)); err != nil {
		t.Fatal(err)
	}
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := start(t, w, stderr, "completion", "bash")
	w.Close()
	stderr.Close()
	deadline := time.Now().Add(time.Minute)
	for queued(t, r) < pipeSize {
		if time.Now().After(deadline) {
			t.Fatal("sstool did not fill the pipe")
		}
		time.Sleep(10 * time.Millisecond)
	}
	interrupt := func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	// Two signals at once may arrive as one: the first is answered.
	for lines := bufio.NewScanner(said); ; {
		if !lines.Scan() {
			t.Fatalf("the first signal is not answered: %v", lines.Err())
		}
		if strings.Contains(lines.Text(), "stopping cleanly") {
			break
		}
	}
	interrupt()
	if got := code(t, cmd); got != 130 {
		t.Errorf("exit code %d, want 130", got)
	}
}

// queued is how many bytes wait in a pipe.
func queued(t *testing.T, f *os.File) int {
	t.Helper()
	var n int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), 0x541b /* FIONREAD */, uintptr(unsafe.Pointer(&n))); errno != 0 {
		t.Fatal(errno)
	}
	return int(n)
}
