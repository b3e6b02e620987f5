package cmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `sstool looks after the state of Kafka Streams applications: the RocksDB stores on
local disk and the changelog topics behind them.

Every flag can also be given as an environment variable, shown in brackets beside
it, or by a context of the config file ($XDG_CONFIG_HOME/sstool/config.yaml).
A flag wins over the environment, the environment over the context.`

// newRoot builds the command tree of one invocation.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "sstool",
		Short:         "look after the state of Kafka Streams applications",
		Long:          rootLong,
		Annotations:   exits(exitsAll),
		Example:       "  sstool demo\n  sstool restore --measure --bootstrap-server localhost:9092 --application-id orders --store account-payment-total",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	group(root)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(a))
	root.SetFlagErrorFunc(a.flagError)
	pf := root.PersistentFlags()
	pf.StringVar(&a.flags.config, "config", "", "config `FILE` (default $XDG_CONFIG_HOME/sstool/config.yaml)")
	pf.StringVar(&a.flags.context, "context", "", "context `NAME` of the config file (default its current-context)")
	root.AddCommand(commands(a)...)
	finish(root, a.io.Width)
	return root
}

// commands is every command, in the order of the help.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		newVersion(a),
		newCompletion(a),
		newDocs(a),
	}
}

// group makes cmd a parent that prints its help when called alone and refuses
// words that are not its commands; cobra itself would print help and exit 0.
func group(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// noArgs refuses arguments; cobra.NoArgs would call them commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], cmd.CommandPath())
	}
	return nil
}

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

const exitsKey = "exit-codes"

// exitLines reads the annotation back.
func exitLines(cmd *cobra.Command) (lines []exit) {
	for l := range strings.Lines(cmd.Annotations[exitsKey]) {
		code, when, _ := strings.Cut(strings.TrimSpace(l), "\t")
		n, _ := strconv.Atoi(code)
		lines = append(lines, exit{n, when})
	}
	return lines
}

// finish completes the help of the whole tree: each flag shows its environment
// form, long lines are wrapped, the exit codes come last.
func finish(root *cobra.Command, width int) {
	if width <= 0 || width > 110 {
		width = 110
	}
	t := strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", width))
	root.SetUsageTemplate(t)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		fmt.Fprint(cmd.OutOrStdout(), exitCodes(cmd))
	})
	showEnv(root)
}

// exitCodes is the last section of a command's help.
func exitCodes(cmd *cobra.Command) string {
	lines := exitLines(cmd)
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nExit codes:\n")
	for _, e := range lines {
		fmt.Fprintf(&b, "  %-4d %s\n", e.code, e.when)
	}
	return b.String()
}

func showEnv(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().SortFlags = false
	show := func(f *pflag.Flag) {
		if f.Name != "help" && !strings.Contains(f.Usage, "[$") {
			f.Usage += " [$" + envName(f.Name) + "]"
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(show)
	cmd.PersistentFlags().VisitAll(show)
	for _, c := range cmd.Commands() {
		showEnv(c)
	}
}

// envName is the environment form of a flag.
func envName(flag string) string {
	return "SSTOOL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
