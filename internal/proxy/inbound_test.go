package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// What is sent is what arrived, byte for byte (R23), less api_key.
func TestTargetIsForwardedByteForByte(t *testing.T) {
	const riotID = "/riot/account/v1/accounts/by-riot-id/"
	for _, tt := range []struct{ in, want string }{
		{status, "/lol/status/v4/platform-data"},
		{status + "/", "/lol/status/v4/platform-data/"},
		{status + "?", "/lol/status/v4/platform-data?"},
		{status + "?a=1&b=%zz&;c+d=é%23x", "/lol/status/v4/platform-data?a=1&b=%zz&;c+d=é%23x"},
		{status + "?api_key=RGAPI-1", "/lol/status/v4/platform-data"},
		{status + "?a=1;%41pi_key=RGAPI-1&b", "/lol/status/v4/platform-data?a=1&b"},
		{status + "?a=/?b=?&x=..//", "/lol/status/v4/platform-data?a=/?b=?&x=..//"},
		{"/europe" + riotID + "a%2Fb%23%3F%25/EUW", riotID + "a%2Fb%23%3F%25/EUW"},
		{"/europe" + riotID + "a%2fb/%e4%bd%a0", riotID + "a%2fb/%e4%bd%a0"},
		{"/europe" + riotID + "你好/x", riotID + "你好/x"},
		{"/europe" + riotID + "a+b;c=d,e:f@g!$&'()*~/x", riotID + "a+b;c=d,e:f@g!$&'()*~/x"},
		{"/europe" + riotID + "Hide%20on%20bush/KR1", riotID + "Hide%20on%20bush/KR1"},
		{"/europe" + riotID + "\xff\xfe\"<>\\^`{|}/x", riotID + "\xff\xfe\"<>\\^`{|}/x"},
		{"/europe" + riotID + "%41%2E/x%2e", riotID + "%41%2E/x%2e"},
	} {
		up := newUpstream(t, say(plainAnswer))
		raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}), get(tt.in))
		if res, body := parse(t, raw); res.StatusCode != 200 || body != "{}" {
			t.Errorf("%q: answer %q", tt.in, raw)
			continue
		}
		line, _, _ := strings.Cut(up.last(t), "\r\n")
		if want := "GET " + tt.want + " HTTP/1.1"; line != want {
			t.Errorf("%q: upstream got %q, want %q", tt.in, line, want)
		}
	}
}

func TestRefusedTargets(t *testing.T) {
	const path = "/lol/status/v4/platform-data"
	for _, tt := range []struct {
		request string
		status  int
		says    string
	}{
		{get(status + "?a#b"), 400, "raw space, #"},
		{request("CONNECT", "euw1.api.riotgames.com:443", ""), 405, "CONNECT"},
		{get("//lol/status/v4/platform-data"), 400, "empty segment"},
		{get("/euw1//lol/status/v4/platform-data"), 400, "empty segment"},
		{get("/euw1//"), 400, "empty segment"},
		{get("/euw1/lol//status"), 400, "empty segment"},
		{get("/euw1/lol/%2e%2E/status"), 400, "no segment . or .."},
		{get("/euw1/../status"), 400, "no segment . or .."},
		{get("/euw1/lol/%0a/status"), 400, "no control byte"},
		{get("/euw1/lol/#/status"), 400, "space, ? or #"},
		{get("/EUW" + path), 404, "the nearest is euw1"},
		{get("/\u212ar" + path), 404, "unknown host"}, // a Kelvin sign is k in lower case
		{get("/euw9" + path), 404, "unknown host"},
		{get("/euw1.api.riotgames.com" + path), 404, "unknown host"},
		{get("/x@evil.example" + path), 404, "unknown host"},
		{get("/[::1]" + path), 404, "unknown host"},
		{get("/euw1%2e" + path), 404, "unknown host"},
		{get("/euw1。api" + path), 404, "unknown host"},
		{get("/europe" + path), 404, "does not serve"},
		{get("/euw1/lol/nothing/v1/here"), 404, "unknown path"},
		{get("ftp://euw1.api.riotgames.com" + path + "?api_key=secret"), 400, "neither a path nor http://"},
		{request("OPTIONS", "euw1:443", ""), 400, ""}, // net/http's own
		{request("CONNECT", "euw1.api.riotgames.com:443", ""), 405, "CONNECT is not relayed"},
		{request("TRACE", status, ""), 405, "TRACE is not relayed"},
		{request("BREW", status, ""), 400, "BREW"},
		{get(status, "Upgrade: websocket"), 400, "upgrade"},
		{get(status, "Upgrade: h2c, websocket"), 400, "upgrade"},
	} {
		obs := newSeen()
		up := newUpstream(t, say(plainAnswer))
		raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Observer: obs}), tt.request)
		res, body := parse(t, raw)
		name, _, _ := strings.Cut(tt.request, "\r\n")
		if res.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%q: %d %s; want %d with %q", name, res.StatusCode, body, tt.status, tt.says)
		}
		if len(up.heads) != 0 {
			t.Errorf("%q: upstream got %q", name, up.heads)
		}
		if tt.says == "" {
			continue
		}
		if got := res.Header.Get("X-Riftrelay-Reason"); got != "invalid_route" {
			t.Errorf("%q: reason %q", name, got)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%q: the key is echoed: %s", name, body)
		}
		if res.StatusCode == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%q: a 405 without Allow", name)
		}
		<-obs.ended
		if obs.started != 1 || len(obs.done) != 1 {
			t.Errorf("%q: observer saw %d starts and %q", name, obs.started, obs.done)
		}
	}
}

