package cmd

import (
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// lintSnippets are the blocks of docs/lint.md, by language.
func lintSnippets(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = append(out[m[1]], m[2])
	}
	return out
}

// TestLintSnippets runs every sstool lint of the snippets for CI: each is a
// command line that judges the text.
func TestLintSnippets(t *testing.T) {
	snippets := lintSnippets(t)
	var commands []string
	for _, text := range snippets["yaml"] {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var walk func(*yaml.Node)
		walk = func(n *yaml.Node) {
			if line, _, _ := strings.Cut(n.Value, " >"); strings.HasPrefix(line, "sstool lint") {
				commands = append(commands, line)
			}
			for _, c := range n.Content {
				walk(c)
			}
		}
		walk(&doc)
	}
	for _, text := range snippets["xml"] {
		var plugin struct {
			Executable string   `xml:"executions>execution>configuration>executable"`
			Arguments  []string `xml:"executions>execution>configuration>arguments>argument"`
		}
		if err := xml.Unmarshal([]byte(text), &plugin); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		commands = append(commands, plugin.Executable+" "+strings.Join(plugin.Arguments, " "))
	}
	for _, text := range snippets["kotlin"] {
		m := regexp.MustCompile(`commandLine\((.*)\)`).FindStringSubmatch(text)
		commands = append(commands, strings.NewReplacer(`"`, "", ",", "").Replace(m[1]))
	}
	if len(commands) != 6 { // GitHub two, GitLab, Maven, Gradle, pre-commit
		t.Errorf("%d commands: %q", len(commands), commands)
	}
	text := filepath.Join("..", "testdata", "topologies", "02.txt")
	for _, c := range commands {
		args := strings.Fields(c)[1:]
		named := false
		for i, arg := range args {
			if app, path, ok := strings.Cut(arg, "="); ok && strings.HasSuffix(path, "topology.txt") {
				args[i], named = app+"="+text, true
			}
		}
		if !named { // pre-commit adds the files
			args = append(args, text)
		}
		want := 3
		if strings.Contains(c, "--fail-on never") {
			want = 0
		}
		if got := Run(t.Context(), args, IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); got != want {
			t.Errorf("%s: exit code %d, want %d", c, got, want)
		}
	}
}

// TestPreCommitHook runs the hook of docs/lint.md in a repository.
func TestPreCommitHook(t *testing.T) {
	for _, tool := range []string{"pre-commit", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "PRE_COMMIT_HOME="+filepath.Join(dir, ".cache"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "sstool"), "./sstool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	snippets := lintSnippets(t)["yaml"]
	write(".pre-commit-config.yaml", snippets[len(snippets)-1])
	for _, c := range []struct {
		file, says string
		fails      bool
	}{{"01.txt", "Passed", false}, {"02.txt", "topology.txt:17: error C8", true}} {
		text, err := os.ReadFile(filepath.Join("..", "testdata", "topologies", c.file))
		if err != nil {
			t.Fatal(err)
		}
		write("topology.txt", string(text))
		for _, args := range [][]string{{"init", "-q"}, {"add", "topology.txt", ".pre-commit-config.yaml"}} {
			if out, err := run("git", args...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if out, err := run("pre-commit", "run", "--all-files"); (err != nil) != c.fails || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v\n%s", c.file, err, out)
		}
	}
}
