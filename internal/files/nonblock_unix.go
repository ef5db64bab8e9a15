//go:build unix

package files

import "syscall"

// nonblock has a pipe that took a file's place opened without a wait.
const nonblock = syscall.O_NONBLOCK
