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
		if c.HasParent() { // cobra would give every parent a help command of its own
			c.SetHelpCommand(&cobra.Command{Use: "help", Hidden: true})
		}
		var b bytes.Buffer
		if err := doc.GenMarkdown(c, &b); err != nil {
			return op.Errorf(op.Failed, "write reference of %s: %w", c.CommandPath(), err)
		}
		text := bySection(c, b.String())
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

// bySection replaces cobra's flat lists of flags by the sections of the help,
// and adds the exit codes.
func bySection(c *cobra.Command, page string) string {
	const own, see = "### Options\n", "### SEE ALSO"
	head, rest, ok := strings.Cut(page, own)
	if !ok {
		head, rest, _ = strings.Cut(page, see)
		rest = see + rest
	}
	var b strings.Builder
	b.WriteString(head)
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
	if at := strings.Index(rest, see); at >= 0 {
		b.WriteString(rest[at:])
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
