//go:build unix

package daemon

import "syscall"

// openFiles returns how many descriptors this process may have.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 256
	}
	return int(min(l.Cur, 1<<20))
}
