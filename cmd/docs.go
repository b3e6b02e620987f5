package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

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
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return op.Errorf(op.Failed, "write reference: %w", err)
		}
		for name, text := range reference() {
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
func reference() map[string][]byte {
	root := newRoot(&app{io: IO{}})
	root.InitDefaultHelpCmd() // else Execute adds it
	showEnv(root)
	pages := map[string][]byte{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		pages[pageOf(c)] = []byte(page(c))
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
	return pages
}

// pageOf is the file of a command's page.
func pageOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "_") + ".md" }

// page is a command in Markdown: what its help says, and its neighbours.
func page(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", c.CommandPath(), c.Short)
	if c.Long != "" {
		fmt.Fprintf(&b, "### Synopsis\n\n%s\n\n", c.Long)
	}
	fmt.Fprintf(&b, "```\n%s\n```\n\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(&b, "### Examples\n\n```\n%s\n```\n\n", c.Example)
	}
	for _, s := range sections(c) {
		fmt.Fprintf(&b, "### %s\n\n```\n%s```\n\n", s.name, s.flags.FlagUsagesWrapped(110))
	}
	if lines := exitLines(c); len(lines) > 0 {
		b.WriteString("### Exit codes\n\n| Code | When |\n|---|---|\n")
		for _, e := range lines {
			fmt.Fprintf(&b, "| %s | %s |\n", e[0], e[1])
		}
		b.WriteString("\n")
	}
	b.WriteString("### SEE ALSO\n\n")
	see := func(c *cobra.Command) { fmt.Fprintf(&b, "* [%s](%s)\t - %s\n", c.CommandPath(), pageOf(c), c.Short) }
	if c.HasParent() {
		see(c.Parent())
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			see(sub)
		}
	}
	return b.String()
}
