package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp replaces cobra's help command, which exits 0 for a topic it does not
// know.
func newHelp(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "help [command]",
		Short:       "print the help of a command",
		Long:        "Prints the help of a command; the same as sstool COMMAND --help.",
		Example:     "  sstool help restore",
		Annotations: exits(exitsBasic),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("there is no command %q", strings.Join(args, " "))
			}
			return err
		},
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		target, _, err := cmd.Root().Find(args)
		if err != nil {
			return err
		}
		return target.Help()
	})
	return cmd
}

// flagError is the error for a flag that did not parse. Behind a mistyped
// command its flags are unknown too; then the command is what to talk about.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if text, _, is := strings.Cut(err.Error(), "strconv.ParseBool: "); is {
		err = errors.New(text + "expected true or false")
	}
	if !cmd.HasSubCommands() {
		return err
	}
	skip := len(strings.Fields(cmd.CommandPath())) - 1
	for i, word := range a.args {
		isValue := i > 0 && (a.args[i-1] == "--config" || a.args[i-1] == "--context")
		switch {
		case strings.HasPrefix(word, "-") || isValue:
		case skip > 0:
			skip--
		default:
			if argErr := cmd.Args(cmd, []string{word}); argErr != nil {
				return argErr
			}
			return err
		}
	}
	return err
}
