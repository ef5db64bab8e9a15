package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"riftrelay/internal/tokens"
	"riftrelay/route"
)

func TestPage(t *testing.T) {
	obs := newSeen()
	address := serve(t, Options{
		Observer: obs, Version: "1.2<3", AdminAddr: "127.0.0.1:8986", Docs: "https://docs.example/?a=1&b",
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { t.Error("sent"); return nil, context.Canceled }),
	})
	browser := "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

	res, body := parse(t, sendRaw(t, address, get("/", browser)))
	for _, want := range []string{
		"curl &#39;http://relay.test/euw1/lol/status/v4/platform-data&#39;", "1.2&lt;3", "127.0.0.1:8986", "/metrics",
		`<a href="https://docs.example/?a=1&amp;b">`, "prefers-color-scheme", `<html lang="en">`,
	} {
		if !strings.Contains(strings.ReplaceAll(body, "curl '", "curl &#39;"), strings.TrimSuffix(want, "&#39;")) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if p := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; style-src 'sha256-") || res.StatusCode != 200 {
		t.Errorf("%d, policy %q", res.StatusCode, p)
	}
	if strings.Contains(body, "{{") {
		t.Errorf("a blank is not filled in:\n%s", body)
	}

	res, body = parse(t, sendRaw(t, address, get("/?x=1", "Accept: */*")))
	var data map[string]string
	if err := json.Unmarshal([]byte(body), &data); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if data["version"] != "1.2<3" || data["sample"] != "http://relay.test/euw1/lol/status/v4/platform-data" || data["admin"] != "127.0.0.1:8986" ||
		res.Header.Get("X-Riftrelay-Source") != "relay" {
		t.Errorf("%v %v", data, res.Header)
	}

	// Hosts that aren't plain names are not shown.
	for _, host := range []string{"a$(id)", "x;y", "a'b", "a&b", strings.Repeat("a", 300)} {
		_, body = parse(t, sendRaw(t, address, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n"+browser+"\r\n\r\n"))
		if strings.Contains(body, host) || !strings.Contains(body, "http://localhost/euw1") {
			t.Errorf("host %.20q: %s", host, body)
		}
	}
	if obs.started != 0 || len(obs.done) != 0 {
		t.Errorf("the page counts as a call: %+v", obs.done)
	}
}

// Anonymous callers from elsewhere learn neither the version nor where the admin
// listener is, and so do callers of a reverse proxy on this machine.
func TestThePageTellsStrangersLess(t *testing.T) {
	options := Options{
		Version: "v1.2.3", AdminAddr: "127.0.0.1:8986", Table: route.Default(),
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, context.Canceled }),
	}
	open, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	options.Clients = []Client{{Name: "web", Tokens: []tokens.Token{tokens.Of("a-token")}}}
	closed, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, header, value string
		told                bool // without CLIENT_TOKENS
		toldToken           bool // with them
	}{
		"this machine":           {"127.0.0.1:1", "", "", true, true},
		"this machine, IPv6":     {"[::1]:1", "", "", true, true},
		"elsewhere":              {"192.0.2.1:1", "", "", false, false},
		"elsewhere, IPv6":        {"[2001:db8::1]:1", "", "", false, false},
		"a token":                {"192.0.2.1:1", "X-Riot-Token", "a-token", false, true},
		"a wrong token":          {"192.0.2.1:1", "X-Riot-Token", "another", false, false},
		"a reverse proxy":        {"127.0.0.1:1", "X-Forwarded-For", "192.0.2.1", false, false},
		"another":                {"127.0.0.1:1", "Forwarded", "for=192.0.2.1", false, false},
		"an address that's none": {"@", "", "", false, false},
	} {
		for h, want := range map[*Handler]bool{open: tt.told, closed: tt.toldToken} {
			for _, accept := range []string{"text/html", "*/*"} {
				r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.RemoteAddr = tt.from
				r.Header.Set("Accept", accept)
				if tt.header != "" {
					r.Header.Set(tt.header, tt.value)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				body := w.Body.String()
				if w.Code != 200 || strings.Contains(body, "v1.2.3") != want || strings.Contains(body, "8986") != want || !strings.Contains(body, "/euw1/lol/status") {
					t.Errorf("%s, Accept %s: %d, told %v\n%s", name, accept, w.Code, want, body)
				}
			}
		}
	}
}

func TestWhatIsNoCall(t *testing.T) {
	obs := newSeen()
	address := serve(t, Options{
		Observer:  obs,
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { t.Error("sent"); return nil, context.Canceled }),
		Local: map[string]http.Handler{
			"/healthz": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok "+r.Method) }),
		},
	})
	for _, tt := range []struct {
		request string
		status  int
		body    string
	}{
		{get("/healthz"), 200, "ok GET"},
		{get("/healthz?full=1"), 200, "ok GET"},
		{request("POST", "/healthz", ""), 200, "ok POST"},
		{get("/healthz/"), 404, "no path after"},
		{get("/readyz"), 404, "no path after"},
		{get("/favicon.ico"), 204, ""},
		{get("/robots.txt"), 200, "Disallow: /"},
		{request("POST", "/robots.txt", ""), 404, "no path after"},
		{request("POST", "/", ""), 404, "no host"},
		{get("/euw1"), 404, "no path after"},
		{get("/euw1/"), 404, "no path after"},
		{get("/wp-login.php"), 404, `{"status":{"message":"no path after`},
		{get("/?api_key=x"), 200, "RiftRelay"},
	} {
		res, body := parse(t, sendRaw(t, address, tt.request))
		if res.StatusCode != tt.status || !strings.Contains(body, tt.body) {
			name, _, _ := strings.Cut(tt.request, "\r\n")
			t.Errorf("%s: %d %q, want %d %q", name, res.StatusCode, body, tt.status, tt.body)
		}
	}
	if obs.started != 0 || len(obs.done) != 0 || len(obs.refused) != 0 {
		t.Errorf("these count as calls: %d %q %q", obs.started, obs.done, obs.refused)
	}
}

// The explorer has its paths to itself, also where any host is forwarded, and
// nothing else.
func TestExplorer(t *testing.T) {
	calls, seen := 0, []string(nil)
	h, err := New(Options{
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			calls++
			return nil, errors.New("no edge here")
		}),
		Table:    forwarding(t),
		Explorer: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.RequestURI) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"/swagger", "/swagger/", "/swagger?x", "/swagger/openapi.json", "/swagger/a/b?c=d"}
	for _, path := range ours {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody))
	}
	if !slices.Equal(seen, ours) || calls != 0 {
		t.Errorf("the explorer was asked for %q; calls %d", seen, calls)
	}
	for _, path := range []string{"/swaggery/lol/status/v4/platform-data", "/euw1/swagger/", "/euw1/lol/status/v4/platform-data"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody))
	}
	if len(seen) != len(ours) {
		t.Errorf("the explorer was asked for %q", seen[len(ours):])
	}

	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `<a href="swagger/">`) {
		t.Error("the page doesn't lead to the explorer")
	}
}

func forwarding(t *testing.T) *route.Table {
	t.Helper()
	table, err := route.New(route.Options{ForwardUnknownHosts: true})
	if err != nil {
		t.Fatal(err)
	}
	return table
}
