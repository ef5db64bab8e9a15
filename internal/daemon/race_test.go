//go:build race

package daemon

// raceEnabled says that the race detector watches: a program can't have more
// than 8,128 goroutines then.
const raceEnabled = true
