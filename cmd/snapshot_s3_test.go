package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/s3test"
)

// secrets are what no output may hold.
var secrets = []string{"sstool-secret", "hunter2"}

// ownLine is what sstool itself writes to stderr, as text or as an event.
var ownLine = regexp.MustCompile(`^(sstool: |try: |warning: |\{"|  )[[:print:]…–×]*$`)

// runToEnd runs the program to its end. What it wrote to stderr is its own, and
// nothing that it wrote is a secret.
func runToEnd(t *testing.T, cmd *exec.Cmd) (code int, out, diag string) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Error(err)
		return -1, "", ""
	}
	out, diag = stdout.String(), stderr.String()
	for _, s := range secrets {
		if strings.Contains(out+diag, s) {
			t.Errorf("%v: a secret was printed: %s%s", cmd.Args, out, diag)
		}
	}
	for l := range strings.Lines(diag) {
		if !ownLine.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("%v: not a line of sstool's own: %q", cmd.Args, l)
		}
	}
	return cmd.ProcessState.ExitCode(), out, diag
}

// s3Command is the built command without anything of the machine's own.
func s3Command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable() // it is sstool as well, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "sstool"
	cmd.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir()), env...)
	return cmd
}

// TestSnapshotS3 is the whole life of snapshots in a real S3 server, from the
// command line.
func TestSnapshotS3(t *testing.T) {
	endpoint, dir := s3test.Start(t)
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	if err := lsmtest.Close(app); err != nil {
		t.Fatal(err)
	}
	id, state := filepath.Base(app), filepath.Dir(app)
	for name, at := range map[string]string{
		"as documented": s3test.URL(endpoint, "a/b"),
		"path style":    s3test.URL(endpoint, "path") + "&use_path_style=true",
		"no region":     fmt.Sprintf("s3://%s?endpoint=%s", s3test.Bucket, endpoint), // and no prefix
	} {
		t.Run(name, func(t *testing.T) {
			l := &s3Life{t, at, state, id, t.TempDir()}
			l.run(dir)
		})
	}
}

type s3Life struct {
	*testing.T
	url, state, id, dir string
}

// ok runs a command that succeeds.
func (l *s3Life) ok(args ...string) string { l.Helper(); return l.exits(0, args...) }

// exits runs a snapshot command at the URL.
func (l *s3Life) exits(want int, args ...string) string {
	l.Helper()
	code, out, diag := runToEnd(l.T, s3Command(l.T, nil, append([]string{"snapshot", args[0], l.url}, args[1:]...)...))
	if code != want {
		l.Fatalf("%v: code %d, want %d\n%s%s", args, code, want, out, diag)
	}
	return out + diag
}

func (l *s3Life) push(more ...string) string {
	l.Helper()
	return l.ok(append([]string{"push", "--state-dir", l.state, "--application-id", l.id, "-o", "json"}, more...)...)
}

func (l *s3Life) pull(want int, into string, more ...string) {
	l.Helper()
	l.exits(want, append([]string{"pull", "--application-id", l.id, "--into", filepath.Join(l.dir, into)}, more...)...)
	task := filepath.Join(l.dir, into, l.id, "0_0")
	if want != 0 {
		if _, err := os.Stat(task); err == nil {
			l.Errorf("%s: a task is in place after exit %d", into, want)
		}
		return
	}
	if got, pushed := pulledFiles(l.T, filepath.Join(l.dir, into, l.id)), pulledFiles(l.T, filepath.Join(l.state, l.id)); got != pushed {
		l.Errorf("pulled\n%s\nof\n%s", got, pushed)
	}
}

// pulledFiles are the files of an application that a snapshot holds.
func pulledFiles(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || name == "LOCK" || name == ".lock" || strings.HasPrefix(name, "LOG") || name == "kafka-streams-process-metadata" {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(path, root), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (l *s3Life) contains(out string, parts ...string) {
	l.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			l.Errorf("no %q in %s", p, out)
		}
	}
}

