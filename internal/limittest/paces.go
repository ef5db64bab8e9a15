package limittest

import (
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// paces are the promises of when permits start.
var paces = []promise{
	{"without bursts calls are spread evenly", func(u *user) {
		u.know("10:1", "m", wide)
		ask := asking("a", want("m", 10))
		ask.Burst, ask.Horizon = 0, 350*time.Millisecond
		r := u.admit(ask)
		if len(r.Grants) != 4 {
			u.Fatalf("%d granted, want those that start at 0, 100, 200 and 300ms: %+v", len(r.Grants), r.Grants)
		}
		for i, g := range r.Grants {
			if want := time.Duration(i) * 100 * time.Millisecond; g.Start != want {
				u.Errorf("call %d starts in %v, want %v", i, g.Start, want)
			}
		}
		if w := r.Waits[0]; w.Why != limit.WaitPace || w.In > 400*time.Millisecond {
			u.Errorf("%+v", w)
		}
	}},
	{"a share of the window needs no pacing", func(u *user) {
		u.know("10:1", "m", wide)
		ask := asking("a", want("m", 10))
		ask.Burst = 0.5
		if r := u.admit(ask); len(r.Grants) != 5 {
			u.Errorf("%d went at once, want 5", len(r.Grants))
		}
	}},
	{"high priority isn't paced, but keeps to the limits", func(u *user) {
		u.know("10:1", "m", wide)
		ask := asking("a", wantHigh("m", 20))
		ask.Burst = 0
		if r := u.admit(ask); len(r.Grants) != 10 {
			u.Errorf("%d went at once, want 10", len(r.Grants))
		}
	}},
	{"no permit starts after the horizon", func(u *user) {
		u.know("10:1", "m", wide)
		ask := asking("a", want("m", 10))
		ask.Burst, ask.Horizon = 0, 0
		if r := u.admit(ask); len(r.Grants) != 1 {
			u.Errorf("%d granted with no horizon", len(r.Grants))
		}
	}},
	{"who asks a little late doesn't put off those that follow", func(u *user) {
		u.know("10:1", "m", wide)
		ask := asking("a", want("m", 1))
		ask.Burst = 0
		for i, wait := range []time.Duration{0, 115 * time.Millisecond, 86 * time.Millisecond} {
			u.Wait(wait)
			if r := u.admit(ask); len(r.Grants) != 1 {
				u.Errorf("call %d is not granted: %+v", i, r.Waits)
			}
		}
	}},
	{"a raised limit shortens the distances at once", func(u *user) {
		u.know("1:2", "m", wide)
		ask := asking("a", want("m", 1))
		ask.Burst = 0
		u.admit(ask)
		u.teach(passed("", "10:2"))
		u.Wait(210 * time.Millisecond)
		if r := u.admit(ask); len(r.Grants) != 1 {
			u.Errorf("nothing granted after a fifth of a second: %+v", r.Waits)
		}
	}},
	{"replicas share one schedule", func(u *user) {
		u.know("10:1", "m", wide)
		var starts []time.Duration
		for i := range 100 {
			for _, name := range []string{"a", "b"} {
				ask := asking(name, want("m", 5))
				ask.Burst, ask.Horizon = 0, 20*time.Millisecond
				r := u.admit(ask)
				u.sent(-20*time.Millisecond, r.Grants...)
				for _, g := range r.Grants {
					starts = append(starts, time.Duration(i)*10*time.Millisecond+g.Start)
				}
			}
			u.Wait(10 * time.Millisecond)
		}
		slices.Sort(starts)
		if len(starts) < 9-int(u.Slack/(10*time.Millisecond)) {
			u.Fatalf("%d calls in a second, want 10", len(starts))
		}
		for i := range starts[1:] {
			if d := starts[i+1] - starts[i]; d < 79*time.Millisecond-u.Slack {
				u.Errorf("two calls start %v apart: %v", d, starts)
				break
			}
		}
	}},
	{"who asks when told is granted then, alone", func(u *user) {
		u.know("5:1", "m", wide)
		ask := asking("a", want("m", 1))
		ask.Burst = 0
		asks, grants := 0, 0
		for range 40 {
			r := u.admit(ask)
			asks++
			if len(r.Grants) > 0 {
				grants++
				u.sent(0, r.Grants...)
				continue
			}
			u.Wait(r.Waits[0].In)
		}
		if grants < asks*2/5 {
			u.Errorf("%d asks for %d calls", asks, grants)
		}
	}},
}
