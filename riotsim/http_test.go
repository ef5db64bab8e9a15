package riotsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// overBoth runs a test over the in-process transport and over HTTP on a pipe, each in a bubble.
func overBoth(t *testing.T, cfg Config, test func(t *testing.T, e *Edge, c *http.Client)) {
	cfg.Table = table
	t.Run("transport", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newEdge(t, cfg)
			test(t, e, &http.Client{Transport: e.RoundTripper()})
		})
	})
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, l := newEdge(t, cfg), Pipe()
			served := make(chan error)
			go func() { served <- e.Serve(l) }()
			tr := &http.Transport{DialContext: l.Dial, DisableCompression: true}
			test(t, e, &http.Client{Transport: tr})
			tr.CloseIdleConnections()
			e.Close()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			e.Close()
		})
	})
}

func request(t *testing.T, ctx context.Context, url string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Riot-Token", "k")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// get returns status, headers and body; a status of 0 is an error.
func get(t *testing.T, c *http.Client, req *http.Request) (int, http.Header, string, error) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(body), err
}

const euw = "http://euw1.api.riotgames.com"

func TestAnswersOverHTTP(t *testing.T) {
	overBoth(t, Config{}, func(t *testing.T, e *Edge, c *http.Client) {
		code, h, body, err := get(t, c, request(t, t.Context(), euw+"/lol/summoner/v4/summoners/by-puuid/abc"))
		if err != nil || code != 200 || h.Get("X-App-Rate-Limit") != "100:120,20:1" || h.Get("X-App-Rate-Limit-Count") != "1:120,1:1" ||
			h.Get("X-Method-Rate-Limit") != "2000:60" || h.Get("X-Method-Rate-Limit-Count") != "1:60" || !strings.Contains(body, `"puuid":"abc"`) {
			t.Errorf("%d %v %q %v", code, h, body, err)
		}
		for range 19 {
			get(t, c, request(t, t.Context(), euw+status))
		}
		code, h, body, _ = get(t, c, request(t, t.Context(), euw+status))
		if code != 429 || h.Get("X-Rate-Limit-Type") != "application" || h.Get("Retry-After") != "1" || h.Get("X-App-Rate-Limit-Count") != "21:120,21:1" ||
			body != `{"status":{"message":"Rate limit exceeded","status_code":429}}` || len(body) != 62 {
			t.Errorf("%d %v %q", code, h, body)
		}
		if r := e.Report(); r.Arrived != 21 || r.Accepted != 20 || r.Violations != 1 || r.Rejected != (Kinds{Application: 1}) || r.Statuses[200] != 20 {
			t.Errorf("report %+v", r.Totals)
		}
	})
}

func TestHostIsNamedByHeaderOrPath(t *testing.T) {
	overBoth(t, Config{Arrivals: -1}, func(t *testing.T, e *Edge, c *http.Client) {
		for _, tc := range []struct{ url, host string }{
			{euw + status, ""},
			{"http://EUW1.api.riotgames.com:8080" + status, ""},
			{"http://127.0.0.1:9000" + status, "euw1.api.riotgames.com"},
			{"http://127.0.0.1:9000" + status, "euw1.api.riotgames.com:443"},
			{"http://127.0.0.1:9000/euw1" + status, ""},
			{"http://[::1]/euw1" + status, ""},
		} {
			req := request(t, t.Context(), tc.url)
			req.Host = tc.host
			if code, _, body, err := get(t, c, req); code != 200 {
				t.Errorf("%+v: %d %s %v", tc, code, body, err)
			}
		}
		for _, a := range e.Arrivals() {
			if a.Host != "euw1" || a.Method.String() != status {
				t.Errorf("arrived as %q %v", a.Host, a.Method)
			}
		}
		for _, url := range []string{"http://xx9.api.riotgames.com" + status, euw + "/lol/nothing/v1", "http://europe.api.riotgames.com" + status, "http://[::1]/", euw} {
			if code, h, body, _ := get(t, c, request(t, t.Context(), url)); code != 403 || h.Get("X-App-Rate-Limit") != "" || !strings.Contains(body, "Forbidden") {
				t.Errorf("%s: %d %s", url, code, body)
			}
		}
		if r := e.Report(); r.Nowhere != 5 || r.Refused != 5 || r.Counted != 6 {
			t.Errorf("report %+v", r.Totals)
		}
	})
}

