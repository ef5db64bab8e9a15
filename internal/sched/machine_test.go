package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

const hour = limit.Instant(time.Hour)

// known returns a machine that has long known these limits of /x and /y.
func known(tb testing.TB, cfg Config, app, method string) *Machine {
	tb.Helper()
	if cfg.QueueCapacity == 0 {
		cfg.QueueCapacity, cfg.QueueTotal = 1<<20, 1<<20
	}
	cfg.Margin = 150 * time.Millisecond
	m := New(cfg)
	teach(tb, m, "euw1", "/x", app, method)
	teach(tb, m, "euw1", "/y", app, method)
	return m
}

func teach(tb testing.TB, m *Machine, host, method, appLimit, methodLimit string) {
	tb.Helper()
	for key := range m.cfg.Keys {
		p, why := m.Enqueue(0, new(Waiter), Request{Host: host, Method: method, Pin: key, High: true, Deadline: limit.Never})
		if p == nil {
			tb.Fatalf("%s%s on key %d: %v", host, method, key, why)
		}
		m.Answer(0, p, window.Answer{Status: 200, AppLimit: appLimit, MethodLimit: methodLimit})
	}
}

// TestNowOrNeverBehindOthersDue has a call that goes now or never come in the
// moment between the time at which others can go and the Poll that lets them:
// it isn't refused for them, unless they take its place.
func TestNowOrNeverBehindOthersDue(t *testing.T) {
	for _, method := range []string{"/x", "/y"} {
		m := known(t, Config{Keys: 1, Burst: 1}, "1000:1", "1:10")
		for range 2 { // the second one waits for 10s
			m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: limit.Never})
		}
		for _, p := range m.permits {
			m.Answer(hour, p, window.Answer{Status: 200})
		}
		m.Poll(hour, nil)
		now := m.NextWake()
		w := new(Waiter)
		if p, why := m.Enqueue(now, w, Request{Host: "euw1", Method: method, Pin: -1, Deadline: 0}); p != nil || (method == "/y") != (why.Reason == None) {
			t.Fatalf("%s: permit %v, refusal %+v", method, p, why)
		}
		let := map[*Waiter]bool{}
		m.Poll(now, func(w *Waiter, _ *Permit) { let[w] = true })
		if len(let) != map[string]int{"/x": 1, "/y": 2}[method] || let[w] != (method == "/y") {
			t.Errorf("%s: %d went, it did: %v", method, len(let), let[w])
		}
	}
}

// TestEstimateChangesNothing asks for what isn't there: a query leaves nothing
// behind.
func TestEstimateChangesNothing(t *testing.T) {
	m := known(t, Config{Keys: 2}, "10:10", "")
	before := len(m.State(hour).Scopes)
	for _, r := range []Request{
		{Host: "euw1", Method: "/x", Pin: 1, High: true},
		{Host: "euw1", Method: "/new", Pin: -1},
		{Host: "new", Method: "/x", Pin: -1},
		{Host: "new", Method: "/me", Pin: -1, Keyless: true},
	} {
		if e := m.Estimate(hour, r, 1); e.Reason != None || e.Start != hour {
			t.Errorf("%+v: %+v, want a start at once", r, e)
		}
	}
	if after := len(m.State(hour).Scopes); after != before || len(m.buckets) != 2 || len(m.hosts) != 1 {
		t.Errorf("%d scopes became %d, %d buckets, %d hosts", before, after, len(m.buckets), len(m.hosts))
	}
	for _, b := range m.buckets {
		if len(b.lanes) != 1 && len(b.lanes) != 2 { // those of teach
			t.Errorf("%s has %d lanes", b.method, len(b.lanes))
		}
	}
	if e := m.Estimate(hour, Request{Host: "euw1", Method: "/x", Pin: 2}, 1); e.Reason != NoKey {
		t.Errorf("a key that there isn't: %+v", e)
	}
}

// TestOneNameWithAndWithoutKey has a method's name used both ways: two buckets
// that have nothing to do with each other.
func TestOneNameWithAndWithoutKey(t *testing.T) {
	m := known(t, Config{Keys: 1}, "10:10", "")
	p, _ := m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Keyless: true, Pin: 0})
	if p == nil || p.Key != -1 {
		t.Fatalf("without a key: %+v", p)
	}
	if p, _ = m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -7}); p == nil || p.Key != 0 {
		t.Fatalf("with one: %+v", p)
	}
}

// TestMethodsDebtGoesRound has two lanes of normal priority wait for a method:
// of those that can use the key, the one served longest ago is owed.
func TestMethodsDebtGoesRound(t *testing.T) {
	m := known(t, Config{Keys: 2}, "1000:1", "1:10")
	lanes := map[int]*lane{}
	for _, pin := range []int{0, 1, -1, 0, 1} {
		w := new(Waiter)
		m.Enqueue(hour, w, Request{Host: "euw1", Method: "/x", Pin: pin, Deadline: limit.Never})
		if w.queue != nil {
			lanes[pin] = w.queue.lane
		}
	}
	b := lanes[0].bucket
	for _, c := range []struct {
		any, zero, one int64 // when they were served
		want           int
	}{{3, 2, 1, 0}, {2, 3, 1, -1}, {1, 2, 0, -1}} {
		b.credit, lanes[-1].served, lanes[0].served, lanes[1].served = fairShare, c.any, c.zero, c.one
		if l := m.owedIn(hour, b, 0); l != lanes[c.want] {
			t.Errorf("%+v: owed to key %d", c, l.line.class.pin)
		}
	}
	if b.credit--; m.owedIn(hour, b, 0) != nil {
		t.Error("owed before its time")
	}
}
