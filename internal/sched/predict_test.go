package sched

import (
	"fmt"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// guess is a call with what was predicted for it.
type guess struct {
	at limit.Instant
	Request
}

// served lets the waiting calls go, each answered after rtt and returns when
// each of them went.
func served(m *Machine, now limit.Instant, rtt time.Duration, a window.Answer) map[*guess]limit.Instant {
	went := map[*guess]limit.Instant{}
	type flight struct {
		p  *Permit
		at limit.Instant
	}
	var flights []flight
	for _, p := range m.permits {
		flights = append(flights, flight{p, now.Add(rtt)})
		m.Sent(now, p)
	}
	for {
		var let []*Permit
		m.Poll(now, func(w *Waiter, p *Permit) {
			went[w.Data.(*guess)] = now
			let = append(let, p)
		})
		for _, p := range let {
			m.Sent(now, p)
			flights = append(flights, flight{p, now.Add(rtt)})
		}
		next := m.NextWake()
		if len(flights) > 0 && flights[0].at <= next {
			now = flights[0].at
			m.Answer(now, flights[0].p, a)
			flights = flights[1:]
			continue
		}
		if next == limit.Never {
			return went
		}
		now = max(now, next)
	}
}

// ask enqueues n calls, each with the prediction for it.
func ask(t *testing.T, m *Machine, now limit.Instant, n int, r Request) (all []*guess) {
	t.Helper()
	r.Deadline = limit.Never
	for range n {
		g := &guess{m.Estimate(now, r, 1).Start, r}
		if p, why := m.Enqueue(now, &Waiter{Data: g}, r); p == nil && why.Reason != None {
			t.Fatalf("refused: %+v", why)
		} else if p == nil {
			all = append(all, g)
		}
	}
	return all
}

// TestPredictionOfOneQueue holds the prediction against what happens, with one
// key, one method, and nothing that comes later. A call is charged until a
// window and J after its sending at most: an answer that comes earlier frees
// its place earlier, by up to J each time the window is full, and by so much
// the prediction is late. It never is by more than that and the slot in which a
// charge expires, so no call that could be served is refused for more. It is
// early where pacing and charges, or two windows, hold up the calls in turn:
// each is reckoned alone.
func TestPredictionOfOneQueue(t *testing.T) {
	const j = 150 * time.Millisecond
	for _, limits := range []string{"20:1", "20:1,100:120", "500:10", "100:10"} {
		for _, burst := range []float64{0, 1} {
			for _, rtt := range []time.Duration{20 * time.Millisecond, j, time.Second} {
				t.Run(fmt.Sprintf("%s/b=%v/%v", limits, burst, rtt), func(t *testing.T) {
					m := known(t, Config{Keys: 1, Burst: burst}, limits, "100000:1")
					quotas, err := limit.ParseQuotas(limits)
					if err != nil {
						t.Fatal(err)
					}
					// Queue 2.5 of the longest window.
					last := quotas[len(quotas)-1]
					all := ask(t, m, hour, last.N*5/2, Request{Host: "euw1", Method: "/x", Pin: -1})
					went := served(m, hour, rtt, window.Answer{Status: 200})
					var early, late time.Duration
					for _, g := range all {
						d := g.at.Sub(went[g])
						early, late = max(early, -d), max(late, d)
						after := g.at.Sub(hour)
						tooLate, tooEarly := time.Duration(0), time.Duration(0)
						for i, q := range quotas {
							full := after/q.W + 1 // so often it was full before
							slot := full * max(time.Millisecond, q.W/512)
							tooLate = max(tooLate, full*j+slot)
							tooEarly = max(tooEarly, slot)
							if burst < 1 {
								tooEarly += full * j
							} else if i > 0 { // the shorter window spreads the calls of the longer one
								short := quotas[i-1]
								tooEarly += full * time.Duration(q.N/short.N) * (short.W + j)
							}
						}
						if d > tooLate || -d > tooEarly {
							t.Fatalf("predicted %v, went at %v; allowed: %v late, %v early", after, went[g].Sub(hour), tooLate, tooEarly)
						}
					}
					t.Logf("%d calls: predicted at most %v too early, %v too late", len(all), early, late)
				})
			}
		}
	}
}

// TestPredictionRefusesNothingServable has methods, priorities and keys share
// a budget: no call may be told a later start than it gets, for then it could
// be refused wrongly. What TestPredictionOfOneQueue allows aside.
func TestPredictionRefusesNothingServable(t *testing.T) {
	x, y := Request{Host: "euw1", Method: "/x", Pin: -1}, Request{Host: "euw1", Method: "/y", Pin: -1}
	high := func(r Request) Request { r.High = true; return r }
	pin := func(r Request, key int) Request { r.Pin = key; return r }
	type load struct {
		n int
		r Request
	}
	for _, c := range []struct {
		name        string
		keys        int
		app, method string
		loads       []load
		slack       time.Duration // beyond the bound of TestPredictionOfOneQueue
	}{
		{"two methods", 1, "10:10", "100000:1", []load{{40, x}, {5, y}, {20, x}}, 0},
		{"high comes first", 1, "10:10", "100000:1", []load{{20, high(x)}, {20, y}, {5, high(y)}}, 0},
		{"each method its own limit", 1, "100:10", "5:10", []load{{20, x}, {20, y}}, 100 * time.Millisecond}, // a lane that wasn't tried yet counts, though its method has no room
		{"keys", 3, "10:10", "100000:1", []load{{50, x}, {50, y}}, 0},
		{"many keys", 7, "10:10", "100000:1", []load{{150, x}}, 0},
		{"one key is pinned", 2, "10:10", "100000:1", []load{{40, pin(x, 0)}, {5, pin(y, 1)}, {15, x}}, 0},
		{"the only key is pinned", 1, "10:10", "100000:1", []load{{20, pin(x, 0)}, {5, x}}, 0},
	} {
		for _, burst := range []float64{0, 1} {
			t.Run(fmt.Sprintf("%s/b=%v", c.name, burst), func(t *testing.T) {
				m := known(t, Config{Keys: c.keys, Burst: burst}, c.app, c.method)
				// Somebody uses each key up, so that all have to queue.
				for range 11 * c.keys {
					m.Enqueue(hour, &Waiter{Data: &guess{Request: x}}, Request{Host: "euw1", Method: "/x", Pin: -1, High: true, Deadline: hour})
				}
				m.Poll(hour, func(*Waiter, *Permit) {})
				var all []*guess
				for _, l := range c.loads {
					all = append(all, ask(t, m, hour, l.n, l.r)...)
				}
				went := served(m, hour, 150*time.Millisecond, window.Answer{Status: 200})
				var late, early time.Duration
				for _, g := range all {
					d := g.at.Sub(went[g])
					late, early = max(late, d), max(early, -d)
					if full := g.at.Sub(hour)/(10*time.Second) + 1; d > full*150*time.Millisecond+c.slack {
						t.Errorf("%+v: predicted %v, went at %v", g.Request, g.at.Sub(hour), went[g].Sub(hour))
					}
				}
				t.Logf("%d calls: predicted at most %v too late, %v too early", len(all), late, early)
			})
		}
	}
}

// TestPredictionOfUnequalKeys has one key with a far higher limit than the
// other, and one that is stopped: calls that the good one serves in time
// aren't refused for the other.
func TestPredictionOfUnequalKeys(t *testing.T) {
	m := known(t, Config{Keys: 3, Burst: 1}, "10:10", "100000:1")
	tell := func(key int, a window.Answer) {
		p, _ := m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: key, Deadline: limit.Never})
		m.Answer(hour, p, a)
	}
	tell(1, window.Answer{Status: 200, AppLimit: "200:10"})
	tell(2, window.Answer{Status: 429, Type: "application", RetryAfter: []string{"600"}})
	for i := range 200 {
		p, why := m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: hour})
		if p == nil {
			t.Fatalf("call %d: %+v", i, why)
		}
	}
	for range 20 { // 209 go at once, so some of these do
		m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: limit.Never})
	}
	e := m.Estimate(hour, Request{Host: "euw1", Method: "/x", Pin: -1}, 1)
	if e.Start < hour.Add(10*time.Second) || e.Start > hour.Add(11*time.Second) {
		t.Errorf("the next would start after %v, want the window of 10s", e.Start.Sub(hour))
	}
}
