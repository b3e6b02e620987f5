package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildPlain builds sstool without cgo, with the Makefile's linker flags.
func buildPlain(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	exe := filepath.Join(t.TempDir(), "sstool")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X sstool/cmd.version=9.8.7 -X sstool/cmd.commit=abcdef123456", "-o", exe, "./sstool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// wallOf is how long the program takes to tell its version.
func wallOf(t *testing.T, program string) time.Duration {
	t.Helper()
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

func TestLinkerSetsVersionAndCommit(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range []string{"-X sstool/cmd.version=", "-X sstool/cmd.commit="} {
		if !strings.Contains(string(makefile), symbol) {
			t.Errorf("Makefile does not set %s", symbol)
		}
	}
	exe := buildPlain(t)
	out, err := exec.Command(exe, "version").Output()
	if err != nil || !strings.Contains(string(out), "sstool    9.8.7\n") || !strings.Contains(string(out), "commit    abcdef123456\n") {
		t.Errorf("%v: %s", err, out)
	}
	// Start-up is fast because nothing runs before main. The best of several
	// runs is compared, as other processes may have the machine, and on a slow
	// one what the go command needs for the same counts: about half.
	best, other := time.Hour, time.Hour
	for range 10 {
		best, other = min(best, wallOf(t, exe)), min(other, wallOf(t, "go"))
	}
	if best > 30*time.Millisecond && best > 8*other {
		t.Errorf("sstool version takes %v and go version %v, at most 30ms is wanted", best, other)
	}
	// What needs RocksDB says so.
	restore := exec.Command(exe, "demo")
	text, _ := restore.CombinedOutput()
	if restore.ProcessState.ExitCode() != 1 || !strings.Contains(string(text), "built without RocksDB") {
		t.Errorf("demo without RocksDB: %d %s", restore.ProcessState.ExitCode(), text)
	}
}
