package riftrelay_test

import (
	"container/heap"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/internal/window"
	"riftrelay/riotsim"
	"riftrelay/route"
)

var soakHours = flag.Int("soak", 0, "virtual hours of TestSoak for each set of limits; 0 = 1,000 schedules of up to ten minutes instead")

// TestSoak runs the pure core, without goroutines and sockets, against the
// simulated edge, with everything going wrong that can: hung, cancelled, reset
// and overtaking calls, slow dials, 5xx, every 429 of Riot's own, headers
// missing. Other programs on the key, steps in delay and thinking time combine
// with that: see weather. By the sorted arrivals no interval holds more own calls
// than its limit.
func TestSoak(t *testing.T) {
	limits := [][2]string{
		{"20:1,100:120", riotsim.NoLimit},
		{"500:10,30000:600", "50:10"},
		{"100:1", riotsim.NoLimit},
		{"100:10", "30:10"},
		{"7:2,30:10", "10:1,50:20"},
	}
	if *soakHours > 0 {
		for i, l := range limits {
			s := newSoak(t, l, rand.New(rand.NewPCG(uint64(i), 24)))
			s.run(time.Duration(*soakHours) * time.Hour)
			t.Logf("%s, methods %s, %d virtual hours: %d calls arrived, %d own 429s", l[0], l[1], *soakHours, s.arrived, s.violations)
		}
		return
	}
	schedules := 1000
	if raceEnabled || testing.Short() {
		schedules = 75
	}
	calls, violations, minutes := 0, 0, 0.0
	for seed := range uint64(schedules) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := newSoak(t, limits[r.IntN(len(limits))], r)
		s.run(time.Minute + time.Duration(r.Int64N(int64(9*time.Minute))))
		calls += s.arrived
		violations += s.violations
		minutes += time.Duration(s.now).Minutes()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d schedules, %.0f minutes, %d calls, %d own 429s beside another program", schedules, minutes, calls, violations)
	if float64(violations) > foreignRate*minutes {
		t.Errorf("%d own 429s in %.0f minutes, want at most %d a minute", violations, minutes, foreignRate)
	}
}

// soak is a machine, an edge and a load, driven by a list of events.
type soak struct {
	t       *testing.T
	r       *rand.Rand
	m       *sched.Machine
	edge    *riotsim.Edge
	now     limit.Instant
	events  eventHeap
	seq     int
	routes  []route.Route
	granted map[*sched.Waiter]func(*sched.Permit)
	wake    limit.Instant
	limits  [2]string // of the application and of each method
	counts

	thinks                         time.Duration // the most that Riot thinks about an answer
	up, upSpread, down, downSpread time.Duration
}

const soakMargin = 150 * time.Millisecond

func newSoak(t *testing.T, limits [2]string, r *rand.Rand) *soak {
	edge, err := riotsim.New(riotsim.Config{
		Table: table, Body: riotsim.Tiny, Seed: r.Uint64(),
		AppLimits: []riotsim.Rule{{Limit: limits[0]}}, MethodLimits: []riotsim.Rule{{Limit: limits[1]}},
		Windows: []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding, riotsim.Aligned}[r.IntN(3)],
		Order:   riotsim.Shuffled,
		Faults: []riotsim.Fault{
			{Hang: 60 * time.Second, Chance: 0.01},
			{Status: 503, Chance: 0.02}, {Gateway: true, Chance: 0.01}, {Bare: true, Chance: 0.02}, {Status: 404, Chance: 0.05},
			{Kind: riotsim.Service, Chance: 0.001}, {Kind: riotsim.Server, Chance: 0.001}, {Kind: riotsim.Untyped, Chance: 0.001},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	assumed, err := limit.ParseQuotas("20:1,100:120")
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{
		t: t, r: r, edge: edge, limits: limits, counts: counts{own: map[[3]string][]time.Time{}, foreign: map[[3]string][]time.Time{}}, granted: map[*sched.Waiter]func(*sched.Permit){}, wake: limit.Never,
		m: sched.New(sched.Config{
			Keys: 1 + r.IntN(2), Burst: pacings[r.IntN(len(pacings))].Share(), Margin: soakMargin, MaxMargin: 2 * time.Second,
			Assumed: assumed, Tolerance: limit.DefaultTolerance, QueueCapacity: 1000, QueueTotal: 10000, Start: limit.Instant(soakMargin),
		}),
		// All of the variation is there from the start: J learns it from the
		// first twenty calls.
		up: time.Duration(r.Int64N(int64(100 * time.Millisecond))), upSpread: time.Duration(r.Int64N(int64(soakMargin))),
		down: time.Duration(r.Int64N(int64(100 * time.Millisecond))), downSpread: time.Duration(r.Int64N(int64(400 * time.Millisecond))),
	}
	for _, url := range []string{byPUUID, mastery, status} {
		s.routes = append(s.routes, mustMatch(t, url))
	}
	s.weather()
	for range 10 + r.IntN(60) {
		s.after(s.between(0, time.Second), s.caller)
	}
	return s
}

func (s *soak) wall() time.Time { return time.Unix(0, int64(s.now)) }

func (s *soak) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.r.Int64N(int64(most-least)))
}

