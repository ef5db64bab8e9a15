//go:build race

package riftrelay_test

// raceEnabled says that the race detector watches: all is several times slower,
// and a program can't have more than 8,128 goroutines.
const raceEnabled = true
