package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// othersIn returns how many calls of others are charged on the application's
// first window.
func (r *rig) othersIn(now limit.Instant) int { return r.app.State(now, j150).Windows[0].Others }

func counts(app string) Answer { return Answer{Status: 200, AppLimit: "100:10", AppCount: app} }

func TestCallsOfOthersAreCharged(t *testing.T) {
	r := rigWith("100:10", "1000:1")
	r.learn(ms[limit.Instant](50), r.send(0), counts("41:10"))
	if got := r.othersIn(ms[limit.Instant](50)); got != 40 {
		t.Errorf("%d calls of others, want 40", got)
	}
	r.learn(ms[limit.Instant](150), r.send(ms[limit.Instant](100)), counts("42:10")) // the same ones
	if got := r.othersIn(ms[limit.Instant](150)); got != 40 {
		t.Errorf("%d calls of others after the same count, want 40", got)
	}
	r.learn(ms[limit.Instant](250), r.send(ms[limit.Instant](200)), counts("4:10")) // counts lower nothing
	if got := r.othersIn(ms[limit.Instant](250)); got != 40 {
		t.Errorf("%d calls of others after a lower count, want 40", got)
	}
	if got := r.othersIn(ms[limit.Instant](10_250)); got != 0 {
		t.Errorf("%d calls of others a window later", got)
	}
	r.learn(ms[limit.Instant](20_050), r.send(ms[limit.Instant](20_000)), counts("99999:10"))
	if got := r.othersIn(ms[limit.Instant](20_050)); got != 100 {
		t.Errorf("%d calls of others, want no more than the limit", got)
	}
}

// TestOthersLastAsLongAsTheirWindow: those seen late in one window of Riot's
// must not stand for as many of the next one, and run out before it is over.
func TestOthersLastAsLongAsTheirWindow(t *testing.T) {
	r := rigWith("100:10", "1000:1")
	r.learn(ms[limit.Instant](9000), r.send(ms[limit.Instant](8950)), counts("51:10"))     // Riot's window: 0 to 10 s
	r.learn(ms[limit.Instant](15_000), r.send(ms[limit.Instant](14_950)), counts("52:10")) // the next, 10 to 20 s
	if got := r.othersIn(ms[limit.Instant](19_500)); got < 50 {
		t.Errorf("%d calls of others in a window of which 50 were seen", got)
	}
}

func TestOwnCallsAreNotOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig)
	}{
		{"slow answer, many sent since", func(r *rig) {
			slow := r.send(0)
			for i := range 50 {
				r.send(ms[limit.Instant](float64(i + 1)))
			}
			r.learn(ms[limit.Instant](3000), slow, counts("51:10")) // all the others overtook it
		}},
		{"slow answer, its time's charges expired since", func(r *rig) {
			for i := range 50 {
				h := r.send(limit.Instant(i))
				h.Settle(ms[limit.Instant](1), j150)
			}
			slow := r.send(ms[limit.Instant](9900))
			r.learn(ms[limit.Instant](12_900), slow, counts("51:10"))
		}},
		{"answer of a window that is over", func(r *rig) {
			hung := r.send(0)
			for i := range 50 { // would be 49 calls of others if they weren't known
				r.send(limit.Instant(i)).Settle(ms[limit.Instant](1), j150)
			}
			r.learn(ms[limit.Instant](60_000), hung, counts("99:10"))
		}},
		{"given up", func(r *rig) {
			for i := range 50 {
				r.send(limit.Instant(i)).Abandon()
			}
			r.learn(ms[limit.Instant](200), r.send(ms[limit.Instant](100)), counts("51:10"))
		}},
		{"refunded ones were never counted", func(r *rig) {
			h := r.send(0)
			for i := range 5 {
				r.take(limit.Instant(i)).Refund()
			}
			r.learn(ms[limit.Instant](50), h, counts("1:10"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("100:10", "1000:1")
			c.do(r)
			if got := r.app.windows[0].others.n; got != 0 {
				t.Errorf("%d calls of others, but there were none", got)
			}
		})
	}
}

func TestNewWindowIsChargedWithItsCount(t *testing.T) {
	r := newRig()
	r.learn(ms[limit.Instant](50), r.send(0), Answer{Status: 200, AppLimit: "20:1,100:120", AppCount: "3:1,97:120"})
	p := Policy{Burst: 1, Margin: j150}
	for i := range 3 {
		if at := r.app.Next(ms[limit.Instant](60), p); at != ms[limit.Instant](60) {
			t.Fatalf("call %d of the three that are left has to wait until %v", i, time.Duration(at))
		}
		r.send(ms[limit.Instant](60))
	}
	if at := r.app.Next(ms[limit.Instant](60), p); at != ms[limit.Instant](120_050) {
		t.Errorf("next at %v, want a window after the count", time.Duration(at))
	}
}

// TestHungCallDoesNotStopItsScope: while others are about, a new window of
// Riot's is tried by one call alone; one that hangs since before isn't it, and
// one that hangs itself is waited for only so long.
func TestHungCallDoesNotStopItsScope(t *testing.T) {
	r := rigWith("100:10", "1000:1")
	r.send(0) // hangs
	r.learn(ms[limit.Instant](5050), r.send(ms[limit.Instant](5000)), counts("80:10"))
	r.learn(ms[limit.Instant](10_250), r.send(ms[limit.Instant](10_200)), counts("2:10")) // fell: fixed windows
	now := ms[limit.Instant](20_300)
	if at := r.next(now); at > now {
		t.Fatalf("next at %v, for a call that hangs", time.Duration(at))
	}
	r.send(now) // tries the window, and hangs too
	if at := r.next(now); at <= now || at > now.Add(soloPatience) {
		t.Errorf("next at %v, want within the patience", time.Duration(at))
	}
	now = now.Add(soloPatience)
	if at := r.next(now); at > now.Add(time.Second) {
		t.Errorf("next at %v after the patience", time.Duration(at))
	}
}
