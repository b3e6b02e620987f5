package worldtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// classpath compiles one Maven project of testdata/world for a Kafka version
// and returns the class path that runs it. The result is kept by the content
// of the sources; a lock lets several test binaries ask at once.
func classpath(project, version string, mavenArgs ...string) (string, error) {
	source, err := projectDir(project)
	if err != nil {
		return "", err
	}
	sum, err := hashTree(source, version, mavenArgs)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", source, err)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, fmt.Sprintf("%s-%s-%s", project, version, sum))
	jar := filepath.Join(dir, "target", project+"-1.jar")
	path := jar + string(os.PathListSeparator) + filepath.Join(dir, "target", "lib", "*")

	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err == nil {
		return path, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return "", fmt.Errorf("copy %s: %w", source, err)
	}
	args := append([]string{"-q", "-B", "-Dkafka.version=" + version}, mavenArgs...)
	cmd := exec.Command("mvn", append(args, "package")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s", cmd, dir, err, out)
	}
	return path, os.WriteFile(done, nil, 0o644)
}

// projectDir finds testdata/world from this file's own place, so that tests of
// any package and benchmarks started anywhere find it.
func projectDir(project string) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "..", "..", "testdata", "world", project)
	if _, err := os.Stat(filepath.Join(dir, "pom.xml")); err != nil {
		// With -trimpath the file name is no path: fall back to the module above.
		for up, _ := os.Getwd(); up != filepath.Dir(up); up = filepath.Dir(up) {
			dir = filepath.Join(up, "testdata", "world", project)
			if _, err := os.Stat(filepath.Join(dir, "pom.xml")); err == nil {
				return dir, nil
			}
		}
		return "", fmt.Errorf("testdata/world/%s not found: %w", project, err)
	}
	return dir, nil
}

func cacheDir() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(base, "sstool", "world")
	return dir, os.MkdirAll(dir, 0o755)
}

func hashTree(root, version string, args []string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", version, args)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", strings.TrimPrefix(path, root), len(content))
		h.Write(content)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// lock takes an exclusive lock on path, waiting for other processes.
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
