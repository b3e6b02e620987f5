//go:build cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeBuild builds sstool as a user with a RocksDB of his own does, moves
// the folder, and runs it.
func TestMakeBuild(t *testing.T) {
	cached := needMake(t)
	before := filepath.Join(t.TempDir(), "before")
	// The cache folder is laid out as an installed RocksDB is; with another
	// one grocksdb would be compiled again, which takes half a minute.
	runMake(t, cached.Root, "build", "BIN="+before)
	after := filepath.Join(t.TempDir(), "moved here")
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(after, "sstool"), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), rocksVersion) {
		t.Errorf("version: %v\n%s", err, out)
	}
	// It is the library beside it that was loaded, not the one it was linked with.
	if err := os.Remove(filepath.Join(after, libraryName())); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command(filepath.Join(after, "sstool"), "version").CombinedOutput(); err == nil {
		t.Errorf("runs without the library beside it:\n%s", out)
	}
}

// TestOwnRocksDBIsLinked points ROCKSDB_DIR at a copy, and a program that is
// built with what `make env` prints runs with that copy.
func TestOwnRocksDBIsLinked(t *testing.T) {
	cached := needMake(t)
	dir := filepath.Join(t.TempDir(), "my rocksdb")
	for _, d := range []string{"include/rocksdb", "lib"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		filepath.Join(cached.Include, "rocksdb", "c.h"): "include/rocksdb/c.h",
		cached.File: filepath.Join("lib", libraryName()),
	} {
		if err := copyFile(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	env := runMake(t, dir, "env")
	for line := range strings.Lines(env) {
		if !strings.HasPrefix(line, "export ") {
			t.Errorf("not an export line: %q", line)
		}
	}
	cmd := exec.Command("sh", "-c", env+"\nexec go run ./testdata/link")
	cmd.Env = cleanEnv("")
	out, err := cmd.CombinedOutput()
	if want := filepath.Join(dir, "lib", libraryName()); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("loaded from %s (%v), want %s", out, err, want)
	}
}

func TestMakeSaysWhatIsWrongWithROCKSDBDIR(t *testing.T) {
	needMake(t)
	dir := t.TempDir()
	cmd := makeCommand(dir, "env")
	out, err := cmd.CombinedOutput()
	first, _, _ := strings.Cut(string(out), "\n")
	if err == nil || first != "sstool build: ROCKSDB_DIR="+dir+": there is no include/rocksdb/c.h in it" {
		t.Errorf("%v\n%s", err, out)
	}
}

// needMake skips without make and returns the cached RocksDB.
func needMake(t *testing.T) *library {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is missing")
	}
	t.Setenv("ROCKSDB_DIR", "")
	cached, err := locate()
	if err != nil {
		t.Fatal(err)
	}
	return cached
}

// runMake runs make in the repository and returns its output.
func runMake(t *testing.T, rocksdb string, args ...string) string {
	t.Helper()
	cmd := makeCommand(rocksdb, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make %v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

func makeCommand(rocksdb string, args ...string) *exec.Cmd {
	cmd := exec.Command("make", append([]string{"-C", filepath.Join("..", ".."), "--no-print-directory"}, args...)...)
	cmd.Env = cleanEnv(rocksdb)
	return cmd
}

// cleanEnv is the environment without what the make that runs the tests, or
// its `make env`, has put into it.
func cleanEnv(rocksdb string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "CGO_") && !strings.HasPrefix(v, "ROCKSDB_DIR=") {
			env = append(env, v)
		}
	}
	if rocksdb != "" {
		env = append(env, "ROCKSDB_DIR="+rocksdb)
	}
	return env
}
