package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func noDial(n *int) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { *n++; return nil, errors.New("down") }
}

const (
	app     = "https://app.example"
	portal  = "https://developer.riotgames.com"
	browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/74.0.3729.169 Safari/537.36"
)

// Without CORS_ORIGINS no page of another site gets the relay to call.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	for name, headers := range map[string][]string{
		"fetch":                   {"Origin", app, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"},
		"a picture":               {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		"a link":                  {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
		"a sister site":           {"Origin", "http://other.relay.test", "Sec-Fetch-Site", "same-site"},
		"an old browser":          {"Origin", app, "User-Agent", browser},
		"an older one":            {"Origin", app, "User-Agent", "Opera/9.80 (X11; Linux x86_64) Presto/2.12.388"},
		"its password for us":     {"Origin", app, "User-Agent", browser, "Authorization", "Basic eDp0b2tlbg=="},
		"the portal's own page":   {"Origin", portal, "Sec-Fetch-Site", "cross-site", "User-Agent", browser},
		"the portal, old browser": {"Origin", portal, "User-Agent", browser, "Accept-Language", "en-US,en;q=0.9"},
		"a file or a sandbox":     {"Origin", "null", "User-Agent", browser},
		"the same name elsewhere": {"Origin", "http://relay.test:3000", "User-Agent", browser},
		"a form":                  {"Origin", app, "Content-Type", "text/plain", "User-Agent", browser},
		"a name that begins so":   {"Origin", "http://relay.test.evil.example", "User-Agent", browser},
		"a program's headers":     {"Origin", app, "Sec-Fetch-Site", "cross-site", "X-Riot-Token", "RGAPI-own", "User-Agent", "curl/8"},
	} {
		obs := newSeen()
		w, up := ask(t, Options{Observer: obs}, "GET", status, headers...)
		if w.Code != 403 || up.Request != nil || w.Header().Get("X-RiftRelay-Reason") != "cross_origin" || len(obs.refused) != 1 {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		if w, _ := ask(t, Options{}, "OPTIONS", status, append(headers, "Access-Control-Request-Method", "GET")...); w.Code < 400 || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: preflight %d %v", name, w.Code, w.Header())
		}
	}
}

func TestProgramsAndOwnPagesPass(t *testing.T) {
	for name, headers := range map[string][]string{
		"a program":              nil,
		"undici":                 {"Sec-Fetch-Mode", "cors", "User-Agent", "node"},
		"the explorer":           {"Origin", "http://relay.test", "Sec-Fetch-Site", "same-origin"},
		"the explorer's GET":     {"Sec-Fetch-Site", "same-origin"},
		"typed by a person":      {"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"},
		"headers of the portal":  {"Origin", portal, "User-Agent", browser, "Accept-Language", "en-US,en;q=0.9", "X-Riot-Token", "RGAPI-own"},
		"of those, without key":  {"Origin", portal, "User-Agent", browser, "Accept-Charset", "application/x-www-form-urlencoded; charset=UTF-8"},
		"any origin, with a key": {"Origin", app, "User-Agent", browser, "X-Riot-Token", "x"},
		"any origin, curl":       {"Origin", app, "User-Agent", "curl/8.5.0", "Accept", "*/*"},
		"any origin, no agent":   {"Origin", app},
		"old browser, own page":  {"Origin", "http://relay.test", "User-Agent", browser},
		"behind a proxy for TLS": {"Origin", "https://RELAY.test"},
	} {
		w, up := ask(t, Options{}, "GET", status, headers...)
		if w.Code != 200 || up.Request == nil || up.Header["Origin"] != nil {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// R15: what Riot says to browsers is replaced, not doubled.
func TestCORS(t *testing.T) {
	up := newUpstream(t, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nVary: Accept-Encoding\r\nAccess-Control-Allow-Origin: *\r\naccess-control-allow-origin: https://riot.example\r\n"+
		"Access-Control-Allow-Methods: GET\r\nAccess-Control-Allow-Credentials: true\r\n\r\n{}"))
	for _, c := range []struct {
		origins []string
		origin  string
		status  int
		allowed string
	}{
		{[]string{app, "http://localhost:3000"}, app, 200, app},
		{[]string{app}, "https://app.example.evil.example", 403, ""},
		{[]string{app}, "http://app.example", 403, ""},
		{[]string{app}, "null", 403, ""},
		{[]string{app}, "", 200, ""},
		{[]string{"*"}, "https://any.example", 200, "*"},
		{[]string{"*"}, "null", 200, "*"},
	} {
		lines := []string{"Sec-Fetch-Site: cross-site", "Origin: " + c.origin}
		if c.origin == "" {
			lines = nil
		}
		res, _ := parse(t, sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Origins: c.origins}), get(status, lines...)))
		var want []string
		if c.allowed != "" {
			want = []string{c.allowed}
		}
		if res.StatusCode != c.status || !slices.Equal(res.Header["Access-Control-Allow-Origin"], want) || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%v, %s: %s %v", c.origins, c.origin, res.Status, res.Header)
		}
		if vary := strings.Join(res.Header["Vary"], ","); c.origins[0] != "*" && strings.Count(vary, "Origin") != 1 {
			t.Errorf("%s: Vary %q", c.origin, vary)
		}
	}
}

