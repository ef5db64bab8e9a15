package riftrelay

import (
	"runtime"
	"strconv"
	"testing"
)

// Clients choose the ids: a million of them must not cost more memory than the
// ones that are remembered, and those used last are.
func TestIDMemoryIsBounded(t *testing.T) {
	m := newIDMemory()
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	id := func(i int) uint64 { return m.hash("an-encrypted-puuid-of-a-player-" + strconv.Itoa(i)) }
	const warm, most = 2 * maxIDs, 1_000_000
	var full uint64
	for i := range most {
		m.put(id(i), i%3)
		if key, known := m.get(id(0)); !known || key != 0 { // in use all the time
			t.Fatalf("an id in use was forgotten after %d others", i)
		}
		if i == warm {
			full = heap()
		}
	}
	if n := len(m.young) + len(m.old); n > warm || n < maxIDs {
		t.Errorf("%d ids are remembered, want %d to %d", n, maxIDs, warm)
	}
	if end := heap(); end > full+1<<20 {
		t.Errorf("heap %d KiB after %d ids, %d KiB after %d", full>>10, warm, end>>10, most)
	}
	for i := most - maxIDs + 1; i < most; i++ {
		if key, known := m.get(id(i)); !known || key != i%3 {
			t.Fatalf("id %d, one of the last, is forgotten", i)
		}
	}
	if _, known := m.get(id(1)); known {
		t.Error("an id not used for a million others is remembered")
	}
	runtime.KeepAlive(m)
}
