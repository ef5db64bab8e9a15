package riftrelay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"riftrelay"
	"riftrelay/riotsim"
)

// Both forms of URL, by an ordinary http.Client.
func TestURLForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1}, riftrelay.Config{})
		for _, url := range []string{"https://euw1.api.riotgames.com/lol/status/v4/platform-data", "/euw1/lol/status/v4/platform-data"} {
			resp, err := s.client.Get(url)
			if err != nil {
				t.Errorf("%s: %v", url, err)
				continue
			}
			resp.Body.Close()
		}
		for _, r := range s.edge.Requests() {
			if r.Host != "euw1.api.riotgames.com" || r.Header.Get("X-Riot-Token") != oneKey {
				t.Errorf("%+v", r)
			}
		}
		if n := len(s.edge.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// redirects answers each call with a redirect to where its map says, or with
// 200, and keeps what was sent.
type redirects struct {
	to   map[string]string // host and path → Location
	mu   sync.Mutex
	sent []string // "host path key"
}

func (r *redirects) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := req.URL.Opaque
	if path == "" {
		path = req.URL.Path
	}
	r.sent = append(r.sent, req.URL.Scheme+"://"+req.URL.Host+path+" "+req.Header.Get("X-Riot-Token"))
	resp := canned{status: 200}
	if to := r.to[req.Host+path]; to != "" {
		resp = canned{status: 302, header: http.Header{"Location": {to}}}
	}
	return resp.RoundTrip(req)
}

// A redirect is Riot's answer like any other; who follows it comes back through
// Transport, and the key goes to Riot's hosts over https alone.
func TestRedirectsNeverCarryTheKeyAway(t *testing.T) {
	const from, path = "euw1.api.riotgames.com", "/lol/status/v4/platform-data"
	for to, want := range map[string]struct {
		err  bool
		sent string // after the first
	}{
		"https://evil.example" + path:                        {err: true},
		"https://euw1.api.riotgames.com.evil.example" + path: {err: true},
		"https://evil.example/euw1" + path:                   {err: true},
		"http://kr.api.riotgames.com" + path:                 {err: true},
		"https://kr.api.riotgames.com:8443" + path:           {err: true},
		"https://user:word@evil.example" + path:              {err: true},
		"//evil.example" + path:                              {err: true},
		"https://kr.api.riotgames.com" + path:                {sent: "https://kr.api.riotgames.com" + path + " " + oneKey},
		"/lol/champion-mastery/v4/scores/by-puuid/p":         {sent: "https://" + from + "/lol/champion-mastery/v4/scores/by-puuid/p " + oneKey},
	} {
		synctest.Test(t, func(t *testing.T) {
			wire := &redirects{to: map[string]string{from + path: to}}
			l, _ := mustNew(t, riftrelay.Config{}, "100:1", "50:1")
			client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: wire}}
			for _, header := range []bool{false, true} {
				wire.sent = nil
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+from+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if header { // which http.Client takes along to foreign hosts
					req.Header.Set("X-Riot-Token", canaryA)
				}
				resp, err := client.Do(req)
				if err == nil {
					resp.Body.Close()
				}
				if errors.Is(err, riftrelay.ErrUnknownRoute) != want.err || err != nil != want.err {
					t.Errorf("to %s: %v", to, err)
				}
				sent := []string{"https://" + from + path + " " + oneKey}
				if want.sent != "" {
					sent = append(sent, want.sent)
				}
				if fmt.Sprint(wire.sent) != fmt.Sprint(sent) {
					t.Errorf("to %s: sent %q, want %q", to, wire.sent, sent)
				}
			}
			// Who doesn't follow gets the redirect as it came.
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			resp, err := client.Get("https://" + from + path)
			if err != nil || resp.StatusCode != 302 || resp.Header.Get("Location") != to {
				t.Errorf("untouched: %+v, %v", resp, err)
			}
		})
	}
}

// doer is how golio and others take an HTTP client.
type doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// apiClient builds requests as golio does (internal/client.go at v1): the
// platform in the host, the key and Accept in the header, a bytes.Buffer of JSON
// as body. The module proxy doesn't have its module, so the shape is rebuilt.
type apiClient struct {
	region string
	key    string
	client doer
}

func (c apiClient) do(ctx context.Context, verb, endpoint string, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = strings.NewReader(string(data))
	}
	req, err := http.NewRequestWithContext(ctx, verb, fmt.Sprintf("https://%s.api.riotgames.com%s", c.region, endpoint), body)
	if err != nil {
		return 0, err
	}
	req.Header.Add("X-Riot-Token", c.key)
	req.Header.Add("Accept", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if out != nil {
		return resp.StatusCode, json.NewDecoder(resp.Body).Decode(out)
	}
	return resp.StatusCode, nil
}