func (l *s3Life) run(bucket string) {
	l.contains(l.ok("list"), "no snapshot")
	l.push()
	l.contains(l.push(), `"new_files": 0,`)
	var list struct{ Snapshots []struct{ ID string } }
	if err := json.Unmarshal([]byte(l.ok("list", "-o", "json")), &list); err != nil || len(list.Snapshots) != 2 {
		l.Fatalf("%+v, %v", list, err)
	}
	l.contains(l.ok("show", "--snapshot", list.Snapshots[1].ID), "ts-kv", "timestamped-kv")
	l.contains(l.ok("verify"), "2 snapshots", "all are what the manifests say")
	l.pull(0, "whole")
	l.ok("prune", "--keep", "1", "--grace", "0s", "--yes")
	l.contains(l.ok("verify"), "1 snapshot,")
	l.exits(10, "show", "--snapshot", list.Snapshots[1].ID)

	// What is wrong in the store is named, and never pulled.
	files, err := filepath.Glob(filepath.Join(bucket, "*", "*", "objects", "plain", "*", "*"))
	for _, pattern := range []string{filepath.Join("*", "objects"), "objects"} {
		if more, _ := filepath.Glob(filepath.Join(bucket, pattern, "plain", "*", "*")); len(more) > 0 {
			files = append(files, more...)
		}
	}
	if err != nil || len(files) == 0 {
		l.Fatalf("no objects below %s", bucket)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || len(data) == 0 {
			continue
		}
		data[0] ^= 1
		if err := os.WriteFile(f, data, 0o644); err != nil {
			l.Fatal(err)
		}
	}
	l.contains(l.exits(3, "verify"), "wrong", "objects/plain/")
	l.pull(12, "wrong")
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			l.Fatal(err)
		}
	}
	l.contains(l.exits(3, "verify", "-o", "json"), `"what": "missing"`)
	l.pull(10, "missing")
	l.push("--rewrite")
	l.ok("verify")
	l.pull(0, "again")

	const key = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	if err := os.WriteFile(filepath.Join(l.dir, "key.txt"), []byte(key), 0o600); err != nil {
		l.Fatal(err)
	}
	l.push("--recipient", "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj")
	l.pull(14, "locked")
	l.pull(0, "unlocked", "--identity", filepath.Join(l.dir, "key.txt"))
}

// s3Refusal is a bucket that cannot be used.
type s3Refusal struct {
	name, url string
	env       []string
	code      int
	says      string
	slow      bool // it is tried again and again
}

func s3Refusals(endpoint string) []s3Refusal {
	good := s3test.URL(endpoint, "streams")
	return []s3Refusal{
		{"wrong secret", good, []string{"AWS_SECRET_ACCESS_KEY=hunter2"}, 13, "check the credentials and what they may do", false},
		{"unknown key", good, []string{"AWS_ACCESS_KEY_ID=nobody", "AWS_SECRET_ACCESS_KEY=hunter2"}, 13, "check the credentials and what they may do", false},
		{"no credentials", good, []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, 13, "no credentials: ", false},
		{"anonymous", good + "&anonymous=true", nil, 13, "check the credentials and what they may do", false},
		{"no profile", good + "&profile=other", nil, 2, "profile", false},
		{"no region", "s3://" + s3test.Bucket, nil, 2, "which region is the bucket in?", false},
		{"wrong region", strings.Replace(good, "us-east-1", "mars-1", 1), nil, 1, "check the bucket's name, region and endpoint", false},
		{"no bucket", strings.Replace(good, s3test.Bucket, "another", 1), nil, 10, "NoSuchBucket", false},
		{"nobody there", s3test.URL("http://127.0.0.1:1", ""), nil, 13, "connection refused", true},
		{"no TLS there", strings.Replace(good, "http:", "https:", 1), nil, 13, "check region and endpoint in the URL", true},
	}
}

func TestSnapshotS3Refused(t *testing.T) {
	s3test.Slow(t)
	endpoint, _ := s3test.Start(t)
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	if err := lsmtest.Close(app); err != nil {
		t.Fatal(err)
	}
	id, state := filepath.Base(app), filepath.Dir(app)
	type refused struct {
		s3Refusal
		args []string
	}
	cases := map[string]refused{}
	for _, c := range s3Refusals(endpoint) {
		if c.slow && os.Getenv("SSTOOL_MATRIX") != "full" { // each takes half a minute to be given up
			continue
		}
		cases[c.name+" json"] = refused{c, []string{"list", "-o", "json"}}
		for _, args := range [][]string{
			{"list"}, {"show"}, {"verify"}, {"prune", "--keep", "1", "--yes"},
			{"pull", "--application-id", id, "--into", filepath.Join(t.TempDir(), "state")},
			{"push", "--application-id", id, "--state-dir", state, "--checkpoint"},
		} {
			if !c.slow || args[0] == "push" {
				cases[c.name+" "+args[0]] = refused{c, args}
			}
		}
	}
	together(t, cases, func(t *testing.T, _ string, c refused) {
		code, out, diag := runToEnd(t, s3Command(t, c.env, append([]string{"snapshot", c.args[0], c.url}, c.args[1:]...)...))
		if c.args[len(c.args)-1] == "json" {
			var doc errorDoc
			if err := json.Unmarshal([]byte(diag), &doc); err != nil || doc.Code != c.code {
				t.Errorf("not one JSON error: %v\n%s", err, diag)
			}
		}
		if code != c.code || out != "" || !strings.Contains(diag, c.says) {
			t.Errorf("code %d, want %d\n%s%s", code, c.code, out, diag)
		}
	})
}

// together runs subtests all at once: their programs wait, and hardly compute.
func together[C any](t *testing.T, cases map[string]C, run func(t *testing.T, name string, c C)) {
	var wg sync.WaitGroup
	for name, c := range cases {
		wg.Go(func() { t.Run(name, func(t *testing.T) { run(t, name, c) }) })
	}
	wg.Wait()
}
