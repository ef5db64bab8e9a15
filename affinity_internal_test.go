package riftrelay

import (
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
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
		m.put(id(0), 0)
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

// An id that is in use stays known, whatever Riot says of its player, such as
// 404 to who isn't in a game; one that its key can't read is not kept for that.
func TestIDInUseStaysKnown(t *testing.T) {
	l, err := New(Config{Keys: []Key{{Name: "a", Value: "RGAPI-" + "a"}, {Name: "b", Value: "RGAPI-" + "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	transport := &Transport{Limiter: l}
	r, err := l.cfg.Table.Match(http.MethodGet, "euw1", "/lol/summoner/v4/summoners/by-puuid/x")
	if err != nil {
		t.Fatal(err)
	}
	const used, denied, idle = 1, 2, 3
	for _, id := range []uint64{used, denied, idle} {
		l.ids17.put(id, 0)
	}
	answer := func(id uint64, status int, body string) {
		resp := &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
		c := &call{t: transport, route: r, options: Options{choice: &choice{id: id, known: true}}}
		c.tryOtherKey(Permit{l: l, key: l.keys.Load().places[0]}, resp, nil)
	}
	for i := range uint64(3 * maxIDs) {
		l.ids17.put(1000+i, 1)
		if i%1000 == 0 {
			answer(used, http.StatusNotFound, "")
			answer(denied, http.StatusBadRequest, "Exception decrypting x")
		}
	}
	for id, want := range map[uint64]bool{used: true, denied: false, idle: false} {
		if _, known := l.ids17.get(id); known != want {
			t.Errorf("id %d: known is %v, want %v", id, known, want)
		}
	}
}
