package window

import (
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Where a share is less than one call, each replica has a call now and then, and
// no moment is Never.
func TestShareOfLessThanACall(t *testing.T) {
	const replicas, start = 12, limit.Instant(time.Hour)
	minute := limit.Quota{N: 10, W: time.Minute}
	sent := []limit.Instant{}
	for i := range replicas {
		s := NewScope(0, []limit.Quota{minute})
		s.known, s.solo = true, false
		s.Lease(true, float64(i)/replicas)
		s.GoAlone(start, replicas, j150)
		var h Hold
		for now := start; now < start.Add(20*time.Minute); {
			at := s.Next(now, Policy{Burst: 1, Margin: j150})
			if at == limit.Never {
				t.Fatalf("replica %d: never, %v after the store went", i, now.Sub(start))
			}
			if at > now { // not before, and perhaps later
				now = at
				continue
			}
			if now < start.Add(20*time.Minute) {
				h.Take(now, Policy{Burst: 1, Margin: j150}, nil, s)
				h.Sent(now, j150)
				h.Settle(now, j150)
				sent = append(sent, now)
			}
		}
	}
	if n := len(sent); n < 60 || n > 100 {
		t.Errorf("%d calls in 20 minutes, want about half of 180", n)
	}
	// Turns follow each other: no two calls are closer than three quarters of one.
	slices.Sort(sent)
	for i := 1; i < len(sent); i++ {
		if d := sent[i].Sub(sent[i-1]); d < rarely*minute.W/9*3/4 {
			t.Errorf("two calls within %v", d)
		}
	}
}

// Once the store is back, a cap that lets nothing go ends with its time.
func TestCapEndsAfterRejoin(t *testing.T) {
	const start = limit.Instant(time.Hour)
	s := NewScope(0, []limit.Quota{{N: 10, W: time.Minute}})
	s.known, s.solo = true, false
	s.Lease(true, 0)
	s.GoAlone(start, 12, j150)
	until := start.Add(2 * time.Second)
	s.Rejoin(until)
	s.Grant(false, Lease{Start: start, By: start.Add(10 * time.Second), Stub: limit.Stub{Method: "/x"}})
	if at := s.Next(start, Policy{Burst: 1, Margin: j150}); at != until {
		t.Errorf("goes in %v, want %v", at.Sub(start), until.Sub(start))
	}
}