func TestR5RSONeedsABearerAndNoKey(t *testing.T) {
	overBoth(t, Config{Keys: map[string]string{}, Arrivals: -1}, func(t *testing.T, e *Edge, c *http.Client) {
		url := "http://europe.api.riotgames.com/riot/account/v1/accounts/me"
		if code, _, _, _ := get(t, c, request(t, t.Context(), url)); code != 401 {
			t.Errorf("without a bearer token: %d", code)
		}
		code, h, _, _ := get(t, c, request(t, t.Context(), url, "Authorization", "Bearer x"))
		if code != 200 || h.Get("X-App-Rate-Limit") != "" || h.Get("X-Method-Rate-Limit-Count") == "" {
			t.Errorf("with one: %d %v", code, h)
		}
		for _, a := range e.Arrivals() {
			if a.Key != "" { // request sends one; it must not count for anything
				t.Errorf("arrived with key %q", a.Key)
			}
		}
	})
}

func TestKeyInTheQueryIsTakenIfTheHeaderHasNone(t *testing.T) {
	overBoth(t, Config{Arrivals: -1}, func(t *testing.T, e *Edge, c *http.Client) {
		get(t, c, request(t, t.Context(), euw+status+"?a=b&api_key=leak"))
		get(t, c, request(t, t.Context(), euw+status+"?a=b&api_key=leak", "X-Riot-Token", ""))
		if log := e.Arrivals(); len(log) != 2 || log[0].Key != "k" || log[1].Key != "leak" {
			t.Errorf("log %+v", log)
		}
	})
}

func TestR9CountedAtArrivalBetweenSendAndReceive(t *testing.T) {
	cfg := Config{Arrivals: -1, Latency: Latency{Up: 25 * ms, UpJitter: 150 * ms, Down: 10 * ms, DownJitter: 20 * ms}}
	overBoth(t, cfg, func(t *testing.T, e *Edge, c *http.Client) {
		e.SetKey("k", 200)
		spread := map[time.Duration]bool{}
		for range 50 {
			began := time.Now()
			if code, _, _, err := get(t, c, request(t, t.Context(), euw+status)); code != 200 && code != 429 {
				t.Fatal(code, err)
			}
			log := e.Arrivals()
			up, down := log[len(log)-1].Time.Sub(began), time.Since(log[len(log)-1].Time)
			if up < 25*ms || up >= 175*ms || down < 10*ms || down >= 30*ms {
				t.Errorf("up %v, down %v", up, down)
			}
			spread[up] = true
		}
		if len(spread) < 45 {
			t.Errorf("only %d different delays of 50", len(spread))
		}
		e.SetLatency(Latency{Of: func(n uint64) (up, down time.Duration) { return time.Duration(n) * time.Second, 0 }})
		began := time.Now()
		get(t, c, request(t, t.Context(), euw+status))
		if d := time.Since(began); d != 51*time.Second {
			t.Errorf("51st request by Latency.Of: %v", d)
		}
	})
}

func TestCancelledRequestsStayCounted(t *testing.T) {
	for _, tc := range []struct {
		name    string
		latency Latency
	}{
		{"before it arrived", Latency{Up: time.Second}},
		{"after it was counted", Latency{Down: time.Second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			overBoth(t, Config{Latency: tc.latency, Arrivals: -1}, func(t *testing.T, e *Edge, c *http.Client) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
				defer cancel()
				_, _, _, err := get(t, c, request(t, ctx, euw+status))
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 500*ms {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				time.Sleep(time.Second)
				log := e.Arrivals()
				if len(log) != 1 || !log[0].Accepted || log[0].Time.Sub(began) != tc.latency.Up {
					t.Errorf("log %+v", log)
				}
			})
		})
	}
}

func TestTransportTracesTheMomentOfSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, Config{Latency: Latency{Up: time.Second, Down: time.Second}, Arrivals: -1})
		rt := e.RoundTripper()
		rt.Dial = func(uint64) time.Duration { return time.Minute }
		began := time.Now()
		var events []string
		note := func(what string) { events = append(events, fmt.Sprint(what, " ", time.Since(began))) }
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GetConn:              func(string) { note("get") },
			GotConn:              func(httptrace.GotConnInfo) { note("got") },
			WroteHeaders:         func() { note("headers") },
			WroteRequest:         func(i httptrace.WroteRequestInfo) { note(fmt.Sprint("wrote ", i.Err)) },
			GotFirstResponseByte: func() { note("first") },
		})
		resp, err := rt.RoundTrip(request(t, ctx, euw+status))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got, want := strings.Join(events, ", "), "get 0s, got 1m0s, headers 1m0s, wrote <nil> 1m0s, first 1m2s"; got != want {
			t.Errorf("hooks: %s; want %s", got, want)
		}
		if at := e.Arrivals()[0].Time.Sub(began); at != 61*time.Second {
			t.Errorf("arrived after %v", at)
		}
		cancelled, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := rt.RoundTrip(request(t, cancelled, euw+status)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled while dialling: %v", err)
		}
		time.Sleep(time.Hour)
		if r := e.Report(); r.Arrived != 1 {
			t.Errorf("a request that was never sent arrived: %+v", r.Totals)
		}
	})
}

func TestBodyThatBreaksOffNeverArrives(t *testing.T) {
	overBoth(t, Config{}, func(t *testing.T, e *Edge, c *http.Client) {
		req := request(t, t.Context(), "http://americas.api.riotgames.com/lol/tournament/v5/codes")
		req.Method = http.MethodPost
		req.Body = io.NopCloser(io.MultiReader(strings.NewReader("x"), broken{}))
		if _, err := c.Do(req); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		if r := e.Report(); r.Arrived != 0 || r.Broken != 1 {
			t.Errorf("report %+v", r.Totals)
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

// Exactness under load: what the callers saw is what the edge reports.
func TestReportAgreesWithConcurrentCallers(t *testing.T) {
	cfg := Config{
		Keys: map[string]string{"k": "50:1,400:10"}, Body: Tiny, Intervals: true, Seed: 7,
		Latency: Latency{Up: ms, UpJitter: 30 * ms, Down: ms, DownJitter: 30 * ms},
		Faults:  []Fault{{Kind: Service, Chance: .05}, {Kind: Server, Chance: .05}, {Status: 503, Chance: .05}},
	}
	overBoth(t, cfg, func(t *testing.T, e *Edge, c *http.Client) {
		var mu sync.Mutex
		seen, kinds := map[int]int{}, map[string]int{}
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for range 30 {
					code, h, _, err := get(t, c, request(t, t.Context(), euw+status))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					seen[code]++
					kinds[h.Get("X-Rate-Limit-Type")]++
					mu.Unlock()
					time.Sleep(200 * ms)
				}
			})
		}
		wg.Wait()
		r := e.Report()
		if r.Arrived != 1200 || r.Statuses[200] != seen[200] || r.Statuses[503] != seen[503] || r.Statuses[429] != seen[429] ||
			r.Rejected.Total() != seen[429] || r.Rejected.Application != kinds["application"] || r.Rejected.Service != kinds["service"] ||
			r.Rejected.Server != kinds["server"] || r.Accepted != seen[200]+seen[503] || r.Violations != kinds["application"]+kinds["method"] {
			t.Errorf("callers saw %v %v, report %+v", seen, kinds, r.Totals)
		}
		if r.Accepted > r.Most || kinds["application"] == 0 || kinds["server"] == 0 || seen[503] == 0 {
			t.Errorf("accepted %d of %d, callers saw %v %v", r.Accepted, r.Most, seen, kinds)
		}
	})
}
