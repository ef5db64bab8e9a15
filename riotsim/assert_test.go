package riotsim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestViolationsAreToldByWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := NewServer(t, DevKey, MethodLimit("lol-status-v4", "6:10"), func(c *Config) { c.AppLimits = nil; c.Keys = map[string]string{"RGAPI-secret-0001": "4:1,5:10"} })
		call := func(n int) {
			for range n {
				req := request(t, t.Context(), euw+status)
				req.Header.Set("X-Riot-Token", "RGAPI-secret-0001")
				if _, _, _, err := get(t, srv.Client(), req); err != nil {
					t.Error(err)
				}
				time.Sleep(100 * ms)
			}
		}
		call(3)
		srv.UseElsewhere("RGAPI-secret-0001", "euw1", status, 1)
		if text := told(t, srv); text != "" {
			t.Errorf("no call was too many yet:\n%s", text)
		}
		call(2)
		time.Sleep(10 * time.Second)
		call(1)
		want := `riotsim: 2 of 6 calls went beyond a limit and got a 429; times are since the first call
  application euw1 …0001: 6 calls in the window 4:1 that opened at 0s, 2 refused from 300ms to 400ms
    calls in each 100ms: 1 1 1 2 1 0 0 0 0 0; 1 of them made elsewhere
  application euw1 …0001: 6 calls in the window 5:10 that opened at 0s, 1 refused from 400ms to 400ms
    calls in each 1s: 6 0 0 0 0 0 0 0 0 0; 1 of them made elsewhere
`
		if got := told(t, srv); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if r := srv.Report(); r.Arrived != 6 || r.Others != 1 || r.Violations != 2 {
			t.Errorf("%+v", r.Totals)
		}
		if !strings.HasPrefix(srv.Report().String(), "arrived 6, accepted 4 of at most 10, others made 1, 429s 2 ") {
			t.Error(srv.Report())
		}
	})
}

func TestViolationsOfOtherKindsAndTheirBound(t *testing.T) {
	// Sliding: the window is told from its oldest call. A log that isn't complete draws no chart.
	c := one(t, "2:10", Sliding)
	for i, at := range []time.Duration{0, 8, 9, 12} {
		c.call(at*time.Second, "RGAPI-secret-0001", "euw1", []string{status, challenger}[i%2])
	}
	want := `1 of 4 calls went beyond a limit and got a 429; times are since the first call
  application euw1 …0001: 3 calls in the window 2:10 that opened at 0s, 1 refused from 9s to 9s
`
	if got := c.e.violations(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// A method limit, in more windows than are told.
	c = caller{t, newEdge(t, Config{MethodLimits: []Rule{{Limit: "1:1"}}, Arrivals: -1})}
	for i := range 100 {
		c.call(time.Duration(i)*500*ms, "k", "euw1", status)
	}
	got := c.e.violations()
	if !strings.HasPrefix(got, "50 of 100 calls") || strings.Count(got, "method euw1 …k /lol/status/v4/platform-data: 2 calls in the window 1:1") != maxExcess || !strings.HasSuffix(got, "first windows\n") {
		t.Error(got)
	}
}

func TestAssertCallsListsWhatArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := NewServer(t, AppLimit("2:1"))
		for _, path := range []string{status, status, status, "/lol/nothing"} {
			if _, _, _, err := get(t, srv.Client(), request(t, t.Context(), euw+path)); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * ms)
		}
		srv.UseElsewhere("k", "euw1", "lol-status-v4", 1)
		srv.AssertCalls(t, "", "", 4)
		srv.AssertCalls(t, "euw1", "GET "+status, 3)
		srv.AssertCalls(t, "na1", "", 0)
		var r recorder
		srv.AssertCalls(&r, "euw1", "lol-status-v4", 2)
		srv.AssertCalls(&r, "euw1", "match-v5", 1)
		lines := `
  at 0s euw1 /lol/status/v4/platform-data: 200
  at 100ms euw1 /lol/status/v4/platform-data: 200
  at 200ms euw1 /lol/status/v4/platform-data: 429 application
`
		want := "riotsim: 3 calls of euw1 lol-status-v4 arrived, want 2" + lines +
			"riotsim: 0 calls of euw1 match-v5 arrived, want 1" + lines + "  at 300ms euw1 a path that doesn't exist: 403\n"
		if got := strings.Join(r.failed, ""); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		for range 30 {
			srv.Arrive(time.Now(), Call{Key: "k", Host: "na1", Method: method(t, status)})
		}
		r.failed = nil
		srv.AssertCalls(&r, "na1", "", 1)
		if got := fmt.Sprint(r.failed); !strings.HasSuffix(got, "  … and 10 more\n]") {
			t.Error(got)
		}
	})
	srv := NewServer(t, func(c *Config) { c.Arrivals = 1 })
	for range 2 {
		srv.Arrive(start, Call{Key: "k", Host: "na1", Method: method(t, status)})
	}
	if got := fatal(func() { srv.AssertCalls(&recorder{}, "na1", "", 2) }); !strings.Contains(got, "Config.Arrivals is 1") {
		t.Errorf("an incomplete log was counted: %q", got)
	}
}
