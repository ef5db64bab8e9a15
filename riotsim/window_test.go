package riotsim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSlidingLooksBackOverW(t *testing.T) {
	c := one(t, "2:10", Sliding)
	c.want(0, 200, None, "1:10")
	c.want(9*time.Second, 200, None, "2:10")
	a := c.want(9500*ms, 429, Application, "3:10")
	if a.Wait != 500*ms || a.RetryAfter != "1" {
		t.Errorf("wait %v, Retry-After %q; want 500ms and 1", a.Wait, a.RetryAfter)
	}
	// At 10 s the first call is W old and out of (t−W, t]; the refused one counts in the header but takes no room.
	c.want(10*time.Second, 200, None, "3:10")
	if a := c.want(10*time.Second, 429, Application, "4:10"); a.Wait != 9*time.Second {
		t.Errorf("wait %v, want until the call of 9 s is 10 s old", a.Wait)
	}
}

func TestSlidingRefusesWhatFixedLetsThrough(t *testing.T) {
	for kind, want := range map[WindowKind]int{Fixed: 200, Sliding: 429, Aligned: 200} {
		c := one(t, "2:10", kind) // start is at 7 s: aligned windows end at +3 s
		c.call(0, "k", "euw1", status)
		c.call(2*time.Second, "k", "euw1", status)
		after := 3 * time.Second
		if kind == Fixed {
			after = 10 * time.Second
			c.call(after, "k", "euw1", status)
			c.call(after, "k", "euw1", status)
			after = 20 * time.Second
		}
		if a := c.call(after, "k", "euw1", status); a.Status != want {
			t.Errorf("%v: %d, want %d", kind, a.Status, want)
		}
	}
}

func TestSlidingAfterTheLimitWasLowered(t *testing.T) {
	c := one(t, "3:10", Sliding)
	for i := range 3 {
		c.call(time.Duration(i)*time.Second, "k", "euw1", status)
	}
	if err := c.e.SetAppLimit("", "", "1:10"); err != nil {
		t.Fatal(err)
	}
	// All three must be 10 s old before there is room for one.
	if a := c.want(3*time.Second, 429, Application, "4:10"); a.Wait != 9*time.Second {
		t.Errorf("wait %v, want 9s", a.Wait)
	}
	c.want(12*time.Second, 200, None, "2:10")
}

func TestAlignedWindowsFollowTheClock(t *testing.T) {
	c := one(t, "1:10", Aligned) // 12:00:07
	c.want(0, 200, None, "1:10")
	if a := c.want(2999*ms, 429, Application, "2:10"); a.Wait != ms {
		t.Errorf("wait %v, want until 12:00:10", a.Wait)
	}
	c.want(3*time.Second, 200, None, "1:10")
	c.want(4*time.Second, 429, Application, "2:10")
	c.want(33*time.Second, 200, None, "1:10") // 12:00:40
}

func TestTimeNeverGoesBack(t *testing.T) {
	c := one(t, "1:10", Aligned)
	c.want(10*time.Second, 200, None, "1:10")
	c.want(0, 429, Application, "2:10") // counted as at 10 s, not in a window of its own
	c.want(20*time.Second, 200, None, "1:10")
}

// Random schedules, three kinds: the windows against a model that recounts everything, and the live
// measure of the fullest interval against the one from the sorted log.
func TestWindowsAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		kind := WindowKind(seed % 3)
		c := one(t, "5:2,9:7", kind)
		c.e.log.max = -1
		type seen struct {
			at   time.Duration
			room [2]bool
		}
		var past []seen
		open := [2]time.Duration{-time.Hour, -time.Hour}
		limits := [2]Limit{{5, 2 * time.Second}, {9, 7 * time.Second}}
		at := time.Duration(0)
		for range 400 {
			at += time.Duration(rng.IntN(5)) * time.Duration(rng.IntN(300)) * ms
			now := seen{at: at}
			refused := false
			for i, l := range limits {
				from := at - l.Per + 1 // sliding: (t−W, t]
				switch kind {
				case Fixed:
					if at-open[i] >= l.Per {
						open[i] = at
					}
					from = open[i]
				case Aligned:
					from = at - time.Duration(start.Add(at).UnixNano()%int64(l.Per))
				}
				n := 0
				for _, p := range past {
					if p.at >= from && (kind != Sliding || p.room[i]) {
						n++
					}
				}
				now.room[i] = n < l.N
				refused = refused || n >= l.N
			}
			past = append(past, now)
			if a := c.call(at, "k", "euw1", status); (a.Status == 429) != refused {
				t.Fatalf("seed %d, %v, at %v: status %d, model refuses: %v", seed, kind, at, a.Status, refused)
			}
		}
		r := c.e.ReportAt(start.Add(at))
		app, _ := r.Scope(Application, "k", "euw1", "")
		for _, i := range c.e.WorstIntervals() {
			if i.Kind != Application {
				continue
			}
			w := app.Windows[slices.IndexFunc(app.Windows, func(w WindowReport) bool { return w.Limit == i.Limit })]
			if w.Worst != i.Calls || !w.WorstAt.Equal(i.From) {
				t.Errorf("seed %d, %v, %v: live %d from %v, sorted %d from %v", seed, kind, i.Limit, w.Worst, w.WorstAt, i.Calls, i.From)
			}
			if w.Accepted > w.Most {
				t.Errorf("seed %d, %v, %v: accepted %d of at most %d", seed, kind, i.Limit, w.Accepted, w.Most)
			}
		}
		if r.Accepted > r.Most || r.Accepted+r.Rejected.Application != 400 || r.Violations != r.Rejected.Application {
			t.Errorf("seed %d: %+v most %d", seed, r.Totals, r.Most)
		}
	}
}

