package cmd

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		answer string
		tty    bool
		want   op.Kind
		ok     bool
	}{
		{"y\n", true, 0, true}, {" YES \n", true, 0, true},
		{"n\n", true, op.Declined, false}, {"\n", true, op.Declined, false}, {"", true, op.Declined, false}, {"yep\n", true, op.Declined, false},
		{"y\n", false, op.Usage, false},
	} {
		var errs bytes.Buffer
		a := &app{io: IO{In: strings.NewReader(c.answer), InTTY: c.tty, Err: &errs}}
		err := a.confirm(t.Context(), []string{"move store counts\x1b[2J aside"})
		if c.ok != (err == nil) || !c.ok && op.KindOf(err) != c.want {
			t.Errorf("%q, terminal %v: %v", c.answer, c.tty, err)
		}
		if !strings.Contains(errs.String(), `move store counts\x1b[2J aside`) {
			t.Errorf("the change is not shown: %q", errs.String())
		}
	}
}

func TestConfirmIsInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := io.Pipe() // nobody answers
	a := &app{io: IO{In: r, InTTY: true, Err: io.Discard}}
	if err := a.confirm(ctx, []string{"x"}); op.KindOf(err) != op.Declined {
		t.Errorf("got %v, want declined", err)
	}
}