// What isn't a host by the table, and a path that could be read as an authority,
// never reach a transport, even one that doesn't look.
func TestNoOddHostReachesTheTransport(t *testing.T) {
	for _, target := range []string{"/x@evil.example/lol/x", "/\u212ar" + status[5:], "/euw1//evil.example/x", "/euw9" + status[5:], "/a:b@c/x"} {
		address := serve(t, Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			t.Errorf("%q was sent as %v %q", target, r.URL, r.URL.Opaque)
			return answerOf("{}"), nil
		})})
		if res, _ := parse(t, sendRaw(t, address, get(target))); res.StatusCode < 400 {
			t.Errorf("%q: %d", target, res.StatusCode)
		}
	}
}

// Where unknown hosts are forwarded, only names of the strict pattern are (R24).
func TestForwardedHost(t *testing.T) {
	open, err := route.New(route.Options{ForwardUnknownHosts: true})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	address := serve(t, Options{Table: open, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.URL.Host + r.URL.Opaque + " " + r.Host
		return answerOf("{}"), nil
	})})
	for host, want := range map[string]string{
		"xx1": "xx1.api.riotgames.com" + status[5:] + " xx1.api.riotgames.com", "x": "", "xx12": "", "x.y": "", "XX1": "xx1.api.riotgames.com" + status[5:] + " xx1.api.riotgames.com", "xx1%2e": "",
	} {
		got = ""
		sendRaw(t, address, get("/"+host+status[5:]))
		if got != want {
			t.Errorf("host %q was sent to %q, want %q", host, got, want)
		}
	}
}

// Java's client offers h2c with each plain request.
func TestOfferOfH2CIsIgnored(t *testing.T) {
	up := newUpstream(t, say(plainAnswer))
	raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}),
		"GET "+status+" HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n\r\n")
	if res, _ := parse(t, raw); res.StatusCode != 200 {
		t.Fatalf("answer %q", raw)
	}
	if head := up.last(t); strings.Contains(strings.ToLower(head), "upgrade") || strings.Contains(head, "Http2") {
		t.Errorf("upstream got %q", head)
	}
}

