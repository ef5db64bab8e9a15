package daemon

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// The whole relay, over sockets: what reaches Riot, and where a key could show.

// exchange writes raw bytes and reads the answer's.
func (g *rig) exchange(t *testing.T, raw string) string {
	t.Helper()
	return g.exchangeOver(t, raw, nil)
}

// exchangeOver is exchange within TLS, unless that is nil.
func (g *rig) exchangeOver(t *testing.T, raw string, within *tls.Config) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.front, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if within != nil {
		c = tls.Client(c, within)
	}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil && len(b) == 0 {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever a client sends along, Riot sees our key, once, its own host's name,
// and nothing that is the client's or ours alone.
func TestHostileRequest(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1}, map[string]string{"ALLOWED_HOSTS": "*", "CORS_ORIGINS": "*"})
	manyThen := strings.Repeat("a=1&", 2500) // in a request line of 10 kB
	for name, c := range map[string]struct{ target, headers string }{
		"key in headers":        {status, "X-Riot-Token: theirs\r\nx_riot_token: theirs\r\nX-RIOT-TOKEN: theirs\r\n"},
		"key in the query":      {status + "?" + manyThen + "api_key=theirs", ""},
		"key behind ;":          {status + "?a=1;api_key=theirs", ""},
		"key behind bad escape": {status + "?%zz&api_key=theirs", ""},
		"Connection":            {status, "Connection: close, X-Riot-Token, Host, User-Agent\r\n"},
		"cookies":               {status, "Cookie: theirs=1\r\nCookie2: theirs\r\n"},
		"addresses":             {status, "X-Forwarded-For: theirs\r\nX-Forwarded-Host: theirs\r\nX-Forwarded-Proto: theirs\r\nForwarded: for=theirs\r\nVia: 1.1 theirs\r\nX-Real-IP: theirs\r\n"},
		"control headers":       {status, "X-Priority: high\r\nX-Max-Wait: 8s\r\nX-Riot-Token-Index: 0\r\nX-Relay-Token: theirs\r\nX-Request-Id: \ttheirs of them\r\n"},
		"Authorization":         {status, "Authorization: Bearer theirs\r\n"},
		"Proxy-Authorization":   {status, "Proxy-Authorization: Basic theirs\r\n"},
		"origin":                {status, "Origin: http://theirs.example\r\nReferer: http://theirs.example/\r\n"},
		"doubled headers":       {status, "Accept: a/b\r\nAccept: c/d\r\nX-Riot-Token: theirs\r\nX-Riot-Token: theirs\r\n"},
	} {
		for _, host := range []string{"relay", "theirs.example", "127.0.0.1:1", "[::1]:80"} {
			before := len(g.edge.Requests())
			raw := g.exchange(t, "GET "+c.target+" HTTP/1.1\r\nHost: "+host+"\r\n"+c.headers+"Connection: close\r\n\r\n")
			if !strings.HasPrefix(raw, "HTTP/1.1 200 ") {
				t.Errorf("%s: %.100q", name, raw)
				continue
			}
			if strings.Contains(raw, canary) || strings.Contains(raw, "theirs") {
				t.Errorf("%s: the answer shows %q", name, raw)
			}
			seen := g.edge.Requests()[before:]
			if len(seen) != 1 {
				t.Fatalf("%s: %d requests arrived", name, len(seen))
			}
			r := seen[0]
			if key := r.Header["X-Riot-Token"]; !slices.Equal(key, []string{canary}) || r.Host != "euw1.api.riotgames.com" {
				t.Errorf("%s: key %q, host %q", name, key, r.Host)
			}
			if strings.Contains(strings.ToLower(r.URI+fmt.Sprint(r.Header)), "theirs") {
				t.Errorf("%s: Riot saw %q %v", name, r.URI, r.Header)
			}
			for _, ours := range []string{"X-Priority", "X-Max-Wait", "X-Relay-Token", "X-Request-Id", "X-Riot-Token-Index", "X_riot_token", "Cookie", "Via", "Forwarded", "Referer", "Origin"} {
				if _, there := r.Header[ours]; there {
					t.Errorf("%s: Riot saw %s", name, ours)
				}
			}
		}
	}
}

