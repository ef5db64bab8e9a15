package sched

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

func heapInUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestJunkNames calls a million hosts and methods that nobody knows: the
// machine stays as big as its bounds allow, and works on.
func TestJunkNames(t *testing.T) {
	m := known(t, Config{Keys: 2, Burst: 1}, "100:10", "100:10")
	now := hour
	var after [2]uint64
	for round := range after {
		for i := range 500_000 {
			now = now.Add(20 * time.Microsecond)
			r := Request{Host: fmt.Sprint("h", round, i), Method: "/x", Pin: -1}
			if i%2 == 0 {
				r = Request{Host: "euw1", Method: fmt.Sprint("/", round, i), Pin: -1, High: true}
			}
			if p, _ := m.Enqueue(now, new(Waiter), r); p != nil {
				m.Answer(now, p, window.Answer{Status: 200, AppLimit: "1000:1", MethodLimit: "1000:1"})
			}
			m.Poll(now, func(*Waiter, *Permit) {})
		}
		if len(m.hosts) > maxHosts || len(m.buckets) > maxBuckets {
			t.Fatalf("%d hosts, %d buckets", len(m.hosts), len(m.buckets))
		}
		after[round] = heapInUse()
	}
	checkMachine(t, m, now)
	t.Logf("heap after 500,000: %d kB, after 1,000,000: %d kB; %d hosts, %d buckets", after[0]>>10, after[1]>>10, len(m.hosts), len(m.buckets))
	if after[1] > after[0]+after[0]/4+4<<20 || after[1] > 192<<20 {
		t.Errorf("heap after 500,000: %d kB, after 1,000,000: %d kB", after[0]>>10, after[1]>>10)
	}
	// Who stays away long enough for the charges to expire finds room again.
	now = now.Add(time.Minute)
	if p, why := m.Enqueue(now, new(Waiter), Request{Host: "newcomer", Method: "/x", Pin: -1}); p == nil {
		t.Errorf("no room for a newcomer: %+v", why)
	}
}

// TestSweepKeepsWhatCounts fills the machine with hosts of which each holds
// something else: what still counts stays, the rest goes.
func TestSweepKeepsWhatCounts(t *testing.T) {
	m := New(Config{Keys: 1, Burst: 1, Margin: 150 * time.Millisecond, QueueCapacity: 10, QueueTotal: 100})
	now := hour
	ask := func(host, method string) (*Permit, *Waiter) {
		w := new(Waiter)
		p, why := m.Enqueue(now, w, Request{Host: host, Method: method, Pin: -1, Deadline: limit.Never})
		if p == nil && why.Reason != None {
			t.Fatalf("%s: %+v", host, why)
		}
		return p, w
	}
	none := window.Answer{Status: 200, AppLimit: "10:1", MethodLimit: "10:1"}
	underWay, _ := ask("permit", "/x")
	first, _ := ask("waiter", "/x")
	_, waiter := ask("waiter", "/y")
	charged, _ := ask("application charge", "/x")
	m.Answer(now, charged, window.Answer{Status: 200, AppLimit: "10:600", MethodLimit: "10:1"})
	charged, _ = ask("method charge", "/x")
	m.Answer(now, charged, window.Answer{Status: 200, AppLimit: "10:1", MethodLimit: "10:600"})
	stopped, _ := ask("stop", "/x")
	m.Answer(now, stopped, window.Answer{Status: 429, Type: "service", RetryAfter: []string{"600"}})
	for i := 0; len(m.hosts) < maxHosts; i++ {
		p, _ := ask(fmt.Sprint("idle", i), "/x")
		m.Answer(now, p, none)
	}

	now = now.Add(20 * time.Second)
	ask("newcomer", "/x")
	for _, host := range []string{"permit", "waiter", "application charge", "method charge", "stop", "newcomer"} {
		if m.hosts[host] == nil {
			t.Errorf("%s: forgotten", host)
		}
	}
	if len(m.hosts) != 6 {
		t.Errorf("%d hosts, want 6", len(m.hosts))
	}
	if n := m.hosts["application charge"].apps[0].State(now, 0).Windows[0].Used; n != 1 {
		t.Errorf("the application's charge: %d, want 1", n)
	}
	m.Answer(now, underWay, none)
	m.Answer(now, first, none)
	m.Poll(now, func(w *Waiter, _ *Permit) {
		if w != waiter {
			t.Error("a stranger was let go")
		}
	})
	if m.queued != 0 {
		t.Errorf("%d wait", m.queued)
	}
	checkMachine(t, m, now)
}
