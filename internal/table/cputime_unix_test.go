//go:build unix

package table

import (
	"syscall"
	"time"
)

// cpuTime is what the process used so far: on a busy machine the only figure
// that repeats.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
