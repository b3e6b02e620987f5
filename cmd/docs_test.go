package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestReferenceIsCurrent compares docs/reference with the commands;
// UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestReferenceIsCurrent(t *testing.T) {
	dir := filepath.Join("..", "docs", "reference")
	pages := reference()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got := runWith(t, nil, "gen-docs", dir); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	var have []string
	files, _ := filepath.Glob(filepath.Join(dir, "*.md"))
	for _, f := range files {
		name := filepath.Base(f)
		have = append(have, name)
		if b, err := os.ReadFile(f); err != nil || !bytes.Equal(b, pages[name]) {
			t.Errorf("docs/reference/%s is stale: make golden rewrites it", name)
		}
	}
	for name := range pages {
		if !slices.Contains(have, name) {
			t.Errorf("docs/reference/%s is missing: make golden writes it", name)
		}
	}
}

// TestEveryCommandExplainsItself holds what --help of each command has.
func TestEveryCommandExplainsItself(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := strings.Fields(c.CommandPath())[1:]
		got := runWith(t, nil, append(args, "--help")...)
		for _, want := range []string{"\nUsage:\n", "\nExamples:\n", "\nExit codes:\n", "[$SSTOOL_CONTEXT]"} {
			if !c.Hidden && !strings.Contains(got.out, want) {
				t.Errorf("%s --help has no %q", c.CommandPath(), strings.TrimSpace(want))
			}
		}
		if got.code != 0 || got.err != "" {
			t.Errorf("%s --help: code %d, stderr %q", c.CommandPath(), got.code, got.err)
		}
		for _, word := range strings.Fields(c.Example) {
			if strings.Contains(word, "://") && strings.ContainsAny(word, "?&") && !strings.HasPrefix(word, "'") {
				t.Errorf("%s: a shell does not pass the example's %s on as it is: quote it", c.CommandPath(), word)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{}))
}

// TestReadmeKnowsCommandsAndExitCodes keeps the README's two tables complete.
func TestReadmeKnowsCommandsAndExitCodes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(b), "`", "")
	for _, c := range newRoot(&app{}).Commands() {
		if row := "| [" + c.CommandPath() + "](docs/reference/"; !c.Hidden && !strings.Contains(readme, row) {
			t.Errorf("README has no row for %s", c.CommandPath())
		}
	}
	for _, e := range exitsAll {
		if row := fmt.Sprintf("| %d | %s |", e.code, e.when); !strings.Contains(readme, row) {
			t.Errorf("README has no row %q", row)
		}
	}
}
