package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Each test here bears the number of the fact in docs/riot.md that it is for.

func TestR2CountAboveLimit(t *testing.T) {
	r := rigWith("100:120", "100:1")
	h := r.send(0)
	r.learn(ms[limit.Instant](50), h, Answer{Status: 200, AppLimit: "100:120", AppCount: "113:120"})
	if at := r.next(ms[limit.Instant](60)); at != ms[limit.Instant](120_050) {
		t.Errorf("next at %v, want when the window is over: full is full", time.Duration(at))
	}
	full := Answer{AppLimit: "20:1", AppCount: "20:1"}
	if !full.roomInApp() {
		t.Error("a count at the limit was accepted: the application's limit was not the cause")
	}
	if full.AppCount = "21:1"; full.roomInApp() {
		t.Error("a count above the limit was rejected by it")
	}
}

func TestR3WhateverTheStatus(t *testing.T) {
	for _, status := range []int{200, 404, 429, 503, 400, 403} {
		r := newRig()
		h := r.send(0)
		r.learn(ms[limit.Instant](50), h, Answer{Status: status, Type: "service", AppLimit: "20:1", AppCount: "7:1", MethodLimit: "30:10", MethodCount: "2:10"})
		app, method := r.app.State(ms[limit.Instant](50), j150), r.method.State(ms[limit.Instant](50), j150)
		if !app.Known || app.Windows[0].Used != 7 || !method.Known || method.Windows[0].Used != 2 {
			t.Errorf("%d: application %+v, method %+v", status, app, method)
		}
	}
	// Not counted, no headers: the charge stands all the same.
	for _, status := range []int{401, 403, 502, 520} {
		r := rigWith("20:1", "30:10")
		r.learn(ms[limit.Instant](50), r.send(0), Answer{Status: status})
		if got := r.app.State(ms[limit.Instant](50), j150).Windows[0].Used; got != 1 || r.next(ms[limit.Instant](50)) != ms[limit.Instant](50) {
			t.Errorf("%d: %d charges, want 1 and no stop", status, got)
		}
	}
}

func TestR10CountOneOpensTheWindow(t *testing.T) {
	full := Answer{Status: 429, Type: "application", AppLimit: "2:10", AppCount: "3:10"}
	one := Answer{Status: 200, AppLimit: "2:10", AppCount: "1:10"}
	for _, c := range []struct {
		name string
		trip float64 // of the call that opened the window, in ms from 1000
		want float64 // end of the stop
	}{
		{"its answer bounds it", 50, 11_050},
		{"J bounds it", 3000, 11_150},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("2:10", "100:1")
			r.learn(ms[limit.Instant](1000+c.trip), r.send(ms[limit.Instant](1000)), one)
			if got := r.learn(ms[limit.Instant](5050), r.send(ms[limit.Instant](5000)), full).Until; got != ms[limit.Instant](c.want) {
				t.Errorf("stop until %v, want %v ms", time.Duration(got), c.want)
			}
		})
	}
	// Not seen to open: a whole window from now.
	r := rigWith("2:10", "100:1")
	if got := r.learn(ms[limit.Instant](5050), r.send(ms[limit.Instant](5000)), full).Until; got != ms[limit.Instant](15_050) {
		t.Errorf("stop until %v, want 15.05s", time.Duration(got))
	}
	// A hung answer says nothing of the present window.
	r = rigWith("2:10", "100:1")
	hung := r.send(0)
	r.learn(ms[limit.Instant](20_050), r.send(ms[limit.Instant](20_000)), one)
	r.learn(ms[limit.Instant](25_000), hung, one)
	if got := r.app.windows[0].opened; got != ms[limit.Instant](20_050) {
		t.Errorf("opened at %v, want 20.05s", time.Duration(got))
	}
}

func TestR11JoinByWindow(t *testing.T) {
	for _, c := range []struct{ limits, counts string }{
		{"20:1,100:120", "1:1,99:120"},
		{"20:1,100:120", "99:120,1:1"},
		{"100:120,20:1", "5:10,99:120,1:1,3:600"}, // longer
	} {
		r := newRig()
		r.learn(50, r.send(0), Answer{Status: 200, AppLimit: c.limits, AppCount: c.counts})
		s := r.app.State(50, j150)
		if s.Windows[0].Used != 1 || s.Windows[1].Used != 99 {
			t.Errorf("%s with %s: %+v", c.limits, c.counts, s.Windows)
		}
	}
}

