package cmd

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IO is the outside world of one invocation. Tests hand in buffers and a map
// for the environment.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY say whether a person is at the other end.
	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width, 0 when there is none.
	Width int
	// Env looks up an environment variable.
	Env func(string) (string, bool)
	// Exits says that the process ends with the command.
	Exits bool
}

// SystemIO is the process's own streams and environment.
func SystemIO() IO {
	s := IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Env:    os.LookupEnv,
		Exits:  true,
	}
	if s.ErrTTY {
		if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
			s.Width = w
		}
	}
	return s
}

// getenv is the variable's value, "" when unset.
func (s IO) getenv(name string) string {
	if s.Env == nil {
		return ""
	}
	v, _ := s.Env(name)
	return v
}

// fancy reports whether stderr may be drawn on: cursor movement and colour.
func (s IO) fancy() bool {
	return s.ErrTTY && s.getenv("TERM") != "dumb"
}

// colour reports whether stderr may be coloured (https://no-color.org).
func (s IO) colour() bool { return s.fancy() && s.getenv("NO_COLOR") == "" }