// Hosts that aren't Riot's, verbs and forms that aren't relayed: nothing leaves.
func TestHostileTargets(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"ALLOWED_HOSTS": "*"})
	for _, line := range []string{
		"GET /euw1.evil.example/lol/status/v4/platform-data", "GET /x@evil.example/lol/status/v4/platform-data", "GET /euw1:80@evil.example/lol/x",
		"GET /euw1%00/lol/status/v4/platform-data", "GET /euw1%2eapi/lol/x", "GET /euw1。api/lol/x", "GET /[::1]/lol/x", "GET /127.0.0.1/lol/x",
		"GET //evil.example/lol/status/v4/platform-data", "GET /euw1//evil.example/x", "GET /euw1/lol/../../x", "GET /euw1/lol/%2e%2e/x",
		"GET http://evil.example/lol/status/v4/platform-data", "GET http://user:pass@euw1.api.riotgames.com.evil.example/lol/status/v4/platform-data",
		"TRACE " + status, "CONNECT evil.example:443", "CONNECT 127.0.0.1:22",
	} {
		raw := g.exchange(t, line+" HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n")
		if len(raw) < 12 || raw[9] != '4' {
			t.Errorf("%s: %.60q, want 4xx", line, raw)
		}
	}
	raw := g.exchange(t, "GET "+status+" HTTP/1.1\r\nHost: relay\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 400 ") {
		t.Errorf("upgrade: %.60q", raw)
	}
	if n := g.edge.Report().Arrived; n != 0 {
		t.Errorf("%d calls left", n)
	}
}

// A key on all its ways: used, dead, replaced, put where it doesn't belong, in a
// panic, at a restart. It shows in nothing that the relay says or writes.
func TestCanaryIsNowhere(t *testing.T) {
	dir := t.TempDir()
	keys, state := filepath.Join(dir, "keys"), filepath.Join(dir, "state.json")
	keyFile(t, keys, "main="+canary, "spare="+canary+"-2")
	g := startRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "5:600"}}},
		map[string]string{"RIOT_TOKEN": "", "RIOT_TOKEN_FILE": keys, "STATE_FILE": state, "ENABLE_PPROF": "true", "METRICS_ON_RELAY": "true"})
	var said bytes.Buffer
	ask := func(url string, headers ...string) {
		req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := g.client.Do(req)
		if err != nil {
			fmt.Fprintln(&said, err)
			return
		}
		defer resp.Body.Close()
		fmt.Fprintln(&said, resp.Status, resp.Header)
		io.Copy(&said, resp.Body)
	}
	everything := func() {
		for _, base := range []string{g.front, g.admin} {
			for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/favicon.ico", "/nothing"} {
				ask(base + path)
			}
		}
		for _, path := range []string{"/api/v1/state", "/api/v1/estimate?host=euw1&path=/lol/status/v4/platform-data", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
			ask(g.admin + path)
		}
		if err := (Process{Stdout: &said}).status(t.Context(), config.StatusOptions{Addr: g.admin}); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&said, "%+v %#v", g.limiter.Snapshot(), g.limiter.Snapshot())
	}
	ask(g.front + status)
	ask(g.front+status, "X-Max-Wait", canary)
	ask(g.front+status, "X-Riot-Token-Index", canary)
	ask(g.front + status + "?api_key=" + canary)
	ask(g.front + "/euw1/lol/" + canary)
	ask(g.front + "/" + canary + "/lol/status/v4/platform-data")
	everything()
	for key, refusal := range map[string]int{canary: 401, canary + "-2": 403} {
		g.edge.SetKey(key, refusal)
	}
	for _, path := range []string{"/lol/status/v4/platform-data", "/lol/summoner/v4/summoners/by-puuid/x", "/lol/champion-mastery/v4/scores/by-puuid/x"} {
		ask(g.front+"/euw1"+path, "X-Max-Wait", "0")
	}
	everything()
	keyFile(t, keys, "main="+canary+" "+canary)
	eventually(t, "a reload that fails", func() bool { return strings.Contains(g.log.String(), "they can't be read again") })
	keyFile(t, keys, "main="+canary+"-3")
	eventually(t, "a reload", func() bool { return g.get(g.front+status).status == 200 })
	everything()
	g.stopAndWait(t)
	said.WriteString(g.log.String())
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "keys" { // the user's own
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		said.Write(b)
		said.WriteString(f.Name())
	}
	text := said.String()
	if i := strings.Index(text, "CANARY"); i >= 0 {
		t.Errorf("found a key: …%s…", text[max(0, i-200):min(len(text), i+100)])
	}
	for _, want := range []string{`"key":"main"`, "riftrelay_key_state", "no_available_key", "goroutine ", `"final":true`} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing was said of %q: the test looks at too little", want)
		}
	}
}

// A stop with one queued call that can't be served in time refuses it, and does
// not wait for it.
func TestStopWithOneQueuedCall(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "1:600"}}, map[string]string{"SHUTDOWN_TIMEOUT": "30s", "ADMISSION_TIMEOUT": "0"})
	if a := g.get(g.front + status); a.status != 200 {
		t.Fatal(a)
	}
	waiting := make(chan answer, 1)
	go func() { waiting <- g.get(g.front + status) }()
	eventually(t, "a queue", func() bool { return g.limiter.Snapshot().Queued == 1 })
	begin := time.Now()
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if a := <-waiting; a.status != 503 || a.header.Get("Retry-After") == "" || a.header.Get("X-RiftRelay-Reason") != "shutting_down" {
		t.Errorf("%+v", a)
	}
	if _, err := g.client.Get(g.front + "/healthz"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the stop: %v", err)
	}
}