func TestR12AbsentHeaderSaysNothing(t *testing.T) {
	for _, limits := range []string{"", "garbage", "0:0", "-1:1", "20:1,0:120"} {
		r := rigWith("20:1,100:120", "30:10")
		r.learn(50, r.send(0), Answer{Status: 200, AppLimit: limits, AppCount: "50:1"})
		if s := r.app.State(50, j150); len(s.Windows) != 2 || s.Windows[0].Used != 1 {
			t.Errorf("limits %q: %+v", limits, s.Windows)
		}
	}
	r := rigWith("20:1,100:120", "30:10")
	r.learn(50, r.send(0), Answer{Status: 200, AppLimit: "100:120"})
	if s := r.app.State(50, j150); len(s.Windows) != 1 || s.Windows[0].W != 2*time.Minute {
		t.Errorf("a header without 20:1 leaves %+v", s.Windows)
	}
}

func TestR13Kinds(t *testing.T) {
	for _, c := range []struct {
		typ   string
		want  limit.Kind
		own   bool
		gate  string
		waits bool
	}{
		{"application", limit.Application, true, "app", true},
		{" Application ", limit.Application, true, "app", false},
		{"method", limit.Method, true, "method", true},
		{"service", limit.Service, false, "service", true},
		{"server", limit.Server, false, "service", true},
		{"brand-new", limit.Other, false, "service", true},
		{"", limit.Untyped, false, "service", false},
		{"", limit.UntypedAsOurs, true, "app", true},
	} {
		r := rigWith("20:1", "30:10")
		a := Answer{Status: 429, Type: c.typ}
		if c.waits {
			a.RetryAfter = []string{"3"}
		}
		l := r.learn(50, r.send(0), a)
		for name, g := range map[string]*Gate{"app": &r.app.Gate, "method": &r.method.Gate, "service": &r.service} {
			if d, _ := g.Cooldown(50); d > 0 != (name == c.gate) {
				t.Errorf("%q: %s stops for %v", c.typ, name, d)
			}
		}
		if l.Kind != c.want || l.Kind.Own() != c.own {
			t.Errorf("%q: kind %d %v, own %v", c.typ, l.Kind, l.Kind, l.Kind.Own())
		}
	}
}

// An RSO call has no application whose limit it could have hit.
func TestR13UntypedWithoutKey(t *testing.T) {
	r := rigWith("20:1", "30:10")
	r.rso = true
	l := r.learn(50, r.send(0), Answer{Status: 429, RetryAfter: []string{"3"}})
	if l.Kind != limit.Untyped || l.Kind.Own() {
		t.Errorf("kind %d, own %v; want the service's", l.Kind, l.Kind.Own())
	}
}

func TestR14ExpiredChargesFillNothing(t *testing.T) {
	r := rigWith("20:1", "30:10")
	hung := r.send(0)
	for i := range 30 {
		r.send(limit.Instant(i)).Abandon()
	}
	now := ms[limit.Instant](60_000)
	if l := r.learn(now, hung, Answer{Status: 429, Type: "method", Random: 1}); l.Until != now.Add(1250*time.Millisecond) {
		t.Errorf("stop for %v, want the back-off", l.Until.Sub(now))
	}
}

func TestR14Waits(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer Answer
		want   time.Duration
	}{
		{"padded", Answer{RetryAfter: []string{"2"}}, 2500 * time.Millisecond},
		{"padded by up to a second", Answer{RetryAfter: []string{"2"}, Random: 1}, 3 * time.Second},
		{"0 is the pad", Answer{RetryAfter: []string{"0"}}, 500 * time.Millisecond},
		{"in the past", Answer{RetryAfter: []string{"-1"}}, 500 * time.Millisecond},
		{"capped", Answer{RetryAfter: []string{"10000000000"}}, limit.MaxRetryAfter + 500*time.Millisecond},
		{"two", Answer{RetryAfter: []string{"2", "5"}}, 5500 * time.Millisecond},
		{"garbage, a full window", Answer{RetryAfter: []string{"soon"}, AppLimit: "20:1", AppCount: "21:1"}, time.Second},
		{"missing, a full window", Answer{AppLimit: "100:120,20:1", AppCount: "101:120,21:1"}, 2 * time.Minute},
		{"missing, none full", Answer{AppLimit: "20:1", AppCount: "2:1"}, time.Second},
		{"missing, no counts, none full by our charges", Answer{}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("20:1,100:120", "30:10")
			for i := range 30 { // long expired: they fill nothing
				h := r.send(limit.Instant(i))
				h.Settle(limit.Instant(50+i), j150)
			}
			now := ms[limit.Instant](200_000)
			c.answer.Status, c.answer.Type, c.answer.Wall = 429, "application", wall
			l := r.learn(now.Add(50*time.Millisecond), r.send(now), c.answer)
			if got := l.Until.Sub(now.Add(50 * time.Millisecond)); got != c.want {
				t.Errorf("stop for %v, want %v", got, c.want)
			}
		})
	}
}
