package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// waiting makes a machine of two keys that have used up the application's
// limit, and one call that waits for the method /m.
func waiting(t *testing.T, pin int) (*Machine, limit.Instant) {
	t.Helper()
	m := New(Config{Keys: 2, Burst: 1, Margin: 150 * time.Millisecond, QueueCapacity: 10, QueueTotal: 10})
	for key, now := range []limit.Instant{0, second} {
		p, why := m.Enqueue(now, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: key, Deadline: limit.Never})
		if p == nil {
			t.Fatal(why)
		}
		m.Sent(now, p)
		m.Answer(now, p, window.Answer{Status: 200, AppLimit: "1:10"})
	}
	if p, why := m.Enqueue(second, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: pin, Deadline: limit.Never}); p != nil || why.Reason != None {
		t.Fatalf("%v, %v", p, why)
	}
	return m, second
}

func whyOf(t *testing.T, m *Machine, now limit.Instant) Why {
	t.Helper()
	q := m.State(now).Queues
	if len(q) != 1 || !q[0].Explained {
		t.Fatalf("queues %+v", q)
	}
	return q[0].Why
}

// The key that has room first is the one that is waited for.
func TestWhyPicksTheKey(t *testing.T) {
	m, now := waiting(t, -1)
	if y := whyOf(t, m, now); y.Part != Application || y.Key != 0 || y.Hindrance != window.Full || y.Until != 10*second || y.Start != 10*second {
		t.Errorf("%+v, want key 0 at 10 s", y)
	}
	m, now = waiting(t, 1)
	if y := whyOf(t, m, now); y.Key != 1 || y.Until != 11*second {
		t.Errorf("pinned: %+v, want key 1 at 11 s", y)
	}
}

// A call for the first key that is any good has no use for another that has
// room: it must not be said to go next there.
func TestWhyOfTheFirstKey(t *testing.T) {
	m := New(Config{Keys: 2, Burst: 1, Margin: 150 * time.Millisecond, QueueCapacity: 10, QueueTotal: 10})
	for _, key := range []int{1, 0} {
		now := limit.Instant(1-key) * second
		p, why := m.Enqueue(now, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: key, Deadline: limit.Never})
		if p == nil {
			t.Fatal(why)
		}
		m.Sent(now, p)
		m.Answer(now, p, window.Answer{Status: 200, AppLimit: "1:10"})
	}
	if p, why := m.Enqueue(second, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: -1, First: true, Deadline: limit.Never}); p != nil || why.Reason != None {
		t.Fatalf("%v, %v", p, why)
	}
	if y := whyOf(t, m, 10*second+1); y.Key != 0 || y.Part != Application || y.Until != 11*second {
		t.Errorf("%+v, want key 0 at 11 s: key 1 has room", y)
	}
	m.Suspect(10*second+1, 0, 401)
	if y := whyOf(t, m, 10*second+1); y.Key != 1 || y.Part != NoPart {
		t.Errorf("%+v, want key 1 at once: key 0 is suspect", y)
	}
}

// suspectAt has a key refused where calls wait, and made suspect.
func suspectAt(m *Machine, now limit.Instant, id int) {
	m.Deny(now, id, "euw1", "/m", 401)
	m.Suspect(now, id, 401)
}

func TestWhyOfKeys(t *testing.T) {
	m, now := waiting(t, -1)
	suspectAt(m, now, 0)
	if y := whyOf(t, m, now); y.Key != 1 || y.Part != Application {
		t.Errorf("one suspect: %+v, want key 1", y)
	}
	suspectAt(m, now, 1)
	if y := whyOf(t, m, now); y.Part != NoUsableKey || y.Key != -1 || y.Until != now.Add(firstProbe) {
		t.Errorf("both suspect: %+v, want no key until the next probe", y)
	}
}

// A method that one key may not call waits for the other.
func TestWhyOfAMethodRefused(t *testing.T) {
	m, _ := waiting(t, -1)
	now := 10*second + 1 // key 0 has room
	m.Deny(now, 0, "euw1", "/m", 403)
	if y := whyOf(t, m, now); y.Key != 1 || y.Part != Application || y.Until != 11*second {
		t.Errorf("%+v, want key 1 at 11 s", y)
	}
	m.Deny(now, 1, "euw1", "/m", 403) // no other to go on: both may be tried
	if y := whyOf(t, m, now); y.Key != 0 || y.Part != NoPart || y.Until != now {
		t.Errorf("%+v, want key 0 at once", y)
	}
}

func TestWhyOfAService(t *testing.T) {
	m, now := waiting(t, -1)
	b := m.buckets[bucketID{"euw1", "/m", false}]
	b.service.Restore(now, limit.Saved{Stop: time.Minute, Cause: limit.Service}, 0)
	if y := whyOf(t, m, now); y.Part != Service || y.Hindrance != window.Stopped || y.Cause != limit.Service || y.Until != now.Add(time.Minute) {
		t.Errorf("%+v, want the service's stop", y)
	}
}

// However many queues there are, the lock isn't held for all of them.
func TestWhyIsBounded(t *testing.T) {
	m := New(Config{Keys: 1, Margin: time.Second, QueueCapacity: 10, QueueTotal: 10000, Start: second})
	for i := range explained + 100 {
		method := string(rune('a'+i%26)) + string(rune('a'+i/26))
		if _, why := m.Enqueue(0, new(Waiter), Request{Host: "euw1", Method: method, Pin: -1, Deadline: limit.Never}); why.Reason != None {
			t.Fatal(why)
		}
	}
	n := 0
	for _, q := range m.State(0).Queues {
		if q.Explained {
			n++
		}
	}
	if n != explained {
		t.Errorf("%d explained, want %d", n, explained)
	}
}