func (s *soak) run(d time.Duration) {
	end := limit.Instant(d)
	for len(s.events) > 0 && s.events[0].at <= end {
		e := heap.Pop(&s.events).(*event)
		s.now = e.at
		e.do()
		s.poll()
		s.mustWake()
	}
	s.judge()
}

func (s *soak) poll() {
	s.m.Poll(s.now, func(w *sched.Waiter, p *sched.Permit) {
		send := s.granted[w]
		delete(s.granted, w)
		send(p)
	})
	if at := s.m.NextWake(); at < s.wake || s.wake <= s.now {
		s.wake = at
		if at < limit.Never-1 {
			s.at(max(at, s.now), func() {})
		}
	}
}

// caller makes one call after the other.
func (s *soak) caller() {
	again := func() { s.after(s.between(0, 2*time.Second), s.caller) }
	if s.r.IntN(3) > 0 {
		again = func() { s.after(0, s.caller) }
	}
	r := s.routes[s.r.IntN(len(s.routes))]
	w := new(sched.Waiter)
	p, refusal := s.m.Enqueue(s.now, w, sched.Request{
		Host: r.Host, Method: r.Method.String(), High: s.r.IntN(4) == 0, Pin: -1, Deadline: limit.Never,
	})
	switch {
	case p != nil:
		s.send(p, r, again)
	case refusal.Reason != sched.None:
		s.after(time.Second, s.caller)
	default:
		s.granted[w] = func(p *sched.Permit) { s.send(p, r, again) }
		if s.r.IntN(20) == 0 { // gives up
			s.after(s.between(0, 10*time.Second), func() {
				if s.granted[w] != nil && s.m.Cancel(w) {
					delete(s.granted, w)
					again()
				}
			})
		}
	}
}

// send sends a call that was admitted: dial, write, arrive, answer, each a
// while after the other; or it is given up in between.
func (s *soak) send(p *sched.Permit, r route.Route, again func()) {
	over := false
	s.underWay++
	finish := func(how func()) {
		if !over {
			over = true
			s.underWay--
			how()
			again()
		}
	}
	dial := time.Duration(0)
	if s.r.IntN(50) == 0 {
		dial = s.between(0, 3*time.Second)
	}
	if s.r.IntN(40) == 0 { // given up, wherever it is by then
		s.after(s.between(0, time.Second), func() { finish(func() { s.m.Release(s.now, p) }) })
	}
	key := []string{"RGAPI-a", "RGAPI-b"}[max(0, p.Key)]
	s.after(dial, func() {
		if over {
			return
		}
		s.m.Sent(s.now, p)
		s.after(s.up+s.between(0, s.upSpread+1), func() { // what was sent arrives, whoever waits
			call := riotsim.Call{Key: key, Host: r.Host, Method: r.Method}
			a := s.edge.Arrive(s.wall(), call)
			s.judgeArrival(call, a)
			s.after(a.Hang+s.between(0, s.thinks+1)+s.down+s.between(0, s.downSpread+1), func() {
				finish(func() {
					if s.r.IntN(100) == 0 { // reset
						s.m.Release(s.now, p)
						return
					}
					answer := window.Answer{
						Status: a.Status, AppLimit: a.AppLimit, AppCount: a.AppCount, MethodLimit: a.MethodLimit, MethodCount: a.MethodCount,
						Wall: s.wall(), Random: s.r.Float64(),
					}
					if a.Status == 429 {
						answer.Type = map[riotsim.Kind]string{
							riotsim.Application: "application", riotsim.Method: "method", riotsim.Service: "service", riotsim.Server: "server",
						}[a.Kind]
						if a.RetryAfter != "" {
							answer.RetryAfter = []string{a.RetryAfter}
						}
					}
					s.m.Answer(s.now, p, answer)
				})
			})
		})
	})
}

type event struct {
	at  limit.Instant
	seq int
	do  func()
}

func (s *soak) at(t limit.Instant, do func()) {
	s.seq++
	heap.Push(&s.events, &event{t, s.seq, do})
}

func (s *soak) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
