package riftrelay_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// table is shared by all simulations: it never changes.
var table = route.Default()

const (
	byPUUID = "https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/p"
	mastery = "https://euw1.api.riotgames.com/lol/champion-mastery/v4/scores/by-puuid/p"
	status  = "https://euw1.api.riotgames.com/lol/status/v4/platform-data"
)

// backlog keeps n calls of each URL waiting until ctx ends.
func backlog(ctx context.Context, t *testing.T, client *http.Client, n int, urls ...string) *sync.WaitGroup {
	wg := new(sync.WaitGroup)
	for _, url := range urls {
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					if err := get(ctx, client, url); err != nil && ctx.Err() == nil {
						t.Errorf("%s: %v", url, err)
						return
					}
				}
			})
		}
	}
	return wg
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// simulated is an edge and a client of it, without sockets. It belongs to the
// synctest bubble that made it.
type simulated struct {
	edge    *riotsim.Edge
	wire    *riotsim.Transport
	limiter *riftrelay.Limiter
	client  *http.Client
	counting
}

func simulate(t *testing.T, cfg riotsim.Config, lib riftrelay.Config) *simulated {
	t.Helper()
	cfg.Table, cfg.Body, cfg.Arrivals = table, riotsim.Tiny, -1
	edge, err := riotsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lib.Table = table
	if lib.Keys == nil {
		lib.Keys = []riftrelay.Key{{Name: "main", Value: "RGAPI-sim"}}
	}
	s := &simulated{edge: edge, wire: edge.RoundTripper()}
	lib.Hooks = riftrelay.JoinHooks(hooksOf(&s.counting), lib.Hooks)
	l, err := riftrelay.New(lib)
	if err != nil {
		t.Fatal(err)
	}
	s.limiter = l
	s.client = &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: s.wire}}
	t.Cleanup(func() { l.Close(); edge.Close() })
	return s
}

// mustHold fails the test if any interval of a window's length held more
// arrivals than its limit, or any 429 was of our making.
func (s *simulated) mustHold(t *testing.T) {
	t.Helper()
	r := s.edge.Report()
	if r.Violations > 0 {
		t.Errorf("%d own 429s", r.Violations)
	}
	for _, iv := range s.edge.WorstIntervals() {
		if iv.Over() {
			t.Errorf("over the limit: %+v", iv)
		}
	}
}

type limitSet struct {
	name   string
	app    string
	method string // of every method; "" = none
	urls   []string
	n      int // the binding limit: n calls in w
	w      time.Duration
}

var limitSets = []limitSet{
	{"20:1,100:120", "20:1,100:120", "", []string{byPUUID}, 100, 120 * time.Second},
	{"500:10,30000:600", "500:10,30000:600", "", []string{byPUUID}, 500, 10 * time.Second},
	{"100:1", "100:1", "", []string{byPUUID}, 100, time.Second},
	{"100:10, 3 methods 30:10", "100:10", "30:10", []string{byPUUID, mastery, status}, 90, 10 * time.Second},
}

var delays = []struct {
	name    string
	latency riotsim.Latency
}{ // half of the round trip before counting
	{"2ms", riotsim.Latency{Up: time.Millisecond, Down: time.Millisecond}},
	{"50ms", riotsim.Latency{Up: 25 * time.Millisecond, Down: 25 * time.Millisecond}},
	{"200±150ms", riotsim.Latency{Up: 25 * time.Millisecond, UpJitter: 150 * time.Millisecond, Down: 25 * time.Millisecond, DownJitter: 150 * time.Millisecond}},
}

// TestUseUnderBacklog sweeps limits, kinds of windows, delays and pacing in
// virtual time: never over a limit, and the limit used.
func TestUseUnderBacklog(t *testing.T) {
	for _, set := range limitSets {
		for _, windows := range []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding, riotsim.Aligned} {
			for _, delay := range delays {
				for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingShare(0.25), riftrelay.PacingBurst} {
					t.Run(fmt.Sprintf("%s/%v/%s/b=%v", set.name, windows, delay.name, pacing), func(t *testing.T) {
						if thinned(t, 8) {
							return
						}
						synctest.Test(t, func(t *testing.T) {
							use := useOf(t, set, windows, delay.latency, riftrelay.Config{
								Pacing: pacing, AdmissionTimeout: -1, MaxMargin: riftrelay.DefaultMargin,
							})
							want := 0.98
							if set.w == time.Second {
								want = map[string]float64{"2ms": 0.99, "50ms": 0.95, "200±150ms": 0.86}[delay.name]
							}
							if use < want {
								t.Errorf("use %.4f, want at least %.2f", use, want)
							}
							t.Logf("use %.4f", use)
						})
					})
				}
			}
		}
	}
}

func useOf(t *testing.T, set limitSet, windows riotsim.WindowKind, latency riotsim.Latency, lib riftrelay.Config) float64 {
	method := set.method
	if method == "" {
		method = riotsim.NoLimit
	}
	s := simulate(t, riotsim.Config{
		AppLimits: []riotsim.Rule{{Limit: set.app}}, MethodLimits: []riotsim.Rule{{Limit: method}},
		Windows: windows, Latency: latency, Seed: 1,
	}, lib)

	cycles, skipped := 8, 2
	if set.w == time.Second {
		cycles, skipped = 20, 5
	}
	// Not a deadline: calls that couldn't meet it would be rejected.
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(time.Duration(float64(cycles+1)*1.2*float64(set.w)), stop)
	backlog(ctx, t, s.client, 2*set.n/len(set.urls)+20, set.urls...).Wait()
	s.mustHold(t)

	// From the first call of one cycle to the first of a later one: whole
	// cycles, so that it doesn't matter where the bursts lie.
	arrivals := s.edge.Arrivals()
	first, last := skipped*set.n, cycles*set.n
	if last >= len(arrivals) {
		t.Fatalf("%d arrivals, want more than %d", len(arrivals), last)
	}
	span := arrivals[last].Time.Sub(arrivals[first].Time)
	return float64(cycles-skipped) * float64(set.w) / float64(span)
}

// TestUseWithLearnedMargin lets J be learned, as it is by default.
func TestUseWithLearnedMargin(t *testing.T) {
	for _, set := range limitSets {
		for _, windows := range []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding} {
			for _, delay := range delays[1:] {
				for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
					t.Run(fmt.Sprintf("%s/%v/%s/b=%v", set.name, windows, delay.name, pacing), func(t *testing.T) {
						if thinned(t, 8) {
							return
						}
						synctest.Test(t, func(t *testing.T) {
							use := useOf(t, set, windows, delay.latency, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
							want := map[string]float64{"50ms": 0.994, "200±150ms": 0.982}[delay.name]
							if set.w == time.Second {
								want = map[string]float64{"50ms": 0.945, "200±150ms": 0.84}[delay.name]
							}
							if use < want {
								t.Errorf("use %.4f, want at least %.3f", use, want)
							}
							t.Logf("use %.4f", use)
						})
					})
				}
			}
		}
	}
}
