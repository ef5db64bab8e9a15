package daemon

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/dashboard/browsertest"
	"riftrelay/riotsim"
)

// The page as its users have it: a real relay in front of a simulated Riot,
// under load, in a real browser. PAGE_SHOTS names a directory for screenshots.
func TestPageInABrowser(t *testing.T) {
	const main, spare = "RGAPI-main", "RGAPI-spare"
	edge, upstream := startEdge(t, riotsim.Config{
		Keys:    map[string]string{main: "20:1,60:20", spare: "20:1,30:20"},
		Latency: riotsim.Latency{Up: 20 * time.Millisecond, Down: 20 * time.Millisecond, DownJitter: 30 * time.Millisecond}, MatchBytes: 2000,
		MethodLimits: []riotsim.Rule{{Method: "/lol/league/v4/challengerleagues/by-queue/{queue}", Limit: "10:30"}},
	})
	p := &pageRig{t: t, vars: map[string]string{
		"RIOT_TOKEN": "main=" + main + ",spare=" + spare, "UPSTREAM_URL": upstream, "ADMIN_TOKEN": "let-me-in-please-42", "RATE_BUDGET_crawler": "0.3",
		"LISTEN_ADDR": freeAddress(t), "ADMIN_ADDR": freeAddress(t), "SHUTDOWN_TIMEOUT": "0",
	}}
	p.start()
	defer p.stop()

	calls, cut := context.WithCancel(t.Context())
	var loaded sync.WaitGroup
	base := &http.Transport{MaxIdleConnsPerHost: 128}
	client := &twoClients{base: base}
	defer base.CloseIdleConnections()
	defer loaded.Wait()
	defer cut()
	control := http.NewServeMux()
	control.HandleFunc("POST /load", func(http.ResponseWriter, *http.Request) {
		l := load{relays: []string{"http://" + p.vars["LISTEN_ADDR"]}, http: &http.Client{Transport: client}, seed: 1, tally: &tally{}}
		loaded.Go(func() { l.run(calls, calls) })
		loaded.Go(func() { budgeted(calls, l.http, l.relays[0]+status) })
	})
	control.HandleFunc("POST /kill", func(http.ResponseWriter, *http.Request) { edge.SetKey(spare, http.StatusUnauthorized) })
	control.HandleFunc("POST /storm", func(http.ResponseWriter, *http.Request) {
		if err := edge.Inject(riotsim.Fault{Host: "euw1", Kind: riotsim.Application, Times: 1, Wait: 40 * time.Second},
			riotsim.Fault{Host: "na1", Kind: riotsim.Service, Times: 2, Wait: 15 * time.Second}); err != nil {
			t.Error(err)
		}
	})
	control.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { p.stop() })
	control.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) { p.start() })
	shared := miniredis.RunT(t)
	control.HandleFunc("POST /away", func(http.ResponseWriter, *http.Request) { shared.Close() })
	control.HandleFunc("POST /back", func(http.ResponseWriter, *http.Request) {
		if err := shared.Restart(); err != nil {
			t.Error(err)
		}
	})
	control.HandleFunc("POST /tokens", func(http.ResponseWriter, *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		maps.Copy(p.vars, map[string]string{
			"CLIENT_TOKENS": "web=" + tokenOfWeb + ",bot=" + tokenOfBot + ",idle=nobody-has-this-token", "CLIENT_BOT_PRIORITY": "normal", "CLIENT_BOT_BUDGET": "crawler", "CLIENT_BOT_ALLOW": "/lol/match/v5,euw1:/lol/status",
			"STORE_URL": "redis://" + shared.Addr(), "ENABLE_SWAGGER": "false", "ENABLE_METRICS": "false",
		})
	})
	s := httptest.NewServer(control)
	defer s.Close()

	t.Log(browsertest.Run(t, "page.mjs", 4*time.Minute,
		"RELAY_ADMIN=http://"+p.vars["ADMIN_ADDR"], "RELAY_FRONT=http://"+p.vars["LISTEN_ADDR"], "CONTROL="+s.URL, "TOKEN=let-me-in-please-42", "SHOTS="+os.Getenv("PAGE_SHOTS")))
}

// budgeted calls under a budget, until ctx ends.
func budgeted(ctx context.Context, client *http.Client, url string) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		req.Header.Set("X-Rate-Budget", "crawler")
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

const tokenOfWeb, tokenOfBot = "token-of-web-0123456789", "token-of-bot-0123456789"

// twoClients sends every third call as the bot's, and the others as the web's.
type twoClients struct {
	base http.RoundTripper
	n    atomic.Int64
}

func (c *twoClients) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	token := tokenOfWeb
	if c.n.Add(1)%3 == 0 {
		token = tokenOfBot
	}
	r.Header.Set("X-Relay-Token", token)
	return c.base.RoundTrip(r)
}

// pageRig is a relay that can be stopped and started again where it was.
type pageRig struct {
	t    *testing.T
	vars map[string]string
	mu   sync.Mutex
	end  func()
}

func (p *pageRig) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	env := world(p.vars)
	env.Names = func() []string { return slices.Collect(maps.Keys(p.vars)) }
	in, err := config.Parse(nil, env)
	if err != nil {
		p.t.Error(err)
		return
	}
	r, err := assemble(in.Settings, newLogger(&buffer{}, in.Settings, true), riftrelay.Hooks{}, nil)
	if err == nil {
		err = r.listen(context.Background())
	}
	if err != nil {
		p.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.serve(ctx, nil) }()
	p.end = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			p.t.Error("the relay doesn't stop")
		}
	}
}

func (p *pageRig) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		p.end()
		p.end = nil
	}
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
