package riftrelay_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// retryOf makes a Retry of a list like "503,reset,timeout".
func retryOf(list string) (r riftrelay.Retry) {
	for item := range strings.SplitSeq(list, ",") {
		switch n, err := strconv.Atoi(item); {
		case err == nil:
			r.Statuses = append(r.Statuses, n)
		case item == "reset":
			r.Reset = true
		case item == "timeout":
			r.Timeout = true
		}
	}
	return r
}

func TestRetries(t *testing.T) {
	const codes = "https://americas.api.riotgames.com/lol/tournament/v5/codes"
	for _, c := range []struct {
		name    string
		retry   string
		verb    string
		fault   riotsim.Fault
		arrived int
		status  int // 0 = an error
	}{
		{"off by default", "", "GET", riotsim.Fault{Status: 503}, 1, 503},
		{"another status", "502", "GET", riotsim.Fault{Status: 503, Times: 1}, 1, 503},
		{"once", "503", "GET", riotsim.Fault{Status: 503, Times: 1}, 2, 200},
		{"HEAD", "503", "HEAD", riotsim.Fault{Status: 503, Times: 1}, 2, 200},
		{"at most twice more", "503", "GET", riotsim.Fault{Status: 503}, 3, 503},
		{"never POST", "503,reset,timeout", "POST", riotsim.Fault{Status: 503}, 1, 503},
		{"never PUT after a reset", "reset", "PUT", riotsim.Fault{Reset: true}, 1, 0},
		{"reset", "reset", "GET", riotsim.Fault{Reset: true, Times: 2}, 3, 200},
		{"reset, off", "503", "GET", riotsim.Fault{Reset: true}, 1, 0},
		{"timeout", "timeout", "GET", riotsim.Fault{Hang: time.Minute, Times: 1}, 2, 200},
		{"timeout, off", "reset", "GET", riotsim.Fault{Hang: time.Minute, Times: 1}, 1, 0},
		{"large bodies can't be kept", "503", "GET", riotsim.Fault{Status: 503, Body: make([]byte, 100<<10)}, 1, 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{c.fault}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
				rt := s.client.Transport.(*riftrelay.Transport)
				rt.Timeout = 5 * time.Second
				rt.Retry = retryOf(c.retry)
				url, body := byPUUID, ""
				if c.verb == "POST" || c.verb == "PUT" {
					url, body = codes, "{}"
				}
				if c.verb == "PUT" {
					url += "/code"
				}
				resp, data, err := call(t.Context(), s.client, c.verb, url, body)
				if c.status == 0 && err == nil || c.status != 0 && (err != nil || resp.StatusCode != c.status) {
					t.Fatalf("%v, %v; want %d", resp, err, c.status)
				}
				if len(c.fault.Body) > 0 && len(data) != len(c.fault.Body) {
					t.Errorf("%d bytes of the body, want %d", len(data), len(c.fault.Body))
				}
				if n := s.edge.Report().Arrived; n != c.arrived {
					t.Errorf("%d arrived, want %d", n, c.arrived)
				}
				s.mustHold(t)
			})
		})
	}
}

// In an outage, retries stay a tenth of the calls.
func TestRetriesAreBudgeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, Faults: []riotsim.Fault{{Status: 502}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		s.client.Transport.(*riftrelay.Transport).Retry = riftrelay.Retry{Statuses: []int{502}}
		const calls = 1000
		for range calls {
			if err := get(t.Context(), s.client, byPUUID); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.edge.Report().Arrived - calls; n < 100 || n > 125 {
			t.Errorf("%d retries of %d calls, want a tenth", n, calls)
		}
	})
}

// A retry has the call's deadline, not one of its own: what doesn't fit is
// answered with what Riot said.
func TestRetryWithinOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: "1:60"}}, Faults: []riotsim.Fault{{Status: 502, Body: []byte("bad weather"), Count: riotsim.CountYes}},
		}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		s.client.Transport.(*riftrelay.Transport).Retry = riftrelay.Retry{Statuses: []int{502}}
		time.Sleep(time.Second)
		begin := time.Now()
		ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: 30 * time.Second})
		resp, body, err := call(ctx, s.client, http.MethodGet, byPUUID, "")
		if err != nil || resp.StatusCode != 502 || body != "bad weather" || time.Since(begin) > time.Second {
			t.Errorf("%v %q %v after %v", resp, body, err, time.Since(begin))
		}
	})
}

// A body arrives again, whole, if the request has GetBody; it arrives once
// otherwise.
func TestBodiesAreSentAgainByGetBody(t *testing.T) {
	for _, size := range []int{1, 64 << 10, 1 << 20} {
		for _, again := range []bool{true, false} {
			t.Run(fmt.Sprint(size, again), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Service, Times: 1}}, Requests: -1}, riftrelay.Config{})
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://americas.api.riotgames.com/lol/tournament/v5/codes", strings.NewReader(strings.Repeat("x", size)))
					if err != nil {
						t.Fatal(err)
					}
					want := 2
					if !again {
						req.GetBody, want = nil, 1
					}
					resp, err := s.client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					if n := s.edge.Report().Arrived; n != want {
						t.Errorf("%d arrived, want %d", n, want)
					}
					for _, r := range s.edge.Requests() {
						if r.Length != int64(size) {
							t.Errorf("%d bytes arrived", r.Length)
						}
					}
				})
			})
		}
	}
}
