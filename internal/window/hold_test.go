package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestChargeLifetime follows one call through every end it can have, on a
// window of one call in 10 s.
func TestChargeLifetime(t *testing.T) {
	const w = 10 * time.Second
	sentAt := ms[limit.Instant](1000)
	for _, c := range []struct {
		name string
		end  func(h *Hold)
		want limit.Instant // when the next call can go
	}{
		{"answered early", func(h *Hold) { h.Sent(sentAt, j150); h.Settle(ms[limit.Instant](1050), j150) }, ms[limit.Instant](11_050)},
		{"answered at J", func(h *Hold) { h.Sent(sentAt, j150); h.Settle(ms[limit.Instant](1150), j150) }, ms[limit.Instant](11_150)},
		{"answered late", func(h *Hold) { h.Sent(sentAt, j150); h.Settle(ms[limit.Instant](3000), j150) }, ms[limit.Instant](11_150)},
		{"under way", func(h *Hold) { h.Sent(sentAt, j150) }, ms[limit.Instant](11_150)},
		{"hung 60 s", func(h *Hold) { h.Sent(sentAt, j150); h.Settle(ms[limit.Instant](61_000), j150) }, ms[limit.Instant](61_000)},
		{"sent twice", func(h *Hold) { h.Sent(sentAt, j150); h.Sent(ms[limit.Instant](1100), j150) }, ms[limit.Instant](11_150)},
		{"given up at once", func(h *Hold) { h.Sent(sentAt, j150); h.Abandon() }, ms[limit.Instant](11_150)},
		{"refund of what was sent", func(h *Hold) { h.Sent(sentAt, j150); h.Refund() }, ms[limit.Instant](11_150)},
		{"answered twice", func(h *Hold) {
			h.Sent(sentAt, j150)
			h.Settle(ms[limit.Instant](1050), j150)
			h.Settle(ms[limit.Instant](1100), j150)
			h.Refund()
		}, ms[limit.Instant](11_050)},
		{"answered, never reported as sent", func(h *Hold) { h.Settle(ms[limit.Instant](1200), j150) }, ms[limit.Instant](11_200)},
		{"never sent", func(h *Hold) {}, limit.Never},
		{"refunded", func(h *Hold) { h.Refund() }, 0},
		{"refunded twice", func(h *Hold) { h.Refund(); h.Refund(); h.Settle(sentAt, j150) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("1:10", "100:1")
			p := Policy{Burst: 1, Margin: j150}
			h := new(Hold)
			h.Take(ms[limit.Instant](900), p, &r.service, r.app, r.method)
			if at := r.app.Next(ms[limit.Instant](900), p); at != limit.Never {
				t.Errorf("next at %v while the call isn't sent", at)
			}
			c.end(h)
			// Looked at when most paths are through; the hung one's is over then.
			now := ms[limit.Instant](3000)
			if c.name == "hung 60 s" {
				now = ms[limit.Instant](61_000)
			}
			if at := r.app.Next(now, p); at != max(now, c.want) {
				t.Errorf("next at %v, want %v", time.Duration(at), time.Duration(c.want))
			}
			if c.want > now && c.want < limit.Never {
				if r.app.Next(c.want-1, p) != c.want || r.app.Next(c.want, p) != c.want {
					t.Errorf("room not exactly at %v", time.Duration(c.want))
				}
			}
			if w := r.app.windows[0]; w.pending < 0 || w.used() > 1 {
				t.Errorf("%+v", w)
			}
		})
	}
	if w != 10*time.Second {
		t.Fatal("the rows are for 10 s")
	}
}

func TestHungCallHoldsNoSlotOfASecond(t *testing.T) {
	r := rigWith("1:1", "100:1")
	r.send(0)
	if at := r.next(1); at != ms[limit.Instant](1150) {
		t.Errorf("next at %v, want 1.15s", time.Duration(at))
	}
}

// A margin that grows moves charges already placed; one that shrinks doesn't: a
// call that was slow to arrive is not undone by a way that is quick now.
func TestMarginMovesChargesPlaced(t *testing.T) {
	for _, c := range []struct{ j, want float64 }{{5, 10_150}, {150, 10_150}, {2000, 12_000}} {
		r := rigWith("1:10", "100:1")
		r.send(0)
		p := Policy{Burst: 1, Margin: ms[time.Duration](c.j)}
		if at := r.app.Next(ms[limit.Instant](1), p); at != ms[limit.Instant](c.want) {
			t.Errorf("J %v ms: next at %v, want %v ms", c.j, time.Duration(at), c.want)
		}
	}
}

// A margin that has been small for as long as a charge lasts is the charge's.
func TestSmallMarginHolds(t *testing.T) {
	w := newWindow(limit.Quota{N: 1, W: time.Second})
	ask := func(at limit.Instant, j time.Duration) time.Duration {
		return w.expire(ms[limit.Instant](float64(at)), j)
	}
	ask(0, 150*time.Millisecond)
	for at := limit.Instant(10); at <= 5000; at += 10 {
		kept := ask(at, 5*time.Millisecond)
		if want := 150 * time.Millisecond; at < 1150 && kept != want {
			t.Fatalf("at %d ms the charges have %v, want %v as when the oldest was sent", at, kept, want)
		}
		if want := 5 * time.Millisecond; at > 2*1150 && kept != want {
			t.Fatalf("at %d ms the charges have %v, want %v", at, kept, want)
		}
	}
}

