package riftrelay_test

import (
	"context"
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
	"riftrelay/riotsim"
)

const oneKey = "RGAPI-sim"

// call sends one request and returns its answer, body read.
func call(ctx context.Context, client *http.Client, verb, url, body string) (*http.Response, string, error) {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, verb, url, r)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("X-Riot-Token", "the client's own")
	req.Header.Set("Authorization", "Bearer player")
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

func TestRequestAsRiotSeesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1}, riftrelay.Config{})
		for _, path := range []string{
			"/riot/account/v1/accounts/by-riot-id/a%20b/%E4%BD%A0%2F%23?x=%2f&y=1+2",
			"/riot/account/v1/accounts/by-riot-id/%41%2e%2Eb;c/+25%25/",
			"/riot/account/v1/accounts/me",
		} {
			resp, _, err := call(t.Context(), s.client, http.MethodGet, "https://europe.api.riotgames.com"+path, "")
			if err != nil {
				t.Fatal(err)
			}
			rso := strings.HasSuffix(path, "/me")
			if got := resp.Header.Get("X-RiftRelay-Source"); got != "riot" {
				t.Errorf("source %q", got)
			}
			if got := resp.Header.Get("X-RiftRelay-Key"); got != map[bool]string{false: "main"}[rso] {
				t.Errorf("key's name %q", got)
			}
			seen := s.edge.Requests()
			last := seen[len(seen)-1]
			if last.URI != path {
				t.Errorf("sent %q, want byte for byte %q", last.URI, path)
			}
			if last.Host != "europe.api.riotgames.com" {
				t.Errorf("Host %q", last.Host)
			}
			key, player := last.Header.Values("X-Riot-Token"), last.Header.Values("Authorization")
			if rso && (len(key) != 0 || len(player) != 1) || !rso && (len(key) != 1 || key[0] != oneKey || len(player) != 0) {
				t.Errorf("RSO %v: key %q, player's token %q", rso, key, player) // R5
			}
		}
	})
}

// A name of DNS is the same in any case, and so are the limits of its host.
func TestHostInCapitals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1}, riftrelay.Config{})
		for _, host := range []string{"EUW1.api.riotgames.com", "euw1.API.RiotGames.com:443"} {
			if _, _, err := call(t.Context(), s.client, http.MethodGet, "https://"+host+"/lol/status/v4/platform-data", ""); err != nil {
				t.Error(err)
			}
		}
		for _, r := range s.edge.Requests() {
			if r.Host != "euw1.api.riotgames.com" {
				t.Errorf("Host %q", r.Host)
			}
		}
		for _, scope := range s.limiter.Snapshot().Scopes {
			if scope.Host != "euw1" {
				t.Errorf("limits of a host called %q", scope.Host)
			}
		}
	})
}

func TestRefusesWhatIsNotRiots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{})
		for _, url := range []string{
			"https://example.org/lol/status/v4/platform-data",
			"http://euw1.api.riotgames.com/lol/status/v4/platform-data", // the key in the clear
			"https://euw1.api.riotgames.com.evil.example/lol/status/v4/platform-data",
			"https://xx9.api.riotgames.com/lol/status/v4/platform-data",
			"https://euw1.api.riotgames.com/lol/nothing/v4/here",
			"https://euw1.api.riotgames.com/lol//v4/platform-data",
		} {
			_, _, err := call(t.Context(), s.client, http.MethodGet, url, "")
			var rejected *riftrelay.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != riftrelay.ReasonInvalidRoute || !errors.Is(err, riftrelay.ErrUnknownRoute) {
				t.Errorf("%s: %v", url, err)
			}
		}
		if n := s.edge.Report().Arrived + s.edge.Report().Nowhere; n != 0 {
			t.Errorf("%d calls left", n)
		}
	})
}

func TestBareForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/euw1/lol/status/v4/platform-data", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.client.Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if a := s.edge.Arrivals(); len(a) != 1 || a[0].Host != "euw1" || a[0].Method == nil {
			t.Errorf("arrivals %+v", a)
		}
	})
}

// A 429 goes through admission again, and the caller doesn't notice but for
// the wait.
func Test429GoesBackThroughAdmission(t *testing.T) {
	for _, kind := range []riotsim.Kind{riotsim.Application, riotsim.Method, riotsim.Service, riotsim.Server, riotsim.Untyped} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: kind, Wait: 3 * time.Second, Times: 1}}, Requests: -1}, riftrelay.Config{})
				time.Sleep(time.Second)
				begin := time.Now()
				const body = `{"count":5}`
				resp, _, err := call(t.Context(), s.client, http.MethodPost, "https://americas.api.riotgames.com/lol/tournament/v5/tournaments", body)
				if err != nil {
					t.Fatal(err)
				}
				// R14: Retry-After, padded by 0.5 to 1 s.
				if took := time.Since(begin); resp.StatusCode != 200 || took < 3500*time.Millisecond || took > 4*time.Second {
					t.Errorf("%d after %v, want 200 after 3.5 to 4 s", resp.StatusCode, took)
				}
				if report, _ := riftrelay.ReportOf(resp); report.Tries != 2 || report.Route.Host != "americas" || report.Waited < 3*time.Second {
					t.Errorf("report %+v", report)
				}
				for _, r := range s.edge.Requests() {
					if string(r.Body) != body {
						t.Errorf("body not intact: %q", r.Body)
					}
				}
			})
		})
	}
}

// A call that may wait long enough outlasts the 429s, however many there are.
func TestMany429sInARow(t *testing.T) {
	for _, kind := range []riotsim.Kind{riotsim.Application, riotsim.Method, riotsim.Service, riotsim.Server, riotsim.Untyped} {
		for _, n := range []int{1, 2, 3, 5, 8} {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: kind, Wait: time.Second, Times: n}}}, riftrelay.Config{})
					resp, _, err := call(t.Context(), s.client, http.MethodGet, byPUUID, "")
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Fatalf("%v %v", resp, err)
					}
					if got := s.edge.Report().Arrived; got != n+1 {
						t.Errorf("%d arrived, want %d", got, n+1)
					}
				})
			})
		}
	}
}

