package topology

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestParseArgument(t *testing.T) {
	for in, want := range map[string]Argument{
		"topology.txt":        {"", "topology.txt"},
		"-":                   {"", "-"},
		"orders=topology.txt": {"orders", "topology.txt"},
		"orders=-":            {"orders", "-"},
		"a.b_c-1=dir/x=y.txt": {"a.b_c-1", "dir/x=y.txt"},
		"./a=b":               {"", "./a=b"},
		"dir/a=b":             {"", "dir/a=b"},
		"my app=b":            {"", "my app=b"},
	} {
		if got, err := ParseArgument(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "=b", "orders="} {
		if got, err := ParseArgument(in); op.KindOf(err) != op.Usage {
			t.Errorf("%q: %+v, %v, want a usage error", in, got, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte(version("a")), 0o600); err != nil {
		t.Fatal(err)
	}
	models, err := Load([]string{file, "billing=-"}, strings.NewReader(version("aa")), Options{ApplicationID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Topology{{File: file, ApplicationID: "x"}, {File: Stdin, ApplicationID: "billing"}} {
		if got := models[i].Topologies[0]; got.File != want.File || got.ApplicationID != want.ApplicationID || models[i].File != want.File {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	if got := topics(models[0]) + " " + topics(models[1]); got != "1:a 1:aa" {
		t.Errorf("topologies %s", got)
	}
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		kind op.Kind
		text string
	}{
		"no file":   {[]string{filepath.Join(dir, "none.txt")}, op.NotFound, "none.txt"},
		"directory": {[]string{dir}, op.Usage, "is a directory"},
		"twice":     {[]string{"-", "a=-"}, op.Usage, "given twice"},
		"empty":     {[]string{empty}, op.Usage, "empty.txt: no topology: the text is empty"},
		"argument":  {[]string{"a="}, op.Usage, "neither a file"},
	} {
		if _, err := Load(c.args, strings.NewReader(version("a")), Options{}); op.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadReadsNothingInVain holds that wrong arguments are told before
// standard input is waited for.
func TestLoadReadsNothingInVain(t *testing.T) {
	for _, args := range [][]string{{"-", "-"}, {"-", "a=-"}, {"-", "=b"}} {
		if _, err := Load(args, unread{t}, Options{}); op.KindOf(err) != op.Usage {
			t.Errorf("%v: %v", args, err)
		}
	}
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("standard input was read")
	return 0, io.EOF
}