// TestAllOrNothing: asking costs nothing, whoever refuses.
func TestAllOrNothing(t *testing.T) {
	r := rigWith("100:1", "1:10")
	r.send(0)
	before := r.app.State(1, j150).Windows[0].Used
	for range 10 {
		if at := r.next(1); at != ms[limit.Instant](10_150) {
			t.Fatalf("next at %v, want 10.15s", time.Duration(at))
		}
	}
	if after := r.app.State(1, j150).Windows[0].Used; after != before {
		t.Errorf("a method that refuses costs the application %d charges", after-before)
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name    string
		sent    bool
		end     func(h *Hold)
		pending int
		want    int // charges on the new window at 12.5 s, W being 10 s
	}{
		{"sent before", true, func(*Hold) {}, 0, 0},
		{"sent before, answered late", true, func(h *Hold) { h.Settle(ms[limit.Instant](2200), j150) }, 0, 0},
		{"pending", false, func(*Hold) {}, 1, 1},
		{"pending, sent later", false, func(h *Hold) { h.Sent(ms[limit.Instant](2450), j150) }, 0, 1},
		{"pending, refunded", false, func(h *Hold) { h.Refund() }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("100:1", "100:1")
			other := r.take(ms[limit.Instant](1000))
			if c.sent {
				other.Sent(ms[limit.Instant](1000), j150)
			}
			h := r.send(ms[limit.Instant](1100))
			l := r.learn(ms[limit.Instant](2000), h, Answer{Status: 200, AppLimit: "100:1,50:10", AppCount: "1:1,1:10"})
			if !l.Fresh {
				t.Fatal("the new window goes unnoticed")
			}
			other.Join(ms[limit.Instant](2100), j150) // again: changes nothing
			w := r.app.windows[1]
			if got := r.app.State(ms[limit.Instant](2150), j150).Windows[1].Used; got != 2 {
				t.Errorf("%d charges on the new window, want one for each call", got)
			}
			c.end(other)
			if got := r.app.State(ms[limit.Instant](12_500), j150).Windows[1].Used; got != c.want || w.pending != c.pending {
				t.Errorf("in the end %d charges and %d pending, want %d and %d", got, w.pending, c.want, c.pending)
			}
		})
	}
}

func TestLimitsChangeInMidWindow(t *testing.T) {
	p := Policy{Burst: 1, Margin: j150}
	r := rigWith("20:10", "100:1")
	var calls []*Hold
	for i := range 10 {
		calls = append(calls, r.send(ms[limit.Instant](float64(100*i))))
	}
	now := ms[limit.Instant](1000)
	r.learn(now, calls[9], Answer{Status: 200, AppLimit: "5:10", AppCount: "10:10"})
	// Six have to go: the sixth was sent at 500 ms.
	if at := r.app.Next(now, p); at != ms[limit.Instant](10_650) {
		t.Errorf("lowered: next at %v, want 10.65s", time.Duration(at))
	}
	h := r.send(now)
	r.learn(now, h, Answer{Status: 200, AppLimit: "12:10", AppCount: "11:10"})
	if at := r.app.Next(now, p); at != now {
		t.Errorf("raised: next at %v, want now", time.Duration(at))
	}

	// The distance to the next call shrinks with a raised limit.
	r = rigWith("1:600", "100:1")
	h = r.send(0)
	r.learn(ms[limit.Instant](50), h, Answer{Status: 200, AppLimit: "600:600", AppCount: "1:600"})
	if at := r.app.Next(ms[limit.Instant](50), Policy{Margin: j150}); at != ms[limit.Instant](1050) {
		t.Errorf("raised, paced: next at %v, want 1.05s", time.Duration(at))
	}
}

// TestStaleAnswer: a call that hung tells of limits as they were.
func TestStaleAnswer(t *testing.T) {
	r := rigWith("20:10", "100:1")
	hung := r.send(ms[limit.Instant](100))
	h := r.send(ms[limit.Instant](200))
	r.learn(ms[limit.Instant](300), h, Answer{Status: 200, AppLimit: "5:10,50:60", AppCount: "2:10,1:60"})
	r.learn(ms[limit.Instant](60_000), hung, Answer{Status: 200, AppLimit: "20:10,70:120", AppCount: "1:10,1:120"})
	if got := r.app.windows; len(got) != 2 || got[0].quota != (limit.Quota{N: 5, W: 10 * time.Second}) || got[1].quota != (limit.Quota{N: 50, W: time.Minute}) {
		t.Errorf("windows after a stale answer: %v", r.app.State(ms[limit.Instant](60_000), j150).Windows)
	}
}

func TestRemovedWindow(t *testing.T) {
	r := rigWith("20:1,100:120", "100:1")
	pending, sent := r.take(ms[limit.Instant](100)), r.send(ms[limit.Instant](100))
	h := r.send(ms[limit.Instant](200))
	r.learn(ms[limit.Instant](300), h, Answer{Status: 200, AppLimit: "20:1", AppCount: "3:1"})
	pending.Refund() // calls that still hold it do no harm
	sent.Settle(ms[limit.Instant](350), j150)
	if s := r.app.State(ms[limit.Instant](5000), j150); len(s.Windows) != 1 || s.Windows[0].Used != 0 || s.InFlight != 0 {
		t.Errorf("%+v", s)
	}
	if !r.app.Idle(ms[limit.Instant](5000), j150) {
		t.Error("not idle")
	}
}