func TestMaxInInterval(t *testing.T) {
	at := func(list ...int) (times []time.Time) {
		for _, i := range list {
			times = append(times, start.Add(time.Duration(i)*time.Second))
		}
		return times
	}
	for _, tc := range []struct {
		times []time.Time
		w     time.Duration
		most  int
		from  int
	}{
		{at(), time.Second, 0, 0},
		{at(5), time.Second, 1, 5},
		{at(0, 10), 10 * time.Second, 1, 0}, // [0, 10) doesn't hold 10
		{at(0, 9), 10 * time.Second, 2, 0},
		{at(9, 0, 3, 3, 14), 6 * time.Second, 3, 0}, // unsorted
		{at(0, 5, 6, 7), 3 * time.Second, 3, 5},
	} {
		most, from := MaxInInterval(tc.times, tc.w)
		if most != tc.most || most > 0 && !from.Equal(start.Add(time.Duration(tc.from)*time.Second)) {
			t.Errorf("%v in %v: %d from %v, want %d from +%ds", tc.times, tc.w, most, from, tc.most, tc.from)
		}
	}
}

func TestMostAndUse(t *testing.T) {
	e := newEdge(t, Config{
		AppLimits:    []Rule{{Limit: "100:10"}},
		MethodLimits: []Rule{{Limit: "30:10"}, {Host: "na1", Limit: NoLimit}},
	})
	c := caller{t, e}
	for _, m := range []string{status, challenger, "/lol/clash/v1/tournaments"} {
		c.call(0, "k", "euw1", m)
	}
	if r := e.ReportAt(start.Add(95 * time.Second)); r.Most != 10*90 { // ten windows; three methods bind, not the application
		t.Errorf("most %d, want 900", r.Most)
	}
	c.call(95*time.Second, "k", "euw1", "/lol/clash/v1/teams/{teamId}")
	if r := e.ReportAt(start.Add(95 * time.Second)); r.Most != 930 {
		t.Errorf("most %d, want 930: a fourth method since now", r.Most)
	}
	r := e.ReportAt(start.Add(95 * time.Second))
	app, ok := r.Scope(Application, "k", "euw1", "")
	if w := app.Windows[0]; !ok || w.Even != 950 || w.Use() != 4.0/950 || w.Most != 1000 {
		t.Errorf("application window %+v", w)
	}
	c.call(95*time.Second, "k", "na1", status)
	if r := e.ReportAt(start.Add(95 * time.Second)); r.Most != 930+100 {
		t.Errorf("most %d, want the application's 100 more", r.Most)
	}
	if err := e.SetAppLimit("", "na1", NoLimit); err != nil {
		t.Fatal(err)
	}
	if r := e.ReportAt(start.Add(95 * time.Second)); r.Most != -1 {
		t.Errorf("most %d, want -1: na1 has no limit", r.Most)
	}
	aligned := newEdge(t, Config{AppLimits: []Rule{{Limit: "10:10"}}, MethodLimits: []Rule{{Limit: NoLimit}}, Windows: Aligned})
	caller{t, aligned}.call(0, "k", "euw1", status) // 12:00:07
	if r := aligned.ReportAt(start.Add(3 * time.Second)); r.Most != 20 {
		t.Errorf("aligned: most %d in 3 s across a boundary, want 20", r.Most)
	}
}

func TestEvenFollowsAChangedLimit(t *testing.T) {
	c := one(t, "10:10", Fixed)
	c.call(0, "k", "euw1", status)
	c.call(10*time.Second, "k", "euw1", status)
	if err := c.e.SetAppLimit("", "", "20:10"); err != nil { // holds from the latest arrival, 10 s
		t.Fatal(err)
	}
	app, _ := c.e.ReportAt(start.Add(30*time.Second)).Scope(Application, "k", "euw1", "")
	if got := app.Windows[0].Even; got != 10+40 {
		t.Errorf("even %v, want 10 s × 1/s + 20 s × 2/s = 50", got)
	}
}

func TestParseLimits(t *testing.T) {
	for _, text := range []string{"", "20", "20:", ":1", "0:1", "1:0", "-1:1", "1.5:1", "20:1,", "20:1,30:1", "1:99999999999"} {
		if got, err := parseLimits(text); err == nil || !strings.Contains(err.Error(), "rate limit \""+text+"\"") {
			t.Errorf("%q: %v, %v; want an error that quotes it", text, got, err)
		}
	}
	got, err := parseLimits("100:120, 20:1")
	if want := []Limit{{20, time.Second}, {100, 2 * time.Minute}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
