package riftrelay_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

const naStatus = "https://na1.api.riotgames.com/lol/status/v4/platform-data"

// fullest is the most calls of a host and method (empty: all) that the edge saw
// within any interval of length w in [from, to).
func fullest(e *riotsim.Edge, host, method string, w time.Duration, from, to time.Time) int {
	var times []time.Time
	for _, a := range e.Arrivals() {
		if a.Host == host && (method == "" || a.Method != nil && a.Method.String() == method) && !a.Time.Before(from) && a.Time.Before(to) {
			times = append(times, a.Time)
		}
	}
	most, first := 0, 0
	for i, at := range times {
		for at.Sub(times[first]) >= w {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestOwnLimits sets limits of the owner's own in the middle of a backlog, of a
// host and of a method, has one end by its time and one be removed, and looks
// what the edge saw.
func TestOwnLimits(t *testing.T) {
	for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t, riotsim.Config{AppLimits: rules("20:1"), MethodLimits: rules(riotsim.NoLimit), Latency: steady, Seed: 1},
				riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
			ctx, stop := context.WithCancel(t.Context())
			wg := backlog(ctx, t, s.client, 30, byPUUID, status, naStatus)
			start := time.Now()
			after := start.Add
			until := func(d time.Duration) { time.Sleep(time.Until(after(d))) }

			until(5 * time.Second)
			if _, err := s.limiter.Limit(riftrelay.LimitScope{Host: "euw1"}, "5:1", 10*time.Second); err != nil {
				t.Fatal(err)
			}
			until(12 * time.Second)
			snap := s.limiter.Snapshot()
			for _, scope := range snap.Scopes {
				limited := scope.Host == "euw1" && scope.Method == ""
				if limited != (len(scope.Own) == 1) || limited && scope.Own[0].Limit != 5 || len(scope.Windows) > 1 {
					t.Errorf("%s %s: own %+v", scope.Host, scope.Method, scope.Own)
				}
			}
			for _, q := range snap.Queues {
				if own := q.Why.Kind == riftrelay.WaitOwnLimit; own != (q.Host == "euw1") || own && !strings.HasPrefix(q.Why.String(), "own limit of the application: ") {
					t.Errorf("%s: %v", q.Host, q.Why)
				}
			}
			until(20 * time.Second)
			remove, err := s.limiter.Limit(riftrelay.LimitScope{Method: mustMatch(t, status).Method.String()}, "3:1,4:2", 0)
			if err != nil {
				t.Fatal(err)
			}
			until(30 * time.Second)
			remove()
			remove()
			until(40 * time.Second)
			stop()
			wg.Wait()
			s.mustHold(t)

			method := mustMatch(t, status).Method.String()
			// What was sent just before a limit was set arrives after it.
			for _, c := range []struct {
				host, method string
				w, from, to  time.Duration
				least, most  int
			}{
				{"euw1", "", time.Second, 0, 5 * time.Second, 18, 20},
				{"euw1", "", time.Second, 5025 * time.Millisecond, 15 * time.Second, 5, 5},
				{"na1", "", time.Second, 5 * time.Second, 15 * time.Second, 18, 20},
				{"euw1", "", time.Second, 15 * time.Second, 20 * time.Second, 18, 20},
				{"euw1", method, time.Second, 20025 * time.Millisecond, 30 * time.Second, 2, 3},
				{"na1", method, 2 * time.Second, 20025 * time.Millisecond, 30 * time.Second, 4, 4},
				{"euw1", "", time.Second, 20 * time.Second, 30 * time.Second, 18, 20},
				{"na1", method, time.Second, 31 * time.Second, 40 * time.Second, 18, 20},
			} {
				if n := fullest(s.edge, c.host, c.method, c.w, after(c.from), after(c.to)); n < c.least || n > c.most {
					t.Errorf("b=%v: %s %q from %v to %v: %d calls in %v, want %d to %d", pacing, c.host, c.method, c.from, c.to, n, c.w, c.least, c.most)
				}
			}
		})
	}
}

// A limit makes nothing looser, also where it is higher than Riot's.
func TestOwnLimitIsNeverLooser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: rules("20:1"), MethodLimits: rules(riotsim.NoLimit), Latency: steady},
			riftrelay.Config{Pacing: riftrelay.Burst, AdmissionTimeout: -1})
		if _, err := s.limiter.Limit(riftrelay.LimitScope{}, "1000:1", 0); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		backlog(ctx, t, s.client, 60, byPUUID).Wait()
		s.mustHold(t)
	})
}

