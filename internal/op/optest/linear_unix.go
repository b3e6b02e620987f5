//go:build unix

package optest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Linear fails when work on four times as much takes far more than four times
// the processor time: the square of four is sixteen. The best of some runs
// counts, as other processes are in the way of both.
func Linear(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	const runs, most = 3, 9
	small, large := prepare(n), prepare(4*n)
	var a, b time.Duration
	for range 3 {
		a, b = best(runs, small), best(runs, large)
		if b < most*a {
			return
		}
	}
	t.Errorf("%d: %v, %d: %v: %.1f times as long, expected about 4", n, a, 4*n, b, b.Seconds()/a.Seconds())
}

func best(runs int, work func()) time.Duration {
	least := time.Duration(0)
	for range runs {
		runtime.GC()
		start := processorTime()
		work()
		if took := processorTime() - start; least == 0 || took < least {
			least = took
		}
	}
	return max(least, time.Millisecond)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
