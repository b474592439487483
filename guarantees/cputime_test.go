//go:build unix

package guarantees_test

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time this process has used: the fake's share
// is in it, for it runs in this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
