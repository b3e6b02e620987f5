//go:build !linux

package cmd

import (
	"context"
	"os"
	"syscall"
)

func endWithParent() *syscall.SysProcAttr { return nil }

func first(s os.Signal) os.Signal { return s }

func whileGuarded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
