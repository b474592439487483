package main

import (
	"syscall"
	"unsafe"
)

const canKillAtBytes = true

// killAtBytes makes the kernel end the process, without running any of its code, when
// it writes more than that into a file. What fits is written.
func killAtBytes(size int) {
	limit := syscall.Rlimit{Cur: uint64(size), Max: uint64(size)}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	// Go's runtime ignores SIGXFSZ; zeros are a sigaction with the default handler.
	var action [64]byte
	const signalSetSize = 8
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGXFSZ), uintptr(unsafe.Pointer(&action)), 0, signalSetSize, 0, 0); errno != 0 {
		panic(errno)
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