func TestOwnLimitErrors(t *testing.T) {
	l, _ := mustNew(t, riftrelay.Config{}, "20:1", "20:1")
	for _, c := range []struct {
		scope  riftrelay.LimitScope
		limits string
		ttl    time.Duration
		want   string
	}{
		{riftrelay.LimitScope{}, "", 0, `limit ""; allowed: calls:seconds`},
		{riftrelay.LimitScope{}, "0:1", 0, `limit "0:1"; allowed: calls:seconds`},
		{riftrelay.LimitScope{}, "5:1", -1, "allowed: a time, or 0"},
		{riftrelay.LimitScope{Method: "/lol/macth"}, "5:1", 0, `method "/lol/macth"; allowed: a method of the table`},
	} {
		if remove, err := l.Limit(c.scope, c.limits, c.ttl); err == nil || remove != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	var last func()
	for range 64 {
		remove, err := l.Limit(riftrelay.LimitScope{}, "5:1", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		last = remove
	}
	if _, err := l.Limit(riftrelay.LimitScope{}, "5:1", time.Hour); err == nil || !strings.Contains(err.Error(), "64 at once") {
		t.Errorf("one too many: %v", err)
	}
	last()
	if _, err := l.Limit(riftrelay.LimitScope{}, "5:1", time.Hour); err != nil {
		t.Error(err)
	}
}

// TestPacingOfOneCall has one call go at once amid calls that are spread, and
// backlogs of both kinds share what there is: neither starves.
func TestPacingOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: rules("100:100"), MethodLimits: rules(riotsim.NoLimit), Latency: steady}, riftrelay.Config{AdmissionTimeout: -1})
		ctx, stop := context.WithCancel(t.Context())
		wg := backlog(ctx, t, s.client, 20, byPUUID)
		time.Sleep(10500 * time.Millisecond)
		start := time.Now()
		for range 5 {
			if err := get(riftrelay.WithOptions(t.Context(), riftrelay.Options{Pacing: riftrelay.PacingOf(riftrelay.Burst)}), s.client, byPUUID); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 250*time.Millisecond {
			t.Errorf("5 calls took %v, want 5 round trips", took)
		}
		stop()
		wg.Wait()
		s.mustHold(t)
	})
	for _, pacing := range []float64{riftrelay.Spread, 0.25, riftrelay.Burst} {
		for _, limits := range []string{"100:10", "20:1"} {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{AppLimits: rules(limits), MethodLimits: rules(riotsim.NoLimit), Latency: steady}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
				b := label(s)
				ctx, stop := context.WithCancel(t.Context())
				start := time.Now()
				of := func(name string, p riftrelay.Pacing) context.Context {
					return riftrelay.WithOptions(context.WithValue(ctx, labelKey{}, name), riftrelay.Options{Pacing: p})
				}
				wgs := []interface{ Wait() }{
					backlog(of("machine", 0), t, s.client, 150, byPUUID),
					backlog(of("spread", riftrelay.PacingOf(riftrelay.Spread)), t, s.client, 150, byPUUID),
					backlog(of("burst", riftrelay.PacingOf(riftrelay.Burst)), t, s.client, 150, byPUUID),
				}
				time.Sleep(60 * time.Second)
				stop()
				for _, wg := range wgs {
					wg.Wait()
				}
				s.mustHold(t)
				all := 0
				for _, name := range []string{"machine", "spread", "burst"} {
					n := b.between(name, start.Add(20*time.Second), start.Add(60*time.Second))
					t.Logf("pacing %v of %s: %s %d", pacing, limits, name, n)
					if all += n; n < map[string]int{"100:10": 125, "20:1": 250}[limits] {
						t.Errorf("pacing %v of %s: %s had %d calls, want a third", pacing, limits, name, n)
					}
				}
				if want := map[string]int{"100:10": 388, "20:1": 740}[limits]; all < want {
					t.Errorf("pacing %v of %s: %d calls in 40 s, want at least %d", pacing, limits, all, want)
				}
			})
		}
	}
}

func TestPacingOf(t *testing.T) {
	for b, want := range map[float64]riftrelay.Pacing{-1: 1, 0: 1, 0.25: 26, 0.999: 101, 1: 101, 2: 101} {
		if got := riftrelay.PacingOf(b); got != want {
			t.Errorf("%v: %d, want %d", b, got, want)
		}
	}
}