func TestCallerSeesThe429AtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Service, Wait: time.Second}}}, riftrelay.Config{})
		ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: 10 * time.Second})
		resp, body, err := call(ctx, s.client, http.MethodGet, byPUUID, "")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 429 || !strings.Contains(body, `"status_code":429`) || resp.Header.Get("X-RiftRelay-Source") != "riot" {
			t.Errorf("%d %q %v", resp.StatusCode, body, resp.Header)
		}
		if n := s.edge.Report().Arrived; n < 5 || n > 8 { // R14: each after a second, padded by 0.5 to 1 s
			t.Errorf("%d arrived in 10s, want 5 to 8", n)
		}
	})
}

// Where the wait that a 429 asks for doesn't fit the deadline, the caller gets
// that 429 at once, whole.
func Test429BeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Method, Wait: 30 * time.Second}}}, riftrelay.Config{})
		time.Sleep(time.Second)
		begin := time.Now()
		ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: 10 * time.Second})
		resp, body, err := call(ctx, s.client, http.MethodGet, byPUUID, "")
		if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "30" || !strings.Contains(body, `"status_code":429`) {
			t.Errorf("%v %v %q", err, resp, body)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("took %v", took)
		}
	})
}

// A body that can't be kept is sent once.
func TestLargeBodyIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Service, Times: 1}}}, riftrelay.Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://americas.api.riotgames.com/lol/tournament/v5/tournaments",
			io.MultiReader(strings.NewReader(strings.Repeat("x", 100<<10)))) // length unknown, no GetBody
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := s.edge.Report().Arrived; resp.StatusCode != 429 || n != 1 {
			t.Errorf("%d, %d arrived", resp.StatusCode, n)
		}
	})
}

// Twenty clients on a 429: Riot sees no more than were under way.
func TestNo429Storm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}},
			Faults:    []riotsim.Fault{{Kind: riotsim.Service, Method: "summoner-v4", Wait: 10 * time.Second, Skip: 1, Times: 20}},
			Latency:   delays[1].latency,
		}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		if err := get(t.Context(), s.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		if err := get(t.Context(), s.client, mastery); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := get(t.Context(), s.client, byPUUID); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		if n := s.edge.Report().Rejected.Service; n > 20 {
			t.Errorf("%d service 429s for 20 calls", n)
		}
		// Every other method goes on at full speed.
		other := time.Now()
		if err := get(t.Context(), s.client, mastery); err != nil || time.Since(other) > 60*time.Millisecond {
			t.Errorf("another method waited %v, %v", time.Since(other), err)
		}
		wg.Wait()
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("all served after %v", took)
		}
	})
}

func TestNeverSentCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "2:100"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		if err := get(t.Context(), s.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		s.wire.Dial = func(uint64) time.Duration { return time.Minute }
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := get(ctx, s.client, byPUUID); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		s.wire.Dial = nil
		begin := time.Now()
		if err := get(t.Context(), s.client, byPUUID); err != nil || time.Since(begin) > time.Second {
			t.Errorf("the second slot was lost: waited %v, %v", time.Since(begin), err)
		}
		s.mustHold(t)
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Hang: time.Minute, Times: 1}}}, riftrelay.Config{})
		s.client.Transport.(*riftrelay.Transport).Timeout = 5 * time.Second
		time.Sleep(time.Second)
		begin := time.Now()
		err := get(t.Context(), s.client, byPUUID)
		if took := time.Since(begin); !errors.Is(err, riftrelay.ErrUpstreamTimeout) || took != 5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		if err := get(t.Context(), s.client, byPUUID); err != nil {
			t.Errorf("the next call: %v", err)
		}
		if snap := s.limiter.Snapshot(); snap.InFlight != 0 {
			t.Errorf("%d in flight", snap.InFlight)
		}
	})
}

// slowBody is a base whose bodies come one byte at a time.
type slowBody struct {
	every time.Duration
	bytes int
}

func (b slowBody) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	go func() {
		for range b.bytes {
			select {
			case <-time.After(b.every):
				if _, err := w.Write([]byte{'x'}); err != nil {
					return
				}
			case <-req.Context().Done():
				w.CloseWithError(context.Cause(req.Context()))
				return
			}
		}
		w.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: r, Request: req}, nil
}

// The bound is for each wait for more of the body, never for the whole of it,
// nor for the time that the reader takes.
func TestTimeoutOfBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		slow := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: slowBody{4 * time.Second, 10}, Timeout: 5 * time.Second}}
		resp, body, err := call(t.Context(), slow, http.MethodGet, byPUUID, "")
		if err != nil || len(body) != 10 {
			t.Errorf("a slow body: %v %q %v", resp, body, err)
		}
		still := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: slowBody{6 * time.Second, 10}, Timeout: 5 * time.Second}}
		if _, _, err := call(t.Context(), still, http.MethodGet, byPUUID, ""); !errors.Is(err, riftrelay.ErrUpstreamTimeout) {
			t.Errorf("a body that stands still: %v", err)
		}
	})
}

func TestBadUpstream(t *testing.T) {
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, upstream := range []string{"ftp://x", "http://", "http://u:p@x", "https://x?y=1", "https://[::1"} {
		client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Upstream: upstream}}
		if err := get(t.Context(), client, byPUUID); err == nil || !strings.Contains(err.Error(), "Transport.Upstream is") {
			t.Errorf("%s: %v", upstream, err)
		}
	}
}
