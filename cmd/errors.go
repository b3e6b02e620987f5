package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sstool/internal/op"
)

// exitCode is the process exit code of an error. An error that arrives before
// the command's own code began came from the flags or the arguments.
func exitCode(err error, started bool) (int, op.Kind) {
	switch {
	case err == nil:
		return 0, op.Failed
	case !started && !isOp(err):
		return op.Usage.ExitCode(), op.Usage
	}
	kind := op.KindOf(err)
	return kind.ExitCode(), kind
}

func isOp(err error) bool {
	var e *op.Error
	return errors.As(err, &e)
}

// errorDoc is an error as -o json prints it on stderr.
type errorDoc struct {
	Kind      string   `json:"kind"`
	Code      int      `json:"code"`
	ErrorKind string   `json:"error_kind"`
	Message   string   `json:"message"`
	Try       []string `json:"try"`
}

// report prints err, if there is one, and returns the exit code.
func (a *app) report(cmd *cobra.Command, err error) int {
	if silent := (*silentExit)(nil); errors.As(err, &silent) {
		return silent.code
	}
	code, kind := exitCode(err, a.started)
	if err == nil {
		return code
	}
	message, tries := messageOf(err), op.Tries(err)
	if code == op.Usage.ExitCode() && len(tries) == 0 && cmd != nil {
		tries = []string{cmd.CommandPath() + " --help"}
	}
	if t := permissionTry(err); t != "" && len(tries) == 0 {
		tries = []string{t}
	}
	if a.wantsJSON(cmd) {
		if tries == nil {
			tries = []string{}
		}
		b, _ := safeJSON(errorDoc{Kind: "error", Code: code, ErrorKind: kind.String(), Message: message, Try: tries})
		fmt.Fprintf(a.io.Err, "%s\n", b)
		return code
	}
	fmt.Fprintf(a.io.Err, "sstool: %s\n", printable(message))
	for _, t := range tries {
		fmt.Fprintf(a.io.Err, "try: %s\n", printable(t))
	}
	return code
}

// warn prints a warning that no engine sent, as an event with --progress json.
func (a *app) warn(cmd *cobra.Command, text string) {
	if f := cmd.Flags().Lookup("progress"); f != nil {
		mode := f.Value.String()
		if v := a.io.getenv(envName(f.Name)); !f.Changed && v != "" {
			mode = v
		}
		if b, err := safeJSON(op.Event{Type: op.Warning, Message: text}); err == nil && mode == "json" {
			fmt.Fprintf(a.io.Err, "%s\n", b)
			return
		}
	}
	fmt.Fprintf(a.io.Err, "warning: %s\n", printable(text))
}

// messageOf is the error's text; of an interruption, where it happened.
func messageOf(err error) string {
	if !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	where := strings.TrimSuffix(err.Error(), context.Canceled.Error())
	if where = strings.TrimSuffix(where, ": "); where == "" {
		return "interrupted"
	}
	return "interrupted: " + where
}

// wantsJSON reports whether the user asked for JSON. When the flags did not
// parse, the arguments are looked at instead.
func (a *app) wantsJSON(cmd *cobra.Command) bool {
	is := func(v string) bool { return v == "json" || v == "jsonl" }
	if cmd != nil {
		if f := cmd.Flags().Lookup("output"); f != nil && is(f.Value.String()) {
			return true
		}
	}
	if a.started {
		return false
	}
	for i, arg := range a.args {
		switch {
		case arg == "--":
			return false
		case (arg == "-o" || arg == "--output") && i+1 < len(a.args):
			return is(a.args[i+1])
		case strings.HasPrefix(arg, "--output="):
			return is(strings.TrimPrefix(arg, "--output="))
		case strings.HasPrefix(arg, "-o") && len(arg) > 2:
			return is(strings.TrimPrefix(arg[2:], "="))
		}
	}
	return is(a.io.getenv("SSTOOL_OUTPUT"))
}
