package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"sstool/internal/op"
)

// outcome is what one command line did.
type outcome struct {
	code     int
	out, err string
}

// runWith executes a command line with an environment of its own.
func runWith(t *testing.T, env map[string]string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(t.Context(), args, IO{
		In: strings.NewReader(""), Out: &out, Err: &errs,
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	return outcome{code, out.String(), errs.String()}
}

func TestExitCode(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err     error
		started bool
		want    int
	}{
		{nil, true, 0},
		{nil, false, 0},
		{plain, true, 1},
		{plain, false, 2}, // cobra's own: flags, arguments, unknown commands
		{op.Errorf(op.Failed, "x"), true, 1},
		{op.Errorf(op.Usage, "x"), true, 2},
		{op.Errorf(op.Problems, "x"), true, 3},
		{op.Errorf(op.Partial, "x"), true, 4},
		{op.Errorf(op.NotFound, "x"), true, 10},
		{op.Errorf(op.InUse, "x"), true, 11},
		{op.Errorf(op.Corrupt, "x"), true, 12},
		{op.Errorf(op.Unreachable, "x"), true, 13},
		{op.Errorf(op.Precondition, "x"), true, 14},
		{op.Errorf(op.Declined, "x"), true, 130},
		{context.Canceled, true, 130},
		{fmt.Errorf("restore: %w", context.Canceled), true, 130},
		{fmt.Errorf("restore: %w", op.Errorf(op.Corrupt, "x")), true, 12},
		{op.Errorf(op.NotFound, "x"), false, 10},
	} {
		if got, _ := exitCode(c.err, c.started); got != c.want {
			t.Errorf("exitCode(%v, started %v) = %d, want %d", c.err, c.started, got, c.want)
		}
	}
}

func TestUsageErrorsExitTwo(t *testing.T) {
	for _, args := range [][]string{
		{"bogus"}, {"versio", "-o", "json"}, {"version", "--bogus"}, {"version", "extra"},
		{"version", "-o", "xml"}, {"completion"}, {"completion", "tcsh"}, {"help", "bogus"},
		{"version", "--context"}, {"version", "--context", "nowhere"}, {"--bogus"},
	} {
		got := runWith(t, nil, args...)
		if got.code != 2 || got.out != "" || got.err == "" {
			t.Errorf("sstool %q: code %d, stdout %q, stderr %q; want 2 and only stderr", args, got.code, got.out, got.err)
		}
	}
}

func TestMistypedCommandIsNamedBehindItsFlags(t *testing.T) {
	got := runWith(t, nil, "versio", "-o", "json")
	var doc errorDoc
	if err := json.Unmarshal([]byte(got.err), &doc); err != nil {
		t.Fatalf("stderr is not one JSON object: %v\n%s", err, got.err)
	}
	want := errorDoc{"error", 2, "usage", `unknown command "versio" for "sstool"; did you mean version?`, []string{"sstool --help"}}
	if fmt.Sprint(doc) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", doc, want)
	}
}

func TestErrorsNameTheNextStep(t *testing.T) {
	var errs bytes.Buffer
	a := &app{started: true, io: IO{Err: &errs}}
	err := op.Errorf(op.InUse, "open store %q: held by process 4242\x1b[2J", "counts").WithTry("stop the application")
	if code := a.report(&cobra.Command{}, err); code != 11 {
		t.Errorf("code %d, want 11", code)
	}
	want := "sstool: open store \"counts\": held by process 4242\\x1b[2J\ntry: stop the application\n"
	if errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
}

func TestInterruptionIsSaidAsOne(t *testing.T) {
	for err, want := range map[error]string{
		context.Canceled: "interrupted",
		fmt.Errorf("t-0: %w", fmt.Errorf("fetch: %w", context.Canceled)): "interrupted: t-0: fetch",
		op.Errorf(op.Declined, "declined"):                               "declined",
	} {
		if got := messageOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	got := runWith(t, nil, "version", "-o", "json")
	var doc map[string]any
	if err := json.Unmarshal([]byte(got.out), &doc); got.code != 0 || err != nil {
		t.Fatalf("code %d, %v: %s%s", got.code, err, got.out, got.err)
	}
	for _, key := range []string{"kind", "version", "sstool", "commit", "rocksdb", "go", "platform"} {
		if _, ok := doc[key]; !ok {
			t.Errorf("no %q in %s", key, got.out)
		}
	}
	if doc["rocksdb"] == nil && doc["rocksdb_reason"] == nil {
		t.Errorf("rocksdb is null without a reason: %s", got.out)
	}
}

func TestResolutionOrder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sstool", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "current-context: prod\ncontexts:\n  prod: {application-id: from-prod}\n  test: {application-id: from-test, state-dir: data, command-config: ~/client.properties}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	resolved := func(env map[string]string, args ...string) (string, string) {
		env["XDG_CONFIG_HOME"], env["HOME"] = dir, "/home/me"
		a := &app{args: args, io: IO{Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }}}
		root := newRoot(a)
		var app, state, client string
		leaf := &cobra.Command{Use: "leaf", Args: noArgs, RunE: a.run(func(*cobra.Command, []string) error { return nil })}
		leaf.Flags().StringVar(&app, "application-id", "default", "")
		leaf.Flags().StringVar(&state, "state-dir", "", "")
		leaf.Flags().StringVar(&client, "command-config", "", "")
		root.AddCommand(leaf)
		root.SetArgs(append([]string{"leaf"}, args...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return app, state + "|" + client
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"current context", map[string]string{}, nil, "from-prod"},
		{"named context", map[string]string{}, []string{"--context", "test"}, "from-test"},
		{"context by environment", map[string]string{"SSTOOL_CONTEXT": "test"}, nil, "from-test"},
		{"environment wins over context", map[string]string{"SSTOOL_APPLICATION_ID": "from-env"}, nil, "from-env"},
		{"empty environment is unset", map[string]string{"SSTOOL_APPLICATION_ID": ""}, nil, "from-prod"},
		{"flag wins over all", map[string]string{"SSTOOL_APPLICATION_ID": "from-env"}, []string{"--application-id", "from-flag"}, "from-flag"},
	} {
		if got, _ := resolved(c.env, c.args...); got != c.want {
			t.Errorf("%s: application-id %q, want %q", c.name, got, c.want)
		}
	}
	if _, got := resolved(map[string]string{}, "--context", "test"); got != filepath.Join(dir, "sstool", "data")+"|/home/me/client.properties" {
		t.Errorf("paths of a context: %q", got)
	}
}

func TestBadEnvironmentNamesTheVariableNotTheValue(t *testing.T) {
	got := runWith(t, map[string]string{"SSTOOL_OUTPUT": "s3cret"}, "version")
	if got.code != 2 || !strings.Contains(got.err, "SSTOOL_OUTPUT") || strings.Contains(got.err, "s3cret") {
		t.Errorf("code %d, stderr %q", got.code, got.err)
	}
}
