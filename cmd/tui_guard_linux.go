package cmd

import "syscall"

// endWithParent asks the dashboard to end when its guard is killed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
