// Package cmd is the command line: the cobra tree, one file per command, the
// resolution of flags from the environment and the config file, the rendering
// of results, the progress line and the exit codes.
//
// No engine lives here. A command turns flags into an options struct, calls an
// engine package (restore, internal/spec, …) with a context and an op.Sink, and
// renders the result struct it gets back.
//
// The shared parts: run.go (one invocation), errors.go (exit codes), resolve.go
// and config.go (flags > environment > context > defaults), values.go (flag
// types), output.go and human.go (results), progress.go (events), kafka.go
// (opening a cluster).
package cmd
