//go:build unix

package redisstore

import "syscall"

// What makes a process stand still, and go on.
const (
	standStill = syscall.SIGSTOP
	goOn       = syscall.SIGCONT
)