func TestRequestHeaders(t *testing.T) {
	up := newUpstream(t, say(plainAnswer))
	sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Keys: keysOf(3)}), get(status,
		"Accept: application/json", "Accept: text/plain", "Accept-Encoding: br;q=1, gzip", "Accept-Language: ko-KR", "Accept-Charset: utf-8",
		"If-None-Match: \"x\"", "If-Modified-Since: y", "User-Agent: mine/1", "Content-Type: a/b",
		"X-Riot-Token: RGAPI-CANARY", "x_riot_token: RGAPI-CANARY", "X-RIOT-TOKEN: RGAPI-CANARY",
		"Cookie: a=b", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: h", "Forwarded: for=x", "Via: y", "X-Real-Ip: 1.2.3.4",
		"X-Priority: HIGH", "X-Riot-Token-Index: 1", "X-Max-Wait: 8s", "X-Rate-Budget: crawler", "Authorization: Bearer token", "Proxy-Authorization: Basic x",
		"Sec-Fetch-Site: none", "Origin: http://x", "Referer: http://y", "Range: bytes=0-1", "TE: trailers", "Expect: 100-continue", "Priority: u=1", "Anything: else"))
	lines := strings.Split(up.last(t), "\r\n")[1:]
	slices.Sort(lines)
	want := []string{
		"Accept-Charset: utf-8", "Accept-Encoding: br;q=1, gzip", "Accept-Language: ko-KR", "Accept: application/json", "Accept: text/plain",
		"Connection: close", // the test's own transport, which doesn't keep connections
		"Content-Type: a/b", "Host: euw1.api.riotgames.com", "If-Modified-Since: y", "If-None-Match: \"x\"", "User-Agent: mine/1",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("upstream got\n%q\nwant\n%q", lines, want)
	}
}

func TestRequestWithoutHeaders(t *testing.T) {
	up := newUpstream(t, say(plainAnswer))
	sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Version: "1.2"}), get(status))
	want := []string{"Connection: close", "Host: euw1.api.riotgames.com", "User-Agent: riftrelay/1.2"}
	lines := strings.Split(up.last(t), "\r\n")[1:]
	slices.Sort(lines)
	if !slices.Equal(lines, want) {
		t.Errorf("upstream got %q, want %q", lines, want)
	}
}

func TestHeadersListedInConnectionStay(t *testing.T) {
	up := newUpstream(t, say(plainAnswer))
	sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}),
		"GET "+status+" HTTP/1.1\r\nHost: x\r\nConnection: close, accept , X-Riot-Token\r\nAccept: a/b\r\nAccept-Language: ko\r\nX-Riot-Token: RGAPI-1\r\n\r\n")
	head := up.last(t)
	if strings.Contains(head, "Accept: a/b") || !strings.Contains(head, "Accept-Language: ko") {
		t.Errorf("upstream got %q", head)
	}
}

// R5: a player's token goes to RSO methods, and nowhere else.
func TestAuthorizationOnRSOMethodsOnly(t *testing.T) {
	var got http.Header
	address := serve(t, Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return answerOf("{}"), nil
	})})
	for path, want := range map[string]bool{
		"/europe/riot/account/v1/accounts/me":               true,
		"/europe/lol/rso-match/v1/matches/ids":              true,
		"/euw1/lol/summoner/v4/summoners/me":                true,
		"/euw1/lol/summoner/v4/summoners/me/":               true,
		"/euw1/lol/summoner/v4/summoners/by-puuid/me":       false,
		"/europe/riot/account/v1/accounts/by-riot-id/me/me": false,
		"/euw1/lol/status/v4/platform-data":                 false,
	} {
		got = nil
		sendRaw(t, address, get(path, "Authorization: Bearer x"))
		if _, has := got["Authorization"]; got == nil || has != want {
			t.Errorf("%s: Authorization forwarded = %v, want %v (%v)", path, has, want, got)
		}
	}
}

