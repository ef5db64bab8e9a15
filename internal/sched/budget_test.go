package sched

import (
	"testing"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// serveFor keeps queues filled for a time, each call answered 50 ms after it
// went and returns when the calls of each request went.
func serveFor(t *testing.T, m *Machine, from, to limit.Instant, requests ...Request) [][]limit.Instant {
	t.Helper()
	went := make([][]limit.Instant, len(requests))
	type flight struct {
		p  *Permit
		at limit.Instant
	}
	var flights []flight
	now := from
	send := func(i int, p *Permit) {
		went[i] = append(went[i], now)
		m.Sent(now, p)
		flights = append(flights, flight{p, now + 50*second/1000})
	}
	waiting := make([]int, len(requests))
	for now < to {
		for i, r := range requests {
			for waiting[i] < 5 {
				r.Deadline = limit.Never
				w := &Waiter{Data: i}
				if p, why := m.Enqueue(now, w, r); p != nil {
					send(i, p)
				} else if why.Reason != None {
					t.Fatal(why)
				} else {
					waiting[i]++
				}
			}
		}
		m.Poll(now, func(w *Waiter, p *Permit) {
			waiting[w.Data.(int)]--
			send(w.Data.(int), p)
		})
		next := m.NextWake()
		if len(flights) > 0 && flights[0].at <= next {
			now = max(now, flights[0].at)
			m.Answer(now, flights[0].p, window.Answer{Status: 200})
			flights = flights[1:]
			continue
		}
		now = max(now, next)
	}
	return went
}

func mostWithin(times []limit.Instant, w limit.Instant) int {
	most, first := 0, 0
	for i, t := range times {
		for t-times[first] >= w {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestOwedKeepsTheCeiling has high priority owe a turn to calls of normal, which
// have a budget: they get their twentieth turns only within its ceiling, and what
// it leaves goes to high. Once in the application's limit, once in the method's,
// once without a key.
func TestOwedKeepsTheCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		app, method string
		keyless     bool
	}{"application": {app: "100:10", method: "1000:1"}, "method": {app: "1000:1", method: "100:10"}, "keyless": {method: "100:10", keyless: true}} {
		m := New(Config{Keys: 1, Burst: 1, Margin: 150e6, QueueCapacity: 100, QueueTotal: 100, Shares: func(_, _ string) []window.Share { return []window.Share{{Of: 0.02}} }})
		p, _ := m.Enqueue(0, new(Waiter), Request{Host: "euw1", Method: "/x", Keyless: c.keyless, Pin: -1, Deadline: limit.Never})
		m.Answer(0, p, window.Answer{Status: 200, AppLimit: c.app, MethodLimit: c.method})
		r := Request{Host: "euw1", Method: "/x", Keyless: c.keyless, Pin: -1}
		high, small := r, r
		high.High, small.Budget = true, 1
		went := serveFor(t, m, hour, hour+60*second, high, small)
		if n := mostWithin(went[1], 10*second); n != 2 {
			t.Errorf("%s: %d calls of the budget within 10 s, want 2", name, n)
		}
		if n := len(went[0]) + len(went[1]); n < 580 {
			t.Errorf("%s: %d calls in a minute, want nearly 600", name, n)
		}
		checkMachine(t, m, hour+60*second)
	}
}

// A budget's ceiling is each key's, and each host's.
func TestBudgetOfSeveralKeys(t *testing.T) {
	m := known(t, Config{Keys: 2, Burst: 1, Shares: func(_, method string) []window.Share { return []window.Share{{Of: 0.3}} }}, "10:10", "")
	teach(t, m, "na1", "/x", "10:10", "")
	went := serveFor(t, m, hour, hour+9*second,
		Request{Host: "euw1", Method: "/x", Pin: -1, Budget: 1}, Request{Host: "na1", Method: "/x", Pin: 1, Budget: 1})
	if len(went[0]) != 6 || len(went[1]) != 3 {
		t.Errorf("%d calls on two keys, %d on one; want 6 and 3", len(went[0]), len(went[1]))
	}
	e := m.Estimate(hour+9*second, Request{Host: "euw1", Method: "/x", Pin: -1, Budget: 1}, 1)
	if want := hour + 10*second; e.Start < want || e.Start > want+second/4 {
		t.Errorf("would start %v after the first, want 10 s", e.Start.Sub(hour))
	}
	if e := m.Estimate(hour+9*second, Request{Host: "euw1", Method: "/x", Pin: -1}, 1); e.Start != hour+9*second {
		t.Errorf("without the budget: in %v, want at once", e.Start.Sub(hour+9*second))
	}
}

// What was saved tells nothing of budgets: restored charges count for none.
func TestBudgetsAfterRestart(t *testing.T) {
	cfg := Config{Keys: 1, Burst: 1, Shares: func(_, _ string) []window.Share { return []window.Share{{Of: 0.5}} }}
	m := known(t, cfg, "10:10", "")
	serveFor(t, m, hour, hour+second, Request{Host: "euw1", Method: "/x", Pin: -1, Budget: 1})
	saved := m.Save(hour + second)
	cfg.Margin, cfg.QueueCapacity, cfg.QueueTotal = 150e6, 100, 100
	again := New(cfg)
	again.Restore(0, saved, Gap{})
	for _, s := range again.State(0).Scopes {
		if len(s.Budgets) > 0 || s.Method == "" && s.Windows[0].Used != 5 {
			t.Errorf("%+v", s)
		}
	}
}
