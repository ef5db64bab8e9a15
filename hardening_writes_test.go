package riftrelay_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/riotsim"
)

// Bodies, up and down. A tournament code that is made twice can't be unmade
// (R21).

const tournament = "https://americas.api.riotgames.com/lol/tournament/v5/codes"

// With every retry switched on, POST and PUT arrive once, whatever becomes of
// them; after a 429 they arrive again, whole.
func TestWritesAreNeverDoubled(t *testing.T) {
	const body = `{"pickType":"TOURNAMENT_DRAFT","teamSize":5}`
	for _, c := range []struct {
		name    string
		fault   riotsim.Fault
		arrived int
		status  int // 0 = an error
	}{
		{"500", riotsim.Fault{Status: 500}, 1, 500},
		{"502 of the gateway", riotsim.Fault{Gateway: true}, 1, 502},
		{"503", riotsim.Fault{Status: 503}, 1, 503},
		{"504 of the gateway", riotsim.Fault{Gateway: true, Status: 504}, 1, 504},
		{"520", riotsim.Fault{Gateway: true, Status: 520}, 1, 520},
		{"reset", riotsim.Fault{Reset: true}, 1, 0},
		{"time-out", riotsim.Fault{Hang: time.Minute}, 1, 0},
		{"cut answer", riotsim.Fault{Truncate: true}, 1, 0},
		{"application 429", riotsim.Fault{Kind: riotsim.Application, Wait: time.Second, Times: 1}, 2, 200},
		{"method 429", riotsim.Fault{Kind: riotsim.Method, Wait: time.Second, Times: 1}, 2, 200},
		{"service 429", riotsim.Fault{Kind: riotsim.Service, Wait: time.Second, Times: 2}, 3, 200},
		{"untyped 429", riotsim.Fault{Kind: riotsim.Untyped, Times: 3}, 4, 200},
	} {
		for verb, url := range map[string]string{http.MethodPost: tournament, http.MethodPut: tournament + "/EUW1-code"} {
			t.Run(c.name+" "+verb, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{c.fault}, Requests: -1}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
					rt := s.client.Transport.(*riftrelay.Transport)
					rt.Timeout = 5 * time.Second
					rt.Retry = riftrelay.Retry{Statuses: []int{500, 502, 503, 504, 520}, Reset: true, Timeout: true}
					resp, _, err := call(t.Context(), s.client, verb, url, body)
					if c.status == 0 && err == nil || c.status != 0 && (err != nil || resp.StatusCode != c.status) {
						t.Errorf("%v, %v; want %d", resp, err, c.status)
					}
					seen := s.edge.Requests()
					if len(seen) != c.arrived {
						t.Errorf("arrived %d times, want %d", len(seen), c.arrived)
					}
					for i, r := range seen {
						if r.Method != verb || string(r.Body) != body {
							t.Errorf("sending %d: %s with body %q", i, r.Method, r.Body)
						}
					}
				})
			})
		}
	}
}

// Under all weather at once, each of a hundred POSTs arrives once, or once more
// after each 429.
func TestWritesInAllWeather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Latency: delays[2].latency, Requests: -1,
			Faults: []riotsim.Fault{
				{Reset: true, Chance: 0.1}, {Status: 503, Chance: 0.1}, {Hang: time.Minute, Chance: 0.1}, {Gateway: true, Chance: 0.1}, {Truncate: true, Chance: 0.1},
				{Kind: riotsim.Service, Wait: time.Second, Chance: 0.1},
			},
		}, riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1})
		rt := s.client.Transport.(*riftrelay.Transport)
		rt.Timeout = 5 * time.Second
		rt.Retry = riftrelay.Retry{Statuses: []int{502, 503}, Reset: true, Timeout: true}
		reports := make([]handoff.Call, 100)
		refused := make([]bool, 100) // ended as a 429
		var all sync.WaitGroup
		for i := range reports {
			all.Go(func() {
				resp, _, err := call(handoff.With(t.Context(), &reports[i]), s.client, http.MethodPost, tournament, fmt.Sprintf(`{"n":%d}`, i))
				refused[i] = err == nil && resp.StatusCode == http.StatusTooManyRequests
			})
		}
		all.Wait()
		sent, limited := map[string]int{}, 0
		for _, r := range s.edge.Requests() {
			sent[string(r.Body)]++
		}
		for i, r := range reports {
			if n := sent[fmt.Sprintf(`{"n":%d}`, i)]; n != r.Tries || n == 0 || n > 4 {
				t.Errorf("POST %d: %d tries, %d arrived", i, r.Tries, n)
			}
			limited += r.Tries - 1
			if refused[i] {
				limited++
			}
		}
		if n := s.edge.Report().Rejected.Total(); n != limited || n == 0 {
			t.Errorf("%d sendings again for %d 429s", limited, n)
		}
	})
}

// A body of 50 MB that takes forty seconds arrives whole under a time-out of
// five; one that stands still for longer is an error.
func TestSlowBodyOf50MB(t *testing.T) {
	large := []byte(strings.Repeat("0123456789abcdef", 50<<16))
	for takes, whole := range map[time.Duration]bool{40 * time.Second: true, 60 * time.Second: false} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Body: large, SlowBody: takes}}}, riftrelay.Config{})
				s.client.Transport.(*riftrelay.Transport).Timeout = 5 * time.Second
				time.Sleep(time.Second)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, byPUUID, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				resp, err := s.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				n, err := io.Copy(io.Discard, resp.Body)
				if whole && (err != nil || n != int64(len(large)) || time.Since(begin) != takes) {
					t.Errorf("%d of %d bytes after %v: %v", n, len(large), time.Since(begin), err)
				}
				if !whole && (!errors.Is(err, riftrelay.ErrUpstreamTimeout) || time.Since(begin) != 5*time.Second) {
					t.Errorf("%v after %v, want a time-out", err, time.Since(begin))
				}
			})
		})
	}
}
