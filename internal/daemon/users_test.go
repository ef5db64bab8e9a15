package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// manyCalls is a client with connections for many calls at once.
func manyCalls(t *testing.T) *http.Client {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// askOnce makes one call and returns its status and Retry-After.
func askOnce(ctx context.Context, client *http.Client, url string, headers ...string) (code, seconds int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	resp.Body.Close()
	seconds, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, seconds, nil
}

// userEdge starts an edge with one application limit, and a relay in front of it.
func userEdge(t *testing.T, sim riotsim.Config, limit string, vars ...string) (*riotsim.Edge, *process) {
	t.Helper()
	sim.Keys = map[string]string{canary: limit}
	edge, upstream := startEdge(t, sim)
	return edge, startProcess(t, t.TempDir(), append([]string{"RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=" + upstream, "ADMIN_ADDR=127.0.0.1:0"}, vars...)...)
}

// 16 calls at once, of a client that tries each three times more, after the time
// that Retry-After says, as TeemoJS does: all of them succeed, though three can
// wait and two go each second.
func TestSixteenCallsOfTeemoJSSucceed(t *testing.T) {
	t.Parallel()
	edge, p := userEdge(t, riotsim.Config{}, "4:2", "QUEUE_CAPACITY=3")
	client := manyCalls(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for try := 0; ; try++ {
				status, seconds, err := askOnce(t.Context(), client, p.front+"/euw1/lol/summoner/v4/summoners/by-puuid/x"+strconv.Itoa(i))
				if err == nil && status == http.StatusOK {
					return
				}
				if err != nil || status != http.StatusTooManyRequests || seconds < 1 || try == 3 {
					t.Errorf("call %d, try %d: %d, Retry-After %d, %v", i, try, status, seconds, err)
					return
				}
				select {
				case <-time.After(time.Duration(seconds) * time.Second):
				case <-t.Context().Done():
				}
			}
		})
	}
	all.Wait()
	if r := edge.Report(); r.Accepted != 16 || r.Violations != 0 {
		t.Errorf("%d accepted, %d own 429s", r.Accepted, r.Violations)
	}
	p.stop(t)
}

// Of 500 calls at once on a development key, with the defaults, those that can't
// be served in time are told so at once, and don't all come back together.
func TestFiveHundredCallsComeBackApart(t *testing.T) {
	t.Parallel()
	_, p := userEdge(t, riotsim.Config{}, riotsim.Development, "SHUTDOWN_TIMEOUT=0")
	client := manyCalls(t)
	ctx, leave := context.WithCancel(t.Context())
	var mu sync.Mutex
	times, refused, served := map[int]int{}, 0, 0
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			code, seconds, err := askOnce(ctx, client, p.front+status)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil: // left
			case code == http.StatusOK:
				served++
			default:
				refused++
				times[seconds]++
			}
		})
	}
	// Within the longest wait of 300 s there is room for some 250 calls.
	eventually(t, "the refusals of what can't be served", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return refused >= 150
	})
	leave()
	all.Wait()
	// Half of a window's 100 calls go at once when it opens, and two are spread over
	// each 2.4 s of the rest: so many may well come back in the same second.
	const room = 50 + 2
	most := 0
	for _, n := range times {
		most = max(most, n)
	}
	t.Logf("%d served, %d refused, %d times told, the most common one %d times", served, refused, len(times), most)
	if most > room {
		t.Errorf("%d of %d refused calls got the same Retry-After: %v", most, refused, times)
	}
	p.stop(t)
}

// Five 429s of a service in a row on one method reach no client that can wait.
func TestFiveServiceLimitsInARowReachNobody(t *testing.T) {
	t.Parallel()
	edge, p := userEdge(t, riotsim.Config{Faults: []riotsim.Fault{{Host: "euw1", Kind: riotsim.Service, Wait: time.Second, Times: 5}}}, riotsim.Production)
	client := manyCalls(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if code, _, err := askOnce(t.Context(), client, p.front+status); code != http.StatusOK {
				t.Errorf("call %d: %d %v", i, code, err)
			}
		})
	}
	all.Wait()
	if r := edge.Report(); r.Arrived < 13 {
		t.Errorf("%d calls arrived, want the eight and five 429s", r.Arrived)
	}
	p.stop(t)
}

