package worldtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RunJava compiles sources, by file name, against a version of Kafka Streams,
// runs a class of them and returns what it prints. A warning is an error.
func RunJava(ctx context.Context, version, class string, sources map[string]string, mainArgs ...string) (string, error) {
	dir, err := os.MkdirTemp("", "sstool-javac-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cp, err := CompileJava(ctx, version, dir, sources)
	if err != nil {
		return "", err
	}
	return runCommand(ctx, exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-cp", cp, class}, mainArgs...)...))
}

// CompileJava compiles sources into a directory. With the class path their
// classes run.
func CompileJava(ctx context.Context, version, dir string, sources map[string]string) (classPath string, err error) {
	cp, err := classpath("harness", version, harnessArgs(version)...)
	if err != nil {
		return "", err
	}
	classes := filepath.Join(dir, "classes")
	args := []string{"-Xlint:all,-serial", "-Werror", "-cp", cp, "-d", classes}
	for name, text := range sources {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w: %s", err, strings.ReplaceAll(string(out), dir+string(filepath.Separator), ""))
	}
	return classes + string(filepath.ListSeparator) + cp, nil
}

// SamePrint compares what a class prints with a file: by the newest version, in
// the whole matrix by all. UPDATE_GOLDEN=1 rewrites the file, by the newest.
func SamePrint(t *testing.T, class, source, file string, mainArgs ...string) {
	t.Helper()
	versions := []string{Newest}
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		versions = Versions()
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		out, err := RunJava(t.Context(), v, class, map[string]string{class + ".java": string(text)}, mainArgs...)
		if err != nil {
			t.Fatalf("Kafka Streams %s: %v", v, err)
		}
		if os.Getenv("UPDATE_GOLDEN") != "" && v == Newest {
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != out {
			t.Errorf("%s is not what Kafka Streams %s prints: %v\n%s", file, v, err, out)
		}
	}
}
