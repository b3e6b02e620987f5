package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{
		Use:         "completion {bash|zsh|fish}",
		Short:       "print a shell completion script",
		Long:        "Prints the completion script of the shell to stdout.",
		Annotations: exits(exitsBasic),
		Example:     "  source <(sstool completion bash)\n  sstool completion zsh > \"${fpath[1]}/_sstool\"\n  sstool completion fish > ~/.config/fish/completions/sstool.fish",
		ValidArgs:   shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one shell: bash, zsh or fish")
			}
			for _, s := range shells {
				if args[0] == s {
					return nil
				}
			}
			return fmt.Errorf("unknown shell %q: bash, zsh or fish", args[0])
		},
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(a.io.Out, true)
		case "zsh":
			return root.GenZshCompletion(a.io.Out)
		default:
			return root.GenFishCompletion(a.io.Out, true)
		}
	})
	return cmd
}
