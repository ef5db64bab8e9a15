//go:build !unix

package daemon

func openFiles() int { return 1 << 20 }
