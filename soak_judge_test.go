package riftrelay_test

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/riotsim"
)

// foreignRate is how many own 429s a minute there may be on average over the
// schedules, of which half have another program on the key. 0.5 were seen.
const foreignRate = 1

// counts is who arrived when at the edge: judged apart, since Riot counts
// both.
type counts struct {
	own, foreign map[[3]string][]time.Time // by key, host and method; method "" = application
	arrived      int                       // own
	violations   int                       // own 429s while another program used the key
	underWay     int                       // permits
}

func (c *counts) arrive(to map[[3]string][]time.Time, at time.Time, call riotsim.Call) {
	for _, method := range []string{call.Method.String(), ""} {
		scope := [3]string{call.Key, call.Host, method}
		to[scope] = append(to[scope], at)
	}
}

// foreignWithin reports whether another program called on a key and host in the
// time w before a moment.
func (c *counts) foreignWithin(at time.Time, w time.Duration, call riotsim.Call) bool {
	times := c.foreign[[3]string{call.Key, call.Host, ""}]
	return len(times) > 0 && at.Sub(times[len(times)-1]) < w
}

// judgeArrival judges an own call's answer. A 429 by the edge's own counters is
// allowed only if another program called within the longest window before:
// its calls are seen on the next answer, and those since the last one can't be
// foreseen. Without foreign use none is allowed.
func (s *soak) judgeArrival(call riotsim.Call, a riotsim.Answer) {
	s.arrived++
	if a.Counted {
		s.arrive(s.own, s.wall(), call)
	}
	if !a.Own {
		return
	}
	if s.foreignWithin(s.wall(), s.longest(), call) {
		s.violations++
		return
	}
	s.t.Errorf("an own 429 at %v, and no foreign call in %v before", s.now, s.longest())
}

// longest is the longest window of the limits.
func (s *soak) longest() (w time.Duration) {
	for _, l := range s.limits {
		for _, q := range quotas(l) {
			w = max(w, q.W)
		}
	}
	return w
}

// quotas are the windows of a limit; none for riotsim.NoLimit.
func quotas(l string) []limit.Quota {
	q, err := limit.ParseQuotas(l)
	if err != nil {
		return nil
	}
	return q
}

// judge looks at all own arrivals that Riot counts: by themselves they never exceed a limit,
// whatever another program does.
func (s *soak) judge() {
	for scope, times := range s.own {
		l := s.limits[0]
		if scope[2] != "" {
			l = s.limits[1]
		}
		for _, q := range quotas(l) {
			if most, from := riotsim.MaxInInterval(times, q.W); most > q.N {
				s.t.Errorf("%v of %q: %d own arrivals within %v from %v on", q, scope, most, q.W, from.Sub(time.Unix(0, 0)))
			}
		}
	}
	if s.arrived == 0 {
		s.t.Error("nothing arrived")
	}
}

// mustWake fails the test if calls wait for an event that can't come: nothing
// is under way and no time is set.
func (s *soak) mustWake() {
	if s.m.NextWake() >= limit.Never-1 && len(s.granted) > 0 && s.underWay == 0 {
		s.t.Fatalf("at %v %d calls wait, nothing is under way, and the machine never wakes", s.now, len(s.granted))
	}
}

// weather makes conditions combine: another program on the key, a delay that
// falls and rises in steps, and answers that Riot thinks about. Each is there in
// some of the schedules.
func (s *soak) weather() {
	if s.r.IntN(2) == 0 {
		s.after(s.between(0, time.Minute), s.stranger)
	}
	if s.r.IntN(2) == 0 {
		s.step()
	}
	if s.r.IntN(3) == 0 {
		s.thinks = s.between(0, 3*time.Second)
	}
}

// stranger is another program, which takes a part of what the limits
// allow for a while, leaves, and may come again.
func (s *soak) stranger() {
	gap := 0.0 // between its calls, on average
	for i, most := range []float64{1, float64(len(s.routes))} {
		for _, q := range quotas(s.limits[i]) {
			gap = max(gap, float64(q.W)/(most*float64(q.N)))
		}
	}
	gap /= 0.3 + 0.65*s.r.Float64()
	until := s.now.Add(s.between(10*time.Second, 3*time.Minute))
	var call func()
	call = func() {
		if s.now >= until {
			s.after(s.between(time.Minute, 5*time.Minute), s.stranger)
			return
		}
		r := s.routes[s.r.IntN(len(s.routes))]
		c := riotsim.Call{Key: "RGAPI-a", Host: r.Host, Method: r.Method}
		s.arrive(s.foreign, s.wall(), c)
		s.edge.Arrive(s.wall(), c)
		s.after(time.Duration(s.r.ExpFloat64()*gap), call)
	}
	call()
}

// step changes the delay. Steps and chance together never vary the way up by more
// than the margin.
func (s *soak) step() {
	s.up = s.between(0, soakMargin-s.upSpread+1)
	s.down = s.between(0, 300*time.Millisecond)
	s.after(s.between(5*time.Second, 2*time.Minute), s.step)
}
