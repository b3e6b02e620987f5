package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// guardDied is what the dashboard is sent when its guard is killed. It may come
// once for every thread of the guard, so it is none of the signals whose second
// one ends a command at once.
const guardDied = syscall.SIGUSR1

// endWithParent asks the dashboard to end when its guard is killed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: guardDied}
}

// first is what the guard passes on when it is signalled.
func first(os.Signal) os.Signal { return guardDied }

// whileGuarded ends when the guard does.
func whileGuarded(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, guardDied)
}
