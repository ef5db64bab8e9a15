package riftrelay_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// What a call is charged on, and what answers teach about it.

// The budget that is charged is that of the bytes which are sent.
func TestChargedIsWhatIsSent(t *testing.T) {
	const (
		byID    = "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"
		matches = "/lol/match/v5/matches/{matchId}"
		ids     = "/lol/match/v5/matches/by-puuid/{puuid}/ids"
	)
	for _, c := range []struct{ path, method string }{
		{"/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1", byID},
		{"/riot/account/v1/accounts/by-riot-id/a%2Fb/c%23d", byID},
		{"/riot/account/v1/accounts/by-riot-id/a%3Fb%25/x", byID},
		{"/riot/account/v1/accounts/by-riot-id/%EC%95%88/안", byID},
		{"/riot/account/v1/accounts/by-riot-id/a+b;c/x%2Fy..", byID},
		{"/lol/match/v5/matches/EUW1_7/", matches},
		{"/lol/match/v5/matches/by-puuid", matches},
		{"/lol/match/v5/matches/by-puuid/x/ids?start=0&count=100", ids},
		{"/lol/match/v5/matches/by-puuid%2Fx%2Fids", matches},
	} {
		t.Run(c.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{Requests: -1}, riftrelay.Config{})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://europe.api.riotgames.com/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				path, query, _ := strings.Cut(c.path, "?")
				req.URL.Opaque, req.URL.RawQuery = path, query
				resp, err := s.client.Transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if sent := s.edge.Requests()[0].URI; sent != c.path {
					t.Errorf("sent %q", sent)
				}
				if m := s.edge.Arrivals()[0].Method; m == nil || m.String() != c.method {
					t.Errorf("Riot charged %v, want %s", m, c.method)
				}
				scopes := s.limiter.Snapshot().Scopes
				if len(scopes) != 2 || scopes[1].Method != c.method || scopes[1].Windows[0].Used != 1 {
					t.Errorf("we charged %+v, want %s", scopes, c.method)
				}
			})
		})
	}
}

// Ids share the budget of their method: ten thousand matches are one scope, and
// its limit holds.
func TestIDsShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: "100:1"}}, Latency: delays[0].latency,
		}, riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1})
		next := make(chan string)
		go func() {
			defer close(next)
			for i := range 10_000 {
				next <- fmt.Sprintf("https://europe.api.riotgames.com/lol/match/v5/matches/EUW1_%d", i)
			}
		}()
		done := make(chan struct{})
		for range 150 {
			go func() {
				for url := range next {
					if err := get(t.Context(), s.client, url); err != nil {
						t.Error(err)
					}
				}
				done <- struct{}{}
			}()
		}
		for range 150 {
			<-done
		}
		s.mustHold(t)
		if n := len(s.limiter.Snapshot().Scopes); n != 2 {
			t.Errorf("%d scopes, want the application's and the method's", n)
		}
	})
}

// R4: each host has budgets of its own, as account-v1 has on its three.
func TestHostsHaveBudgetsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "20:60"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		time.Sleep(time.Second)
		begin := time.Now()
		for _, host := range []string{"americas", "asia", "europe"} {
			for range 20 {
				if got := statusCode(t, s.client, "https://"+host+".api.riotgames.com/riot/account/v1/accounts/by-riot-id/a/b"); got != http.StatusOK {
					t.Errorf("%s: status %d", host, got)
				}
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("three times 20 calls of 20:60 took %v", took)
		}
		s.mustHold(t)
	})
}

// R6: a limit that changes while its window stays is obeyed from the next
// answer on.
func TestLimitOfTheSameWindowChanges(t *testing.T) {
	for _, c := range []struct {
		from, to    string
		least, most int // calls in the five windows that follow the one of the change
	}{{"50:10", "10:10", 45, 50}, {"10:10", "50:10", 225, 250}} {
		t.Run(c.from+" "+c.to, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: c.from}}, Latency: delays[0].latency}, riftrelay.Config{AdmissionTimeout: -1})
				ctx, stop := context.WithCancel(t.Context())
				begin := time.Now()
				time.AfterFunc(15*time.Second, func() {
					if err := s.edge.SetAppLimit("", "", c.to); err != nil {
						t.Error(err)
					}
				})
				time.AfterFunc(90*time.Second, stop)
				backlog(ctx, t, s.client, 60, byPUUID).Wait()
				n := 0
				for _, a := range s.edge.Arrivals() {
					if at := a.Time.Sub(begin); at > 35*time.Second && at <= 85*time.Second && a.Accepted {
						n++
					}
				}
				if n < c.least || n > c.most {
					t.Errorf("%d calls in 50 s of %s", n, c.to)
				}
				// A lowered limit may be noticed by one answer.
				if v := s.violations.Load(); v > 1 {
					t.Errorf("%d own 429s", v)
				}
			})
		})
	}
}

// Counts are joined by their windows (R11), whatever else the list has: more of
// them than limits, some above their limit (R2), in any order.
func TestOddCounts(t *testing.T) {
	for name, counts := range map[string]string{
		"longer": "1:7,1:1,1:20,1:3600", "reordered": "1:20,1:1", "shorter": "1:20", "above the limit": "11:1,51:20", "twice": "1:1,9:1,1:20,2:20", "of other windows": "5:2,6:40",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{
					AppLimits: []riotsim.Rule{{Limit: "10:1,50:20"}},
					Faults:    []riotsim.Fault{{Header: http.Header{"X-App-Rate-Limit-Count": {counts}}, Skip: 3, Chance: 0.1}},
				}, riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(2*time.Minute, stop)
				backlog(ctx, t, s.client, 60, byPUUID).Wait()
				s.mustHold(t)
				// Counts above the limit are somebody else's calls, until their
				// window ends: then there may be less to have.
				least := 270
				if name == "above the limit" {
					least = 50
				}
				if n := s.edge.Report().Accepted; n < least {
					t.Errorf("%d accepted in 2 minutes of 50:20", n)
				}
				for _, w := range s.limiter.Snapshot().Scopes[0].Windows {
					if w.Window != time.Second && w.Window != 20*time.Second {
						t.Errorf("a count made a window of %v", w.Window)
					}
				}
			})
		})
	}
}

// Riot's counts are heeded for as long as there are any, not just in the first
// window: calls of others are seen in the tenth as well, also when they use up
// a method's limit.
func TestOthersAreSeenInEveryWindow(t *testing.T) {
	for _, limits := range []riotsim.Config{
		{AppLimits: []riotsim.Rule{{Limit: "100:10"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}},
		{AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: "100:10"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			limits.Latency = delays[1].latency
			s := simulate(t, limits, riftrelay.Config{AdmissionTimeout: -1})
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Minute, stop)
			r := mustMatch(t, byPUUID)
			var others sync.WaitGroup
			others.Go(func() { // from the second minute on, they take 95 of 100
				time.Sleep(time.Minute)
				for ctx.Err() == nil {
					s.edge.Arrive(time.Now(), riotsim.Call{Key: oneKey, Host: r.Host, Method: r.Method})
					time.Sleep(10 * time.Second / 95)
				}
			})
			backlog(ctx, t, s.client, 220, byPUUID).Wait()
			others.Wait()
			if n := s.violations.Load(); n > 2*4 {
				t.Errorf("%d own 429s in four minutes beside others", n)
			}
		})
	}
}
