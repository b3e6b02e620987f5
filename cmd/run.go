package cmd

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the process's command line and returns its exit code. The first
// Ctrl-C, SIGTERM or SIGHUP (unless nohup ignores it) asks the command to stop where it is safe, the second
// ends the process at once.
func Main() int {
	// Libraries (net/http, the S3 client) log here what the error or the warning of
	// the command says anyway; stderr holds lines of sstool's own.
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	go func() {
		<-signals
		say("stopping cleanly; once more stops at once")
		cancel()
		<-signals
		os.Exit(130)
	}()
	return Run(ctx, os.Args[1:], SystemIO())
}

// say prints a note, but waits for no terminal that blocks.
func say(note string) {
	said := make(chan struct{})
	go func() {
		fmt.Fprintln(os.Stderr, "\nsstool: "+note)
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(100 * time.Millisecond):
	}
}

// Run executes one command line and returns its exit code. It keeps no state
// between calls.
func Run(ctx context.Context, args []string, streams IO) int {
	a := &app{io: streams, args: args}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(cmd, err)
}

// app is one invocation: its streams, the flags every command shares, and
// whether a command's own code has begun.
type app struct {
	io      IO
	args    []string
	started bool            // set by run; an error before it is a usage error
	given   map[string]bool // flags of the command line, as opposed to the environment's and the context's
	flags   globalFlags
}

// globalFlags are on every command.
type globalFlags struct {
	config  string
	context string
}

// run wraps a command's code: the flags are completed from the environment and
// the context first, then the code begins.
func (a *app) run(fn func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.given = map[string]bool{}
		cmd.Flags().Visit(func(f *pflag.Flag) { a.given[f.Name] = true })
		if err := a.resolve(cmd); err != nil {
			return err
		}
		a.started = true
		return fn(cmd, args)
	}
}
