package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// FuzzLearn returns any answer to one of many calls: charges never go below
// nothing, calls go only where there is room, and everything ends.
func FuzzLearn(f *testing.F) {
	for _, g := range goldenAnswers(f) {
		a, retry := g.answer, ""
		if len(a.RetryAfter) > 0 {
			retry = a.RetryAfter[0]
		}
		f.Add(a.Status, a.AppLimit, a.AppCount, a.MethodLimit, a.MethodCount, a.Type, retry, uint16(50))
	}
	f.Add(200, "0:0", "-1:1", "1000000000000000000:1", "1:1,1:1", "", "", uint16(1))
	f.Add(200, "1000000000:604800,1:1", "1000000000:604800", "1:604800", "0:604800", "", "", uint16(60_000))
	f.Fuzz(func(t *testing.T, status int, appLimit, appCount, methodLimit, methodCount, typ, retry string, trip uint16) {
		a := Answer{
			Status: status, AppLimit: appLimit, AppCount: appCount, MethodLimit: methodLimit, MethodCount: methodCount,
			Type: typ, RetryAfter: []string{retry}, Wall: wall,
		}
		r := rigWith("20:1,100:120", "30:10")
		pending, hung := r.take(0), r.send(0)
		now := limit.Instant(1)
		for i := range 8 {
			h := r.send(now)
			now = now.Add(time.Duration(trip) * time.Millisecond)
			l := r.learn(now, h, a)
			if l.Until < 0 || l.Until > now.Add(limit.MaxRetryAfter+time.Second) && l.Until > now.Add(limit.MaxSeconds*time.Second) {
				t.Fatalf("stop until %v", time.Duration(l.Until))
			}
			r.mustBeSound(t, now)
			if i == 4 {
				pending.Sent(now, j150)
				pending.Abandon()
				r.learn(now, hung, a)
			}
		}
		// As many more as go at once, up to a bound.
		for range 200 {
			if r.next(now) > now {
				break
			}
			r.send(now)
			for _, s := range []*Scope{r.app, r.method} {
				for _, w := range s.windows {
					if w.used() > w.quota.N {
						t.Fatalf("%d charges on %v", w.used(), w.quota)
					}
				}
			}
		}
		for _, h := range r.live {
			h.Abandon()
		}
		now = now.Add(2 * limit.MaxSeconds * time.Second)
		r.mustBeSound(t, now)
		if !r.app.Idle(now, j150) || !r.method.Idle(now, j150) {
			t.Fatalf("not idle in the end: %+v, %+v", r.app.State(now, j150), r.method.State(now, j150))
		}
	})
}

func (r *rig) mustBeSound(t *testing.T, now limit.Instant) {
	t.Helper()
	for _, s := range []*Scope{r.app, r.method} {
		for k := 1; k < 1000; k *= 7 {
			if at := s.Nth(now, now, k, 0, Policy{Margin: j150}); at < now {
				t.Fatalf("call %d estimated for the past", k)
			}
		}
		if s.inFlight < 0 {
			t.Fatalf("%d calls under way", s.inFlight)
		}
		for i, w := range s.windows {
			if w.pending < 0 || w.sent.n < 0 || w.answered.n < 0 || w.others.n < 0 || w.quota.N < 1 || w.quota.W < time.Second {
				t.Fatalf("%+v", w)
			}
			if i > 0 && w.quota.W <= s.windows[i-1].quota.W {
				t.Fatalf("windows out of order: %v", s.State(now, j150).Windows)
			}
		}
	}
}