// What Go clients send, through a Transport and a real connection.
func TestShapesOfGoClients(t *testing.T) {
	srv := riotsim.NewServer(t, riotsim.DevKey)
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: oneKey}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	t.Cleanup(base.CloseIdleConnections)
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: srv.URL()}}

	var account struct{ PUUID, GameName string }
	europe, euw := apiClient{"europe", "my-own", client}, apiClient{"euw1", "my-own", client}
	must := func(code int, err error) {
		t.Helper()
		if err != nil || code != http.StatusOK {
			t.Fatalf("%d, %v", code, err)
		}
	}
	must(europe.do(t.Context(), http.MethodGet, "/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1", nil, &account))
	if account.PUUID == "" {
		t.Fatalf("%+v", account)
	}
	var ids []string
	var anything json.RawMessage
	must(euw.do(t.Context(), http.MethodGet, "/lol/summoner/v4/summoners/by-puuid/"+account.PUUID, nil, &anything))
	must(euw.do(t.Context(), http.MethodGet, "/lol/league/v4/entries/by-puuid/"+account.PUUID, nil, &anything))
	must(europe.do(t.Context(), http.MethodGet, "/lol/match/v5/matches/by-puuid/"+account.PUUID+"/ids?start=0&count=5", nil, &ids))
	if len(ids) == 0 {
		t.Fatal("no matches")
	}
	must(europe.do(t.Context(), http.MethodGet, "/lol/match/v5/matches/"+ids[0], nil, &anything))

	// The body of a tournament's codes is whole again after a 429.
	srv.Script("americas", "POST /lol/tournament-stub/v5/codes", riotsim.Fault{Kind: riotsim.Service, Wait: time.Second})
	americas := apiClient{"americas", "my-own", client}
	must(americas.do(t.Context(), http.MethodPost, "/lol/tournament-stub/v5/codes?count=1&tournamentId=1", map[string]any{"teamSize": 5, "mapType": "SUMMONERS_RIFT"}, nil))
	var bodies []string
	for _, r := range srv.Requests() {
		if got := r.Header["X-Riot-Token"]; len(got) != 1 || got[0] != oneKey {
			t.Errorf("%s was sent with %d keys", r.URI, len(got))
		}
		if r.Header.Get("Accept") != "application/json" {
			t.Errorf("%s: Accept is %q", r.URI, r.Header.Get("Accept"))
		}
		if strings.Contains(r.URI, "/codes") {
			bodies = append(bodies, string(r.Body))
		}
	}
	if want := `{"mapType":"SUMMONERS_RIFT","teamSize":5}`; len(bodies) != 2 || bodies[0] != want || bodies[1] != want {
		t.Errorf("bodies %q", bodies)
	}
	srv.AssertNoViolations(t)
}

// A thousand goroutines on real connections, half of them cancelled, and the
// limiter closed in the middle: each call ends, once, and nothing is left.
func TestThousandGoroutinesAndAClose(t *testing.T) {
	idle := goleak.IgnoreCurrent()
	var served atomic.Int64
	riot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		for name, values := range learned("1000:1", "400:1") {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	}))
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: oneKey}}, Pacing: riftrelay.PacingBurst})
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: riot.URL}}
	var wg sync.WaitGroup
	var good, gone, closed, other atomic.Int64
	const n = 1000
	for i := range n {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 0 {
				time.AfterFunc(time.Duration(i)*time.Millisecond/4, cancel)
			}
			for range 20 {
				switch err := get(ctx, client, status); {
				case err == nil:
					good.Add(1)
				case errors.Is(err, context.Canceled):
					gone.Add(1)
					return
				case errors.Is(err, riftrelay.ErrClosed):
					closed.Add(1)
					return
				default:
					other.Add(1)
					t.Error(err)
					return
				}
			}
		})
	}
	for end := time.Now().Add(20 * time.Second); served.Load() < 500 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	l.Close()
	wg.Wait()
	s := l.Snapshot()
	if open := l.OpenPermits(); len(open) > 0 || s.Queued > 0 || s.EndedTwice > 0 {
		t.Errorf("left: %v, queued %d, ended twice %d", open, s.Queued, s.EndedTwice)
	}
	if good.Load() == 0 || closed.Load() == 0 || other.Load() > 0 {
		t.Errorf("%d good, %d cancelled, %d closed, %d other", good.Load(), gone.Load(), closed.Load(), other.Load())
	}
	base.CloseIdleConnections()
	riot.Close()
	if err := goleak.Find(idle); err != nil {
		t.Error(err)
	}
}
