package limittest

import (
	"time"

	"riftrelay/internal/limit"
)

// fairness are the promises of who has how much.
var fairness = []promise{
	{"replicas that want the same get the same, near or far", func(u *user) {
		u.know("30:1", "m", wide)
		got := u.compete(4*time.Second, map[string]rival{"near": {want: 50}, "far": {far: 10 * time.Millisecond, want: 50}, "farther": {far: 40 * time.Millisecond, want: 50}})
		for name, n := range got {
			if n < 32 || n > 48 { // of 4 · 30 / 3
				u.Errorf("%s had %d, want about 40: %v", name, n, got)
			}
		}
	}},
	{"replicas that wait are told their own turns, and don't all ask for each slot", func(u *user) {
		u.know("100:2", "m", wide)
		rivals := map[string]rival{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			rivals[name] = rival{want: 100, paced: true}
		}
		sum := 0
		got := u.compete(4*time.Second, rivals)
		for _, n := range got {
			sum += n
		}
		if sum < 195 || u.asked > 240 {
			u.Errorf("of 200 slots %d were used, with %d questions: %v", sum, u.asked, got)
		}
	}},
	{"who wants less than its share gets all of it, the others the rest", func(u *user) {
		u.know("30:1", "m", wide)
		rivals := map[string]rival{"small": {idle: 200 * time.Millisecond, want: 1}, "big": {want: 90}, "huge": {want: 900}}
		for name, x := range rivals {
			x.paced = true
			rivals[name] = x
		}
		got := u.compete(4*time.Second, rivals)
		if got["small"] < 13 { // one every 200 ms and a turn of some 50 ms
			u.Errorf("small starves: %v", got)
		}
		if d := got["big"] - got["huge"]; d < -15 || d > 15 {
			u.Errorf("the rest is not shared: %v", got)
		}
		if sum := got["small"] + got["big"] + got["huge"]; sum < 110 {
			u.Errorf("%d of 120 used", sum)
		}
	}},
	{"the claim of one that asks no more ends", func(u *user) {
		u.know("10:1", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 10, 10)...)
		u.grants("gone", 10)
		u.Wait(1000 * time.Millisecond)
		u.Wait(5 * time.Millisecond)
		if n := len(u.grants("a", 10)); n > 5 {
			u.Errorf("a had %d of 10 at once, with another waiting", n)
		}
		u.Wait(time.Second + 100*time.Millisecond)
		if n := len(u.grants("a", 10)); n < 5 {
			u.Errorf("a had %d after the other's claim ended", n)
		}
	}},
	{"one that comes back doesn't bring along what it has not used", func(u *user) {
		u.know("10:1", "m", wide)
		for range 5 {
			u.sent(0, u.mustGrant("a", "m", 20, 10)...)
			u.Wait(1010 * time.Millisecond)
		}
		got := u.compete(4*time.Second, map[string]rival{"a": {want: 20}, "late": {want: 20}})
		if got["a"] < 14 {
			u.Errorf("a starves: %v", got)
		}
	}},
	{"one that comes while nobody waits starts even with those that were served", func(u *user) {
		u.know("10:1", "m", wide)
		for range 5 {
			u.sent(0, u.mustGrant("b", "m", 10, 10)...)
			u.Wait(1010 * time.Millisecond)
		}
		got := u.compete(4*time.Second, map[string]rival{"a": {want: 20}, "b": {want: 20}})
		if got["b"] < 14 {
			u.Errorf("b starves: %v", got)
		}
	}},
	{"one that had less of the application and one that had less of a method don't wait for each other", func(u *user) {
		u.know("10:2", "m", "8:1", "n", "8:1")
		type waiter struct{ replica, method string }
		got, next := 0, map[waiter]time.Duration{}
		for at := time.Duration(0); at < 6*time.Second; at += 5 * time.Millisecond {
			for _, name := range []string{"a", "b"} {
				ask := asking(name)
				ask.Horizon, ask.Burst = 25*time.Millisecond, 0
				for _, m := range map[string][]string{"a": {"n"}, "b": {"m", "n"}}[name] {
					if at >= next[waiter{name, m}] {
						ask.Demands = append(ask.Demands, want(m, 50))
					}
				}
				if len(ask.Demands) == 0 {
					continue
				}
				r := u.admit(ask)
				u.sent(0, r.Grants...)
				for i, d := range ask.Demands {
					next[waiter{name, d.Method}] = at + r.Waits[i].In
				}
				if at >= 2*time.Second {
					got += len(r.Grants)
				}
			}
			u.Wait(5 * time.Millisecond)
		}
		if got < 19 {
			u.Errorf("%d of 20 used", got)
		}
	}},
	{"calls of a method that is full don't hold up those of others in other replicas", func(u *user) {
		u.know("20:2", "full", "1:2", "free", wide)
		u.mustGrant("a", "full", 100, 1)
		for range 10 {
			u.mustWait("a", "full", limit.WaitCharges)
		}
		u.mustGrant("b", "free", 19, 19)
	}},
	{"calls of high priority of a method that is full don't hold up normal ones in other replicas", func(u *user) {
		u.know("20:2", "full", "1:2", "free", wide)
		for range 2 {
			u.admit(asking("a", wantHigh("full", 100)))
		}
		u.mustGrant("b", "free", 19, 19)
	}},
	{"high priority of one replica goes before normal of another", func(u *user) {
		u.know("10:1", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 10, 10)...)
		if r := u.admit(asking("b", wantHigh("m", 10))); len(r.Grants) > 0 {
			u.Fatalf("%d granted", len(r.Grants))
		}
		u.Wait(1010 * time.Millisecond)
		if n := len(u.grants("a", 10)); n > 1 {
			u.Errorf("normal had %d while high waited", n)
		}
		if r := u.admit(asking("b", wantHigh("m", 10))); len(r.Grants) < 9 {
			u.Errorf("high had %d of 10", len(r.Grants))
		}
	}},
	{"every twentieth is normal's while high would take all", func(u *user) {
		u.know("40:1", "m", wide)
		got := u.compete(5*time.Second, map[string]rival{"high": {want: 100, high: true}, "normal": {want: 100}})
		if n := got["normal"]; n < 7 || n > 18 { // of 200
			u.Errorf("normal had %d, want about 10: %v", n, got)
		}
	}},
	{"demands have one each in turn, in their order", func(u *user) {
		u.know("8:1", "x", wide, "y", "2:1", "z", wide)
		r := u.admit(asking("a", want("x", 50), want("y", 50), want("z", 50)))
		had := [3]int{}
		for _, g := range r.Grants {
			had[g.Demand]++
		}
		if had != [3]int{3, 2, 3} {
			u.Errorf("granted %v, want 3, 2 and 3", had)
		}
		u.sent(0, r.Grants...)
		u.Wait(1010 * time.Millisecond)
		had = [3]int{}
		for _, g := range u.admit(asking("a", want("z", 50), want("y", 1), want("x", 50))).Grants {
			had[g.Demand]++
		}
		if had != [3]int{4, 1, 3} {
			u.Errorf("granted %v, want 4, 1 and 3", had)
		}
	}},
}

