package cmd

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"sstool/internal/op"
)

// confirm shows what is about to change and asks. Without a person to ask it is
// a usage error: a program that means it says --yes.
func (a *app) confirm(ctx context.Context, changes []string) error {
	for _, c := range changes {
		fmt.Fprintln(a.io.Err, "  "+printable(c))
	}
	if !a.io.InTTY {
		return op.Errorf(op.Usage, "this changes what is there, and there is no terminal to ask on").
			WithTry("--yes to go ahead, --dry-run to see the plan")
	}
	fmt.Fprint(a.io.Err, "Go ahead? [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.io.In).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.io.Err)
		return op.Errorf(op.Declined, "interrupted; nothing was changed")
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return op.Errorf(op.Declined, "declined; nothing was changed")
	}
}
