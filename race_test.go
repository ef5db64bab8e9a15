//go:build race

package riftrelay_test

import (
	"hash/fnv"
	"io"
	"testing"
)

// raceEnabled says that the race detector watches: all is several times slower,
// and a program can't have more than 8,128 goroutines.
const raceEnabled = true

// thinned leaves all but one in n cases of a long simulation to the run without
// the race detector, under which they take five times as long: they differ in
// numbers, not in which goroutines share what.
func thinned(t *testing.T, n uint32) bool {
	h := fnv.New32a()
	io.WriteString(h, t.Name())
	return h.Sum32()%n != 0
}
