package redisstore

import "syscall"

// Windows has no such signals, and no redis-server: the tests with them don't
// run there, but compile.
const (
	standStill = syscall.Signal(-1)
	goOn       = syscall.Signal(-1)
)