func TestPreflight(t *testing.T) {
	o := Options{Origins: []string{app}, Clients: twoClients()} // a preflight can't have a token
	asks := []string{"Origin", app, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "x-relay-token,x-priority"}
	w, up := ask(t, o, "OPTIONS", status, asks...)
	h := w.Header()
	if w.Code != 204 || up.Request != nil || h.Get("Access-Control-Allow-Origin") != app || h.Get("Access-Control-Allow-Headers") != "x-relay-token,x-priority" ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "PATCH") || h.Get("Access-Control-Max-Age") == "" || h.Get("X-Request-Id") == "" {
		t.Errorf("%d %v", w.Code, h)
	}
	asks[len(asks)-1] = "x\"; <script>"
	if w, _ := ask(t, o, "OPTIONS", status, asks...); w.Header().Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("odd names come back: %v", w.Header())
	}
	// The page needs a token all the same, and can read that it does.
	w, _ = ask(t, o, "GET", status, "Origin", app, "Sec-Fetch-Site", "cross-site")
	if w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != app || w.Header().Get("Access-Control-Expose-Headers") != "*" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w, up := ask(t, o, "OPTIONS", status, "X-Relay-Token", token); w.Code != 404 || up.Request != nil {
		t.Errorf("OPTIONS that is no preflight: %d; want 404, as for every verb that the method doesn't have", w.Code)
	}
}

// A page that has pointed its own name to the relay's address is of the same
// origin to its browser; the Host shows it.
func TestRebinding(t *testing.T) {
	named := func(host string, o Options) (int, string) {
		o.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return answerOf("{}"), nil })
		target := status
		if strings.HasSuffix(host, "riotgames.com") {
			target = strings.TrimPrefix(status, "/euw1")
		}
		res, body := parse(t, sendRaw(t, serve(t, o), "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n\r\n"))
		return res.StatusCode, res.Header.Get("X-Riftrelay-Reason") + body
	}
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8985": 200, "LOCALHOST.:80": 200, "127.0.0.1": 200, "127.0.0.1:8985": 200, "[::1]": 200, "[::1]:8985": 200, "10.0.0.7": 200,
		"euw1.api.riotgames.com": 200, "relay.example": 200, "Relay.Example:1": 200,
		"evil.example": 403, "evil.example:8985": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "x.relay.example": 403, "0x7f.1": 403,
	} {
		code, text := named(host, Options{Hosts: []string{"relay.example"}})
		if code != want || code == 403 && !strings.HasPrefix(text, "host_not_allowed") {
			t.Errorf("%s: %d %s", host, code, text)
		}
		if code, text := named(host, Options{Hosts: []string{"*"}}); code != 200 {
			t.Errorf("*: %s: %d %s", host, code, text)
		}
	}
	if w, _ := ask(t, Options{Hosts: []string{}}, "GET", "/"); w.Code != 403 {
		t.Errorf("/: %d", w.Code)
	}
}

func TestPlainHTTPWhereTLSIsSpoken(t *testing.T) {
	o := Options{TLSOnly: true, Local: map[string]http.Handler{"/healthz": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	for path, want := range map[string]int{status: 400, "/": 400, "/metrics": 400, "/healthz?": 400, "/healthz": 200} {
		w, up := ask(t, o, "GET", path)
		if w.Code != want || up.Request != nil || want == 400 && w.Header().Get("X-RiftRelay-Reason") != "tls_required" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
