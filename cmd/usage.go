package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	exitsKey   = "exit-codes"
	sectionKey = "section"

	everyCommand = "Flags of every command"
)

// exit is one line of a command's "Exit codes" section.
type exit struct {
	code int
	when string
}

var (
	exitsBasic = []exit{{0, "ok"}, {1, "failed"}, {2, "wrong flags or unusable input"}}
	exitsAll   = []exit{
		{0, "ok"}, {1, "failed"}, {2, "wrong flags or unusable input"},
		{3, "finished and found problems, or a threshold (--sla) was missed"},
		{4, "finished, some items failed"}, {10, "not found"}, {11, "store in use by another process"},
		{12, "corrupt"}, {13, "Kafka unreachable or access denied"},
		{14, "precondition not met (target not empty, cluster id differs, …)"},
		{130, "interrupted or declined"},
	}
)

// exits is the annotation that carries a command's exit codes to its help and
// its reference page.
func exits(lines []exit) map[string]string {
	var b strings.Builder
	for _, e := range lines {
		fmt.Fprintf(&b, "%d\t%s\n", e.code, e.when)
	}
	return map[string]string{exitsKey: b.String()}
}

// exitLines reads the annotation back, as pairs of code and meaning.
func exitLines(cmd *cobra.Command) (lines [][2]string) {
	for l := range strings.Lines(cmd.Annotations[exitsKey]) {
		code, when, _ := strings.Cut(strings.TrimSpace(l), "\t")
		lines = append(lines, [2]string{code, when})
	}
	return lines
}

// section names the flags that add declares: they get a heading of their own in
// the help.
func section(cmd *cobra.Command, name string, add func(fs *pflag.FlagSet)) {
	cmd.Flags().SortFlags = false
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			f.Annotations = map[string][]string{sectionKey: {name}}
		}
	})
}

// finish completes the help of the whole tree: each flag shows its environment
// form, flags come in sections, the exit codes last.
func finish(root *cobra.Command, width int) {
	if width < 60 || width > 110 {
		width = 110
	}
	showEnv(root)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		writeUsage(cmd.OutOrStdout(), cmd, width)
		return nil
	})
}

func showEnv(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().SortFlags = false
	show := func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" && !strings.Contains(f.Usage, "[$") {
			f.Usage += " [$" + envName(f.Name) + "]"
		}
	}
	cmd.Flags().VisitAll(show)
	cmd.PersistentFlags().VisitAll(show)
	for _, c := range cmd.Commands() {
		showEnv(c)
	}
}

// envName is the environment form of a flag.
func envName(flag string) string {
	return "SSTOOL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// writeUsage is the help below the description.
func writeUsage(w io.Writer, cmd *cobra.Command, width int) {
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(w, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	for _, s := range sections(cmd) {
		fmt.Fprintf(w, "\n%s:\n%s", s.name, s.flags.FlagUsagesWrapped(width))
	}
	if lines := exitLines(cmd); len(lines) > 0 {
		fmt.Fprint(w, "\nExit codes:\n")
		for _, e := range lines {
			fmt.Fprintf(w, "  %-4s %s\n", e[0], e[1])
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help says more about a command.\n", cmd.CommandPath())
	}
}

type flagSection struct {
	name  string
	flags *pflag.FlagSet
}

// sections are a command's flags by heading, in the order of declaration.
func sections(cmd *cobra.Command) []flagSection {
	var out []flagSection
	add := func(name string, f *pflag.Flag) {
		for _, s := range out {
			if s.name == name {
				s.flags.AddFlag(f)
				return
			}
		}
		fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
		fs.SortFlags = false
		fs.AddFlag(f)
		out = append(out, flagSection{name, fs})
	}
	// The heading of the rest comes last among the command's own.
	var rest []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if s := f.Annotations[sectionKey]; len(s) == 1 {
			add(s[0], f)
		} else if !f.Hidden {
			rest = append(rest, f)
		}
	})
	name := "Flags"
	if len(out) > 0 {
		name = everyCommand
	}
	for _, f := range rest {
		add(name, f)
	}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { add(everyCommand, f) })
	return out
}
