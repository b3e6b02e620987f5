package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"sstool/internal/op"
)

// newDocs writes the command reference; hidden, for docs/reference.
func newDocs(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "gen-docs DIR",
		Short:       "write the command reference as Markdown",
		Long:        "Writes one Markdown page per command into DIR.",
		Annotations: exits(exitsBasic),
		Hidden:      true,
		Args:        cobra.ExactArgs(1),
	}
	cmd.RunE = a.run(func(_ *cobra.Command, args []string) error {
		pages, err := reference()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return op.Errorf(op.Failed, "write reference: %w", err)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(args[0], name), text, 0o644); err != nil {
				return op.Errorf(op.Failed, "write reference: %w", err)
			}
		}
		return nil
	})
	return cmd
}

// reference is the command reference, by file name. It comes from a tree of its
// own, so that terminal and environment leave no trace in it.
func reference() (map[string][]byte, error) {
	root := newRoot(&app{io: IO{}})
	pages := map[string][]byte{}
	var walk func(c *cobra.Command) error
	walk = func(c *cobra.Command) error {
		c.DisableAutoGenTag = true
		var b bytes.Buffer
		if err := doc.GenMarkdown(c, &b); err != nil {
			return op.Errorf(op.Failed, "write reference of %s: %w", c.CommandPath(), err)
		}
		text := b.String()
		if at := strings.Index(text, "### SEE ALSO"); at >= 0 {
			text = text[:at] + exitTable(c) + text[at:]
		} else {
			text += exitTable(c)
		}
		pages[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = []byte(text)
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				if err := walk(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return pages, walk(root)
}

// exitTable is the exit codes section of a reference page.
func exitTable(c *cobra.Command) string {
	lines := exitLines(c)
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("### Exit codes\n\n| Code | When |\n|---|---|\n")
	for _, e := range lines {
		fmt.Fprintf(&b, "| %s | %s |\n", e[0], e[1])
	}
	return b.String() + "\n"
}