func TestControlHeaders(t *testing.T) {
	for _, tt := range []struct {
		lines  []string
		keys   int
		want   riftrelay.Options
		reason string
		says   string
	}{
		{nil, 1, riftrelay.Options{}, "", ""},
		{[]string{"X-Priority: high"}, 1, riftrelay.Options{Priority: riftrelay.High}, "", ""},
		{[]string{"x-priority: HiGh"}, 1, riftrelay.Options{Priority: riftrelay.High}, "", ""},
		{[]string{"X-Priority: normal"}, 1, riftrelay.Options{}, "", ""},
		{[]string{"X-Priority: highest"}, 1, riftrelay.Options{}, "", ""},
		{[]string{"X-Priority:"}, 1, riftrelay.Options{}, "", ""},
		{[]string{"X-Riot-Token-Index: 0"}, 1, riftrelay.Options{Key: riftrelay.Key{Name: "key0"}}, "", ""},
		{[]string{"X-Riot-Token-Index: 2"}, 3, riftrelay.Options{Key: riftrelay.Key{Name: "key2"}}, "", ""},
		{[]string{"X-Riot-Token-Index: 3"}, 3, riftrelay.Options{}, "invalid_token_index", `X-Riot-Token-Index is \"3\"; allowed: 0 to 2`},
		{[]string{"X-Riot-Token-Index: 1"}, 1, riftrelay.Options{}, "invalid_token_index", "0, as there is one key"},
		{[]string{"X-Riot-Token-Index: 0"}, 0, riftrelay.Options{}, "invalid_token_index", "no key is configured"},
		{[]string{"X-Riot-Token-Index: -1"}, 3, riftrelay.Options{}, "invalid_token_index", "0 to 2"},
		{[]string{"X-Riot-Token-Index: +1"}, 3, riftrelay.Options{}, "invalid_token_index", "0 to 2"},
		{[]string{"X-Riot-Token-Index: 99999999999999999999"}, 3, riftrelay.Options{}, "invalid_token_index", "0 to 2"},
		{[]string{"X-Riot-Token-Index: RGAPI-CANARY-1"}, 3, riftrelay.Options{}, "invalid_token_index", "RGAPI-…"},
		{[]string{"X-Rate-Budget:  Crawler "}, 1, riftrelay.Options{Budget: "Crawler"}, "", ""},
		{[]string{"X-Rate-Budget: default"}, 1, riftrelay.Options{Budget: riftrelay.NoBudget}, "", ""},
		{[]string{"X-Rate-Budget:"}, 1, riftrelay.Options{}, "", ""},
		{[]string{"X-Max-Wait: 8s"}, 1, riftrelay.Options{MaxWait: 8 * time.Second}, "", ""},
		{[]string{"X-Max-Wait: 1m1.5s"}, 1, riftrelay.Options{MaxWait: 61500 * time.Millisecond}, "", ""},
		{[]string{"X-Max-Wait: 8"}, 1, riftrelay.Options{MaxWait: 8 * time.Second}, "", ""},
		{[]string{"X-Max-Wait: 0"}, 1, riftrelay.Options{MaxWait: riftrelay.NowOrNever}, "", ""},
		{[]string{"X-Max-Wait: 0s"}, 1, riftrelay.Options{MaxWait: riftrelay.NowOrNever}, "", ""},
		{[]string{"X-Max-Wait: -1"}, 1, riftrelay.Options{}, "invalid_max_wait", `X-Max-Wait is \"-1\"; allowed: a duration`},
		{[]string{"X-Max-Wait: -0s"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
		{[]string{"X-Max-Wait: 1.5"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
		{[]string{"X-Max-Wait: 8 s"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
		{[]string{"X-Max-Wait: soon"}, 1, riftrelay.Options{}, "invalid_max_wait", "soon"},
		{[]string{"X-Max-Wait:"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
		{[]string{"X-Max-Wait: 99999999999"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
		{[]string{"X-Max-Wait: 9999999999999h"}, 1, riftrelay.Options{}, "invalid_max_wait", "allowed"},
	} {
		obs := newSeen()
		h, err := New(Options{Table: table(t), Observer: obs, Keys: keysOf(tt.keys),
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { t.Error("sent"); return nil, context.Canceled })})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", status, nil)
		for _, line := range tt.lines {
			name, value, _ := strings.Cut(line, ":")
			r.Header.Add(name, strings.TrimSpace(value))
		}
		o, err := h.control(r.Header)
		if tt.reason == "" {
			if err != nil || o != tt.want {
				t.Errorf("%q: %+v, %v; want %+v", tt.lines, o, err, tt.want)
			}
			continue
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 400 || w.Header().Get("X-Riftrelay-Reason") != tt.reason || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%q: %d %s %s; want 400 %s with %s", tt.lines, w.Code, w.Header().Get("X-Riftrelay-Reason"), w.Body, tt.reason, tt.says)
		}
		if strings.Contains(w.Body.String(), "CANARY") {
			t.Errorf("%q: a key is echoed: %s", tt.lines, w.Body)
		}
		if len(obs.refused) != 1 || string(obs.refused[0]) != tt.reason {
			t.Errorf("%q: observer heard of %q", tt.lines, obs.refused)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := New(Options{Table: table(t)})
	if err == nil || !strings.Contains(err.Error(), "Transport") {
		t.Errorf("without a transport: %v", err)
	}
	_, err = New(Options{Transport: http.DefaultTransport})
	if err == nil || !strings.Contains(err.Error(), "Table") {
		t.Errorf("without a table: %v", err)
	}
}
