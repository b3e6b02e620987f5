package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sstool/internal/lsm/lsmtest"
)

// TestWithoutRights reads what another user may not: that is neither damage nor
// nothing there.
func TestWithoutRights(t *testing.T) {
	if rocksVersion() != "" {
		t.Skip("another user may not reach the RocksDB library of this build; the suite without cgo runs this")
	}
	dir := publicDir(t)
	exe := filepath.Join(dir, "sstool")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	_, from := lsmtest.Unpack(t, "4.0.2-opt-alos")
	app := filepath.Join(dir, "w402-mini-opt-alos")
	if err := os.CopyFS(app, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(app, "0_0"), 0o755) })
	for _, secret := range []string{"0_0", "0_1/.checkpoint", "0_1/rocksdb/j/CURRENT", "0_1/rocksdb/src-tbl/MANIFEST-000005"} {
		if err := os.Chmod(filepath.Join(app, secret), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
	}{
		{"inspect APP", 4}, {"inspect sst APP", 4}, {"inspect tombstones APP", 4}, {"inspect levels APP", 4}, {"inspect offsets APP", 4},
		{"inspect sst APP/0_0", 4}, {"inspect levels APP --task 0_2 --store j", 0}, {"inspect APP/0_0/rocksdb", 1},
		{"scan APP --store j --count", 1}, {"scan APP --store j --count --task 0_2", 0}, {"scan APP/0_1/rocksdb/src-tbl", 1},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "APP", app))
		cmd := &exec.Cmd{Path: exe, Args: append([]string{"sstool"}, args...), Env: []string{"HOME=/nonexistent"}}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.args, got, c.code, out.String())
		}
		if c.code != 0 && (!strings.Contains(text, "permission denied") || !strings.Contains(text, "run it as the user the application runs as")) {
			t.Errorf("%s: does not say what to do\n%s", c.args, out.String())
		}
		for _, wrong := range []string{"damaged", "restore the", "is restored from the start", "left by a clean-up", "nothing was flushed"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: says %q\n%s", c.args, wrong, out.String())
			}
		}
	}
}

// publicDir is a temporary directory that every user may search.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sstool-rights-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