// One client's calls never fill or hold up another's queue: not on the same
// method, not with a budget, not with priority, and not when all places are taken.
func TestPoliteClientBesideAFlood(t *testing.T) {
	for name, tt := range map[string]struct {
		vars   []string
		polite []string // headers
	}{
		"the same queue":     {nil, nil},
		"high priority":      {nil, []string{"X-Priority", "high"}},
		"the flood's budget": {[]string{"CLIENT_BOT_BUDGET=crawler", "RATE_BUDGET_crawler=0.3"}, nil},
		"all places taken":   {[]string{"QUEUE_TOTAL=40"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Ten calls are known to fit, then nothing for a while: the flood waits.
			const capacity, flood = 40, 60
			_, p := userEdge(t, riotsim.Config{}, "10:5", append([]string{
				"CLIENT_TOKENS=web=" + webToken + ",bot=" + botToken, "QUEUE_CAPACITY=" + strconv.Itoa(capacity), "SHUTDOWN_TIMEOUT=0",
			}, tt.vars...)...)
			client := manyCalls(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if code, _, err := askOnce(ctx, client, p.front+status, "X-Relay-Token", webToken); code != http.StatusOK {
				t.Fatal(code, err)
			}
			var mu sync.Mutex
			refused, served := 0, 0
			counts := func() (int, int) {
				mu.Lock()
				defer mu.Unlock()
				return refused, served
			}
			var all sync.WaitGroup
			defer all.Wait()
			defer leave()
			for range flood {
				all.Go(func() {
					code, _, err := askOnce(ctx, client, p.front+status, "X-Relay-Token", botToken)
					mu.Lock()
					defer mu.Unlock()
					if err == nil && code == http.StatusOK {
						served++
					} else if err == nil {
						refused++
					}
				})
			}
			eventually(t, "a full queue of the flood", func() bool { n, _ := counts(); return n > 0 })
			_, before := counts()
			for i := range 3 {
				if code, _, err := askOnce(ctx, client, p.front+status, append([]string{"X-Relay-Token", webToken}, tt.polite...)...); code != http.StatusOK {
					t.Fatalf("polite call %d: %d %v", i, code, err)
				}
			}
			// Turns: beside three calls of one client the other has about as many, not its whole queue.
			if _, after := counts(); after-before > capacity/2 {
				t.Errorf("%d calls of the flood went before three of the polite client", after-before)
			}
			leave()
			all.Wait()
			p.stop(t)
		})
	}
}

// X-Max-Wait doesn't extend a call's wait beyond ADMISSION_TIMEOUT: what can't
// be served by then is refused at once.
func TestMaxWaitCantFillTheQueue(t *testing.T) {
	t.Parallel()
	_, p := userEdge(t, riotsim.Config{}, "2:600", "ADMISSION_TIMEOUT=60s", "PACING=burst")
	client := manyCalls(t)
	for i, want := range []int{200, 200, 429, 429} {
		code, seconds, err := askOnce(t.Context(), client, p.front+status, "X-Max-Wait", "1000h")
		if err != nil || code != want || want == 429 && seconds < 60 {
			t.Errorf("call %d: %d, Retry-After %d, %v", i, code, seconds, err)
		}
	}
	at := "/api/v1/estimate?" + url.Values{"host": {"euw1"}, "path": {strings.TrimPrefix(status, "/euw1")}}.Encode()
	if a := visit(t, p.admin+at, ""); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := visit(t, p.admin+"/api/v1/state", ""); !strings.Contains(a.body, `"queued": 0,`) {
		t.Errorf("calls wait that can't be served: %s", fmt.Sprintf("%.300s", a.body))
	}
	p.stop(t)
}
