//go:build !linux

package cmd

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
