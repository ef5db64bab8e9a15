package daemon

import "syscall"

// noCores keeps the kernel from writing the keys to disk when the process
// crashes. The limit alone isn't enough: a core_pattern that is a pipe, as
// systemd's, passes it by.
func noCores() {
	const setDumpable = 4 // PR_SET_DUMPABLE
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
}
