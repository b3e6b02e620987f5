package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `sstool looks after the state of Kafka Streams applications: the RocksDB stores on
local disk and the changelog topics behind them.

Every flag can also be given as an environment variable, shown in brackets beside
it, or by a context of the config file ($XDG_CONFIG_HOME/sstool/config.yaml).
A flag wins over the environment, the environment over the context.`

// newRoot builds the command tree of one invocation, or what the command line
// needs of it.
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
	root.Flags().Bool("version", false, "print the version; the same as sstool version")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if v, err := cmd.Flags().GetBool("version"); err != nil || !v {
			return help(cmd, args)
		}
		a.given = map[string]bool{}
		a.started = true
		return a.version(outputFlag{value: formatTable})
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(a))
	root.SetFlagErrorFunc(a.flagError)
	pf := root.PersistentFlags()
	pf.StringVar(&a.flags.config, "config", "", "config `FILE` (default $XDG_CONFIG_HOME/sstool/config.yaml)")
	pf.StringVar(&a.flags.context, "context", "", "context `NAME` of the config file (default its current-context)")
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return len(a.args) > 0 && a.args[0] == c.name }); i >= 0 {
		all = all[i : i+1] // to build the others is a fifth of what starting costs
	}
	for _, c := range all {
		root.AddCommand(c.build(a))
	}
	finish(root, a.io.Width)
	return root
}

// command is a command below the root.
type command struct {
	name  string
	build func(*app) *cobra.Command
}

// commands is every command, in the order of the help.
func commands() []command {
	return []command{
		{"demo", newDemo},
		{"tui", newTUI},
		{"restore", newRestore},
		{"snapshot", newSnapshot},
		{"inspect", newInspect},
		{"doctor", newDoctor},
		{"compact", newCompact},
		{"ttl", newTTL},
		{"tombstone", newTombstone},
		{"rename", newRename},
		{"migrate", newMigrate},
		{"orphans", newOrphans},
		{"get", newGet},
		{"scan", newScan},
		{"verify", newVerify},
		{"spec", newSpec},
		{"lint", newLint},
		{"monitor", newMonitor},
		{"topology", newTopology},
		{"version", newVersion},
		{"completion", newCompletion},
		{"gen-docs", newDocs},
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
