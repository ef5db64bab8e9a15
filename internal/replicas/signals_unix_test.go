//go:build unix

package replicas

import "syscall"

// What makes a process stand still, and go on.
const (
	standStill = syscall.SIGSTOP
	goOn       = syscall.SIGCONT
)
