package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// What callers can name costs no memory forever, and what a limiter holds
// costs no time.

// A million names that nobody has seen before, of paths, hosts, verbs and ids,
// with everything forwarded that can be: heap and scopes stay as they are.
func TestJunkIsBounded(t *testing.T) {
	names := 200_000 // of each of five kinds
	if raceEnabled {
		names = 10_000
	}
	open, err := route.New(route.Options{ForwardUnknownHosts: true, ForwardUnknownPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := riftrelay.New(riftrelay.Config{Table: open, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, kind := range []struct {
		name, verb, host, path string // %s is the junk
	}{
		{"paths", "GET", "euw1", "/junk/%s/x"},
		{"paths of one method", "GET", "euw1", "/lol/summoner/v4/%s"},
		{"ids", "GET", "europe", "/lol/match/v5/matches/%s"},
		{"hosts", "GET", "%s", "/lol/status/v4/platform-data"},
		{"verbs", "V%s", "euw1", "/lol/status/v4/platform-data"},
	} {
		t.Run(kind.name, func(t *testing.T) {
			var heap [2]uint64
			var scopes [2]int
			for half := range heap {
				for i := range names / 2 {
					junk := letters(half*names/2 + i)
					put := func(s string) string { return strings.Replace(s, "%s", junk, 1) }
					r, err := open.Match(put(kind.verb), put(kind.host), put(kind.path))
					if err != nil {
						continue
					}
					p, err := l.TryAcquire(r, riftrelay.Options{})
					if err != nil {
						continue
					}
					p.Sent()
					p.Observe(http.StatusNotFound, wide)
				}
				heap[half], scopes[half] = heapInUse(), len(l.Snapshot().Scopes)
			}
			t.Logf("%d names: heap %d and %d kB, %d scopes", names, heap[0]>>10, heap[1]>>10, scopes[1])
			if heap[1] > heap[0]+8<<20 {
				t.Errorf("heap %d kB after half of them, %d kB after all", heap[0]>>10, heap[1]>>10)
			}
			if scopes[1] > 200_000 {
				t.Errorf("%d scopes", scopes[1])
			}
		})
	}
}

// letters writes n in base 26: hosts have no long numbers.
func letters(n int) string {
	b := []byte("xxxxxx")
	for i := len(b) - 1; i > 0; i-- {
		b[i] = byte('a' + n%26)
		n /= 26
	}
	return string(b)
}

// An answer costs the same with ten scopes and with fifty thousand: it touches
// its own. The seed's took 4 and 545 µs.
func TestAnswerCostIsFlat(t *testing.T) {
	many := 1_000
	if raceEnabled {
		many = 100
	}
	cost := func(hosts, methods int) time.Duration {
		l, routes := limiterWith(t, 1, hosts, methods)
		best := time.Hour // the machine may be busy with something else, now and then
		for range 20 {
			begin := time.Now()
			for i := range 500 {
				if err := admission(l, routes[i%9], riftrelay.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			best = min(best, time.Since(begin)/500)
		}
		return best
	}
	few, lots := cost(1, 9), cost(many, 49)
	t.Logf("a call costs %v with 10 scopes, %v with %d", few, lots, many*50)
	if lots > 5*few+5*time.Microsecond {
		t.Errorf("a call costs %v with 10 scopes, %v with %d", few, lots, many*50)
	}
}

// Whatever becomes of calls — cancelled, too late, refused, hung, closed —
// each wait ends by its deadline, and a snapshot can be taken all the time.
func TestEveryWaitEnds(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { everyWaitEnds(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func everyWaitEnds(t *testing.T, r *rand.Rand) {
	s := simulate(t, riotsim.Config{
		AppLimits: []riotsim.Rule{{Limit: "20:1,60:60"}}, MethodLimits: []riotsim.Rule{{Limit: "15:10"}}, Latency: delays[2].latency, Seed: r.Uint64(),
		Faults: []riotsim.Fault{
			{Kind: riotsim.Service, Wait: -1, Chance: 0.03}, {Kind: riotsim.Untyped, Bare: true, Chance: 0.03}, {Kind: riotsim.Method, Bare: true, Wait: -1, Chance: 0.02},
			{Hang: time.Minute, Chance: 0.03}, {Reset: true, Chance: 0.05}, {Status: 401, Chance: 0.01}, {Gateway: true, Chance: 0.05},
		},
	}, riftrelay.Config{Pacing: pacings[r.IntN(len(pacings))], QueueCapacity: 30, Keys: twoKeys()})
	s.client.Transport.(*riftrelay.Transport).Timeout = 10 * time.Second
	urls := []string{byPUUID, mastery, status, strings.Replace(byPUUID, "euw1", "kr", 1)}
	var all sync.WaitGroup
	for range 100 {
		r := rand.New(rand.NewPCG(r.Uint64(), 4))
		all.Go(func() {
			time.Sleep(time.Duration(r.IntN(60_000)) * time.Millisecond)
			wait := time.Duration(1+r.IntN(60)) * time.Second
			var report handoff.Call
			ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: wait, Priority: riftrelay.Priority(r.IntN(2)), Key: riftrelay.Key{Name: []string{"", "main", "spare"}[r.IntN(3)]}})
			ctx = handoff.With(ctx, &report)
			if r.IntN(3) == 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(time.Duration(r.IntN(30_000))*time.Millisecond, cancel)
				defer cancel()
			}
			begin := time.Now()
			err := get(ctx, s.client, urls[r.IntN(len(urls))])
			if report.Waited > wait {
				t.Errorf("waited %v, the bound is %v", report.Waited, wait)
			}
			if took := time.Since(begin); took > wait+4*10*time.Second {
				t.Errorf("took %v, may have waited %v", took, wait)
			}
			var rejected *riftrelay.RejectedError
			if errors.As(err, &rejected) && rejected.RetryAfter < 0 {
				t.Errorf("retry in %v", rejected.RetryAfter)
			}
		})
	}
	closing := time.Duration(40+r.IntN(60)) * time.Second
	all.Go(func() {
		for begin := time.Now(); time.Since(begin) < closing; time.Sleep(500 * time.Millisecond) {
			if snap := s.limiter.Snapshot(); snap.Queued < 0 || snap.InFlight < 0 || len(snap.Keys) > 2 {
				t.Errorf("snapshot %+v", snap)
			}
			if r.IntN(20) == 0 {
				keys := twoKeys()[:1+r.IntN(2)]
				if err := s.limiter.SetKeys(keys); err != nil {
					t.Error(err)
				}
			}
		}
		s.limiter.Close()
		s.limiter.Close()
		s.limiter.Snapshot()
	})
	all.Wait()
	if snap := s.limiter.Snapshot(); snap.Queued != 0 || snap.InFlight != 0 {
		t.Errorf("left behind: %d queued, %d in flight", snap.Queued, snap.InFlight)
	}
}

// A snapshot of anything: no keys, nothing called yet, closed, and nil hooks.
func TestSnapshotOfNothing(t *testing.T) {
	for name, cfg := range map[string]riftrelay.Config{"no keys": {}, "no queues": {QueueCapacity: -1, QueueTotal: -1}} {
		l, err := riftrelay.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if snap := l.Snapshot(); len(snap.Scopes) != 0 || snap.Queued != 0 || snap.Draining {
			t.Errorf("%s: %+v", name, snap)
		}
		l.Close()
		if !l.Snapshot().Draining {
			t.Errorf("%s: closed, and doesn't say so", name)
		}
	}
}
