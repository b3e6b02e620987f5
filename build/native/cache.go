package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// cache is the folder where the fetched library lives between builds.
type cache struct {
	base   string // the folder of all versions
	name   string // this version and platform
	pin    pin
	header string // c.h to go with it
	fetch  func(p pin, tmp string) (jar string, err error)
}

// ensure returns the cached library, fetching and checking it when it is not
// there or damaged. Any number of processes may call it at once: one fetches,
// the others wait and find it.
func (c cache) ensure() (*library, error) {
	if err := os.MkdirAll(c.base, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(c.base, ".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()

	dir := filepath.Join(c.base, c.name)
	lib := &library{Root: dir, Include: filepath.Join(dir, "include"), File: filepath.Join(dir, "lib", libraryName())}
	if c.valid(lib) {
		return lib, nil
	}
	tmp, err := os.MkdirTemp(c.base, ".fetch-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if err := c.build(filepath.Join(tmp, "new"), tmp); err != nil {
		return nil, err
	}
	// A damaged folder steps aside whole, so that no build ever sees half of it.
	if err := os.Rename(dir, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.Rename(filepath.Join(tmp, "new"), dir); err != nil {
		return nil, err
	}
	return lib, nil
}

// valid says whether the folder holds exactly what the pins and go.mod ask for.
func (c cache) valid(lib *library) bool {
	want, err := os.ReadFile(c.header)
	if err != nil {
		return false
	}
	have, err := os.ReadFile(filepath.Join(lib.Include, "rocksdb", "c.h"))
	if err != nil || !bytes.Equal(want, have) {
		return false
	}
	if runtime.GOOS == "darwin" {
		// Signing rewrites the library after its hash was checked.
		mark, err := os.ReadFile(lib.File + ".sha256")
		_, serr := os.Stat(lib.File)
		return err == nil && serr == nil && string(mark) == c.pin.fileSHA256
	}
	data, err := os.ReadFile(lib.File)
	return err == nil && hash(data) == c.pin.fileSHA256
}

// build lays the library out in dir, using tmp for what is thrown away.
func (c cache) build(dir, tmp string) error {
	jar, err := c.fetch(c.pin, tmp)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(jar)
	if err != nil {
		return err
	}
	if h := hash(data); h != c.pin.jarSHA256 {
		return fmt.Errorf("%s has SHA-256 %s, expected %s: it is not the file this build was checked with; remove it and run make again", jar, h, c.pin.jarSHA256)
	}
	lib, err := unzip(data, c.pin.file)
	if err != nil {
		return fmt.Errorf("%s: %w", jar, err)
	}
	if h := hash(lib); h != c.pin.fileSHA256 {
		return fmt.Errorf("%s in %s has SHA-256 %s, expected %s", c.pin.file, jar, h, c.pin.fileSHA256)
	}
	header, err := os.ReadFile(c.header)
	if err != nil {
		return err
	}
	for _, d := range []string{filepath.Join(dir, "include", "rocksdb"), filepath.Join(dir, "lib")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(dir, "include", "rocksdb", "c.h"), header, 0o644); err != nil {
		return err
	}
	file := filepath.Join(dir, "lib", libraryName())
	if err := writeFile(file, lib, 0o755); err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		return adoptDylib(file, c.pin.fileSHA256)
	}
	return nil
}

// adoptDylib makes macOS look the library up through the rpath: its install
// name is a path on the machine that built it. That breaks its signature,
// which Apple silicon insists on.
func adoptDylib(file, sum string) error {
	for _, args := range [][]string{
		{"install_name_tool", "-id", "@rpath/" + filepath.Base(file), file},
		{"codesign", "--force", "--sign", "-", file},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s (install the command line tools: xcode-select --install)", args[0], err, bytes.TrimSpace(out))
		}
	}
	return os.WriteFile(file+".sha256", []byte(sum), 0o644)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// unzip reads one file of a zip archive.
func unzip(archive []byte, name string) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// lock waits for an exclusive lock on path; the kernel drops it when the
// process dies.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// dependencyPlugin is pinned so that a build next year does what it does today.
const dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"

// fetchJar finds the jar in Maven's local repository or has Maven fetch it.
func fetchJar(p pin, tmp string) (string, error) {
	name := fmt.Sprintf("%s-%s-%s.jar", rocksArtifact, rocksVersion, p.classifier)
	if home, err := os.UserHomeDir(); err == nil {
		jar := filepath.Join(append(append([]string{home, ".m2", "repository"}, strings.Split(rocksGroup, ".")...), rocksArtifact, rocksVersion, name)...)
		if data, err := os.ReadFile(jar); err == nil && hash(data) == p.jarSHA256 {
			return jar, nil
		}
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("no Maven (mvn) and no cached RocksDB: install Maven (Debian, Ubuntu: apt-get install maven; macOS: brew install maven) or set ROCKSDB_DIR to a RocksDB of your own")
	}
	artifact := fmt.Sprintf("%s:%s:%s:jar:%s", rocksGroup, rocksArtifact, rocksVersion, p.classifier)
	fmt.Fprintf(os.Stderr, "sstool build: fetching %s with Maven, once …\n", artifact)
	cmd := exec.Command(mvn, "-q", "-B", "-Dstyle.color=never", dependencyPlugin+":copy", "-Dartifact="+artifact, "-DoutputDirectory="+tmp)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mvn could not fetch %s: %w\n%s", artifact, err, lastLines(out, 10))
	}
	return filepath.Join(tmp, name), nil
}

func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
