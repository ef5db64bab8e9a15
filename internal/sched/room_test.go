package sched

import (
	"slices"
	"testing"

	"riftrelay/internal/limit"
)

// TestFullQueueTotalMakesRoomForOthers has one client fill QueueTotal. A client
// with fewer calls gets a place: the last call of the first client loses its own.
// The first client itself is refused.
func TestFullQueueTotalMakesRoomForOthers(t *testing.T) {
	m := known(t, Config{Keys: 1, Burst: 1, QueueCapacity: 10, QueueTotal: 4}, "2:10", "100:1")
	now := hour
	ask := func(client string) (w *Waiter, refused bool) {
		w = &Waiter{Data: client}
		_, why := m.Enqueue(now, w, Request{Host: "euw1", Method: "/x", Pin: -1, Client: client, Deadline: limit.Never})
		return w, why.Reason == QueueFull
	}
	ask("first") // goes at once
	ask("first") // the same
	var waiting []*Waiter
	for range 4 {
		w, refused := ask("first")
		if refused {
			t.Fatal("a call is refused while there is room")
		}
		waiting = append(waiting, w)
	}
	if _, refused := ask("first"); !refused {
		t.Error("the client that fills the queues gets one place more")
	}
	for i, want := range []*Waiter{waiting[3], waiting[2]} {
		if _, refused := ask("other"); refused {
			t.Fatalf("call %d of a client with fewer calls is refused", i+1)
		}
		var out []*Waiter
		m.Expel(now, func(w *Waiter, _ Refusal) { out = append(out, w) })
		if !slices.Equal(out, []*Waiter{want}) {
			t.Errorf("call %d takes the places of %d calls, want that of the first client's last call", i+1, len(out))
		}
	}
	if _, refused := ask("other"); !refused {
		t.Error("a client gets more places than the one that it takes them from")
	}
}
