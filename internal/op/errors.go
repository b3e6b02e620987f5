package op

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind classifies an error for the exit code; see ExitCode.
type Kind int

// The kinds, in the order of their exit codes.
const (
	Failed       Kind = iota // anything else: 1
	Usage                    // wrong flags or unusable input: 2
	Problems                 // finished and found problems, or a threshold missed: 3
	Partial                  // finished, some items failed: 4
	NotFound                 // 10
	InUse                    // store or directory held by another process: 11
	Corrupt                  // 12
	Unreachable              // Kafka unreachable or access denied: 13
	Precondition             // target not empty, plan stale, group active: 14
	Declined                 // interrupted, or the user said no: 130
)

// ExitCode is the process exit status for errors of this kind.
func (k Kind) ExitCode() int {
	switch k {
	case Usage:
		return 2
	case Problems:
		return 3
	case Partial:
		return 4
	case NotFound:
		return 10
	case InUse:
		return 11
	case Corrupt:
		return 12
	case Unreachable:
		return 13
	case Precondition:
		return 14
	case Declined:
		return 130
	}
	return 1
}

// String names the kind as JSON output does.
func (k Kind) String() string {
	switch k {
	case Usage:
		return "usage"
	case Problems:
		return "problems"
	case Partial:
		return "partial"
	case NotFound:
		return "not_found"
	case InUse:
		return "in_use"
	case Corrupt:
		return "corrupt"
	case Unreachable:
		return "unreachable"
	case Precondition:
		return "precondition"
	case Declined:
		return "declined"
	}
	return "failed"
}

// Error is an error a person can act on: the thing and the place it happened,
// the cause, and the next step.
type Error struct {
	Kind Kind
	What string // the thing and the place: `open store "counts" (task 0_1)`
	Err  error  // the cause; may be nil
	Try  string // the next step; empty when there is none
}

// Error joins what happened and why; the next step is printed apart.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.What
	}
	if e.What == "" {
		return e.Err.Error()
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of kind k; the verbs are fmt.Errorf's, %w included.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// WithTry returns e with a next step added.
func (e *Error) WithTry(format string, args ...any) *Error {
	c := *e
	c.Try = fmt.Sprintf(format, args...)
	return &c
}

// KindOf is the kind of the outermost *Error in err's chain; a cancelled
// context is Declined; anything else is Failed.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if errors.Is(err, context.Canceled) {
		return Declined
	}
	return Failed
}

// Tries collects the next steps in err's chain, outermost first.
func Tries(err error) []string {
	var out []string
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			break
		}
		if t := strings.TrimSpace(e.Try); t != "" {
			out = append(out, t)
		}
		err = e.Err
	}
	return out
}
