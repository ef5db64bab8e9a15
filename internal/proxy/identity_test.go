package proxy

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestID(t *testing.T) {
	made := map[string]bool{}
	for _, c := range []struct {
		sent []string
		kept bool
	}{
		{[]string{"abc-123_{x}"}, true},
		{[]string{strings.Repeat("x", 64)}, true},
		{nil, false},
		{[]string{""}, false},
		{[]string{strings.Repeat("x", 65)}, false},
		{[]string{"a b"}, false},
		{[]string{"é"}, false},
		{[]string{"a", "b"}, false},
		{[]string{"xRGAPI-CANARY"}, false},
	} {
		var log strings.Builder
		var headers []string
		for _, id := range c.sent {
			headers = append(headers, "X-Request-Id", id)
		}
		w, up := ask(t, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, "GET", status, headers...)
		got := w.Header()["X-Request-Id"]
		switch {
		case len(got) != 1:
			t.Errorf("%q: %q", c.sent, got)
			continue
		case c.kept && got[0] != c.sent[0]:
			t.Errorf("%q: %q", c.sent, got)
		case !c.kept && (len(got[0]) != 32 || made[got[0]]):
			t.Errorf("%q: made %q", c.sent, got)
		}
		made[got[0]] = true
		if !strings.Contains(log.String(), got[0]) || strings.Contains(log.String(), "CANARY") {
			t.Errorf("%q: log %s", c.sent, log.String())
		}
		if up.Header["X-Request-Id"] != nil {
			t.Errorf("%q: Riot saw it", c.sent)
		}
	}
}

// Every answer has an id: Riot's, refusals, pages, whatever Riot's own says.
func TestRequestIDOnEveryAnswer(t *testing.T) {
	up := newUpstream(t, say("HTTP/1.1 200 OK\r\nX-Request-Id: riots\r\nContent-Length: 2\r\n\r\n{}"))
	o := Options{
		Transport: viaUpstream(t, up), Origins: []string{app}, Hosts: []string{"relay.test"},
		Local: map[string]http.Handler{"/healthz": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
	}
	for name, raw := range map[string]string{
		"Riot's": get(status, "X-Request-Id: mine"), "404": get("/euw1/lol/nothing", "X-Request-Id: mine"), "400": get(status, "X-Request-Id: mine", "X-Max-Wait: x"),
		"a page": get("/", "X-Request-Id: mine"), "health": get("/healthz", "X-Request-Id: mine"), "403": get(status, "X-Request-Id: mine", "Origin: null"),
		"preflight":      request("OPTIONS", status, "", "X-Request-Id: mine", "Origin: "+app, "Access-Control-Request-Method: GET"),
		"another's host": "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n", "TRACE": request("TRACE", "/", "", "X-Request-Id: mine"),
	} {
		res, _ := parse(t, sendRaw(t, serve(t, o), raw))
		if got := res.Header["X-Request-Id"]; len(got) != 1 || got[0] != "mine" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// R15: Riot's name for a call that failed stands in its line, and a method that
// ends is warned of once.
func TestWhatRiotSaysOfItself(t *testing.T) {
	var log strings.Builder
	obs := newSeen()
	end, code := "1798761600000", 200
	h, err := New(Options{
		Table: table(t), Observer: obs, Transport: &sent{},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(target string) {
		host, path, _ := strings.Cut(target[1:], "/")
		c := &call{}
		if c.route, err = h.table.Match("GET", host, "/"+path); err != nil {
			t.Fatal(err)
		}
		h.look(c, code, http.Header{"X-Riot-Deprecated": {end}, "X-Riot-Edge-Trace-Id": {"trace-RGAPI-CANARY-" + strings.Repeat("x", 1000)}})
		h.logCall(httptest.NewRequest("GET", target, http.NoBody), c, 0)
	}
	call(status)
	if strings.Contains(log.String(), "edge_trace") {
		t.Errorf("a trace id without an error: %s", log.String())
	}
	code = 503
	for range 3 {
		call(status)
	}
	if n := strings.Count(log.String(), "Riot has deprecated"); n != 1 || !strings.Contains(log.String(), "end=2027-01-01T00:00:00") {
		t.Errorf("warned %d times: %s", n, log.String())
	}
	if n := strings.Count(log.String(), "edge_trace="); n != 3 || strings.Contains(log.String(), "CANARY") || len(log.String()) > 5000 {
		t.Errorf("%d trace ids: %s", n, log.String())
	}
	for _, odd := range []string{"soon", "-1", "0", "99999999999999999999", "32503680000001", ""} {
		end = odd
		call("/euw1/lol/summoner/v4/summoners/by-puuid/x")
	}
	if n := strings.Count(log.String(), "Riot has deprecated"); n != 2 {
		t.Errorf("warned %d times", n)
	}
	if len(obs.deprecated) != 10 || obs.deprecated[0] != "/lol/status/v4/platform-data 2027-01-01" || !strings.HasSuffix(obs.deprecated[9], " 0001-01-01") {
		t.Errorf("metrics heard %q", obs.deprecated)
	}
}