// rival is a replica that keeps wanting.
type rival struct {
	far   time.Duration // asks so much later than it was told, at least
	idle  time.Duration // wants nothing for so long after it had all it wanted
	want  int
	high  bool
	paced bool
}

// compete has replicas ask when they are told to until time is up, and returns
// what each was granted, the first two seconds left out, also of u.asked. A call
// is counted at once.
func (u *user) compete(d time.Duration, rivals map[string]rival) map[string]int {
	u.Helper()
	const step = 5 * time.Millisecond
	got, next := map[string]int{}, map[string]time.Duration{}
	const warm = 2 * time.Second
	for at := time.Duration(0); at < warm+d; at += step {
		if at == warm {
			u.asked = 0
			clear(got)
		}
		for _, name := range sorted(rivals) {
			x := rivals[name]
			if at < next[name] {
				continue
			}
			demand := want("m", x.want)
			if x.high {
				demand = wantHigh("m", x.want)
			}
			ask := asking(name, demand)
			ask.Horizon = 2*x.far + 20*time.Millisecond
			if x.paced {
				ask.Burst = 0
			}
			r := u.admit(ask)
			u.asked++
			got[name] += len(r.Grants)
			u.sent(0, r.Grants...)
			if next[name] = at + x.far + r.Waits[0].In; r.Waits[0].In == 0 {
				next[name] += x.idle
			}
		}
		u.Wait(step)
	}
	return got
}
