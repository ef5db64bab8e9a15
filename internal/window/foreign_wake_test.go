package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestAlwaysGoesOnBesideOthers has others take much of a key until the breaker
// halves its limits. With nothing under way there is always a moment at which
// the next call goes, and it comes within two windows.
func TestAlwaysGoesOnBesideOthers(t *testing.T) {
	r := rigWith("8:1", "1000:1")
	now := limit.Instant(time.Hour)
	call := func(status int, count string) {
		h := r.send(now)
		now = now.Add(20 * time.Millisecond)
		a := Answer{Status: status, AppLimit: "8:1", AppCount: count}
		if status == 429 {
			a.Type, a.RetryAfter = "application", []string{"0"}
		}
		r.learn(now, h, a)
		now = now.Add(20 * time.Millisecond)
	}
	call(200, "1:1")
	for _, count := range []string{"9:1", "12:1", "15:1", "18:1", "21:1"} {
		call(429, count)
		now = r.app.Opens(now).Add(2 * time.Second)
		call(200, "1:1")
		call(200, "6:1")
	}
	if r.app.breaker.level == 0 {
		t.Fatal("the limits were not halved: the test tests nothing")
	}
	for i := range 50 {
		at := r.next(now)
		if at > now.Add(2*time.Second) {
			w := r.app.windows[0]
			t.Fatalf("the next call goes in %v, with %d in flight, %d charges of %d, %d of them pending", at.Sub(now), r.app.inFlight, w.used(), w.n(), w.pending)
		}
		now = at
		call(200, []string{"3:1", "7:1", "8:1"}[i%3])
	}
}

// TestFreedBeyondAllCharges: only calls that are pending may hang a call on an
// event.
func TestFreedBeyondAllCharges(t *testing.T) {
	w := newWindow(limit.Quota{N: 4, W: time.Second})
	w.sent.push(limit.Instant(time.Second), 2, w.span)
	if at, want := w.freed(10, j150), limit.Instant(2*time.Second).Add(j150); at != want {
		t.Errorf("%v, want %v", at, want)
	}
	w.pending = 1
	if at := w.freed(3, j150); at != limit.Never {
		t.Errorf("%v with a call pending, want Never", at)
	}
}
