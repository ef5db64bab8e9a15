package proxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/route"
)

// ways are the five ways of saying that a call goes to a host of the API, as
// the bytes of a request; path begins with "/" and may have a query.
var ways = map[string]func(verb, host, path string, lines ...string) string{
	"path": func(verb, host, path string, lines ...string) string {
		return asked(verb, "/"+host+path, "relay.test:8985", lines...)
	},
	"absolute form": func(verb, host, path string, lines ...string) string {
		return asked(verb, "http://"+host+domain+path, host+domain, lines...)
	},
	"absolute form, https": func(verb, host, path string, lines ...string) string {
		return asked(verb, "HTTPS://"+host+domain+":443"+path, "other.test", lines...)
	},
	"Host header": func(verb, host, path string, lines ...string) string {
		return asked(verb, path, host+domain, lines...)
	},
	"Kernel": func(verb, host, path string, lines ...string) string {
		path, query, _ := strings.Cut(path, "?")
		if query != "" {
			query += "&"
		}
		return asked(verb, path+"?"+query+"platform="+strings.ToUpper(host), "relay.test", lines...)
	},
	// CONNECT and TLS are wrapped round a request with a Host header: TestWaysOverTLS.
}

// matching is a transport that routes as riftrelay.Transport does, and then
// only tells what it would send.
func matching(hosts *route.Table, sent func(*http.Request)) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, err := hosts.Match(r.Method, strings.TrimSuffix(r.URL.Host, domain), r.URL.Opaque); err != nil {
			return nil, &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: err}
		}
		sent(r)
		return answerOf("{}"), nil
	})
}

func asked(verb, target, host string, lines ...string) string {
	all := append([]string{verb + " " + target + " HTTP/1.1", "Host: " + host, "Connection: close"}, lines...)
	return strings.Join(all, "\r\n") + "\r\n\r\n"
}

// In all ways, what is sent is what arrived, byte for byte (R23).
func TestWaysForwardByteForByte(t *testing.T) {
	const riotID = "/riot/account/v1/accounts/by-riot-id/"
	for way, ask := range ways {
		for _, path := range []string{
			"/lol/status/v4/platform-data", "/lol/status/v4/platform-data/", "/lol/status/v4/platform-data?a=1&b=%zz&;c+d=\u00e9%23x",
			riotID + "a%2Fb%23%3F%25/EUW", riotID + "a%2fb/%e4%bd%a0", riotID + "你好/x", riotID + "a+b;c=d,e:f@g!$&'()*~/x",
			riotID + "Hide%20on%20bush/KR1", riotID + "\"<>\\^`{|}/x", riotID + "%41%2E/x%2e",
		} {
			host := "euw1"
			if strings.HasPrefix(path, "/riot") {
				host = "europe"
			}
			up := newUpstream(t, say(plainAnswer))
			raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}), ask("GET", host, path, "X-Riot-Token: theirs"))
			if res, body := parse(t, raw); res.StatusCode != 200 || body != "{}" {
				t.Errorf("%s, %q: answer %q", way, path, raw)
				continue
			}
			head := up.last(t)
			if !strings.HasPrefix(head, "GET "+path+" HTTP/1.1\r\n") || !strings.Contains(head, "\r\nHost: "+host+domain) {
				t.Errorf("%s, %q: upstream got %q", way, path, head)
			}
			if strings.Contains(head, "theirs") {
				t.Errorf("%s: upstream got the client's key: %q", way, head)
			}
		}
	}
}

// refusals are requests that no way may let through: verb, host, path, lines.
var refusals = []struct {
	verb, host, path string
	lines            []string
	status           int
}{
	{"GET", "euw1", "//lol/status/v4/platform-data", nil, 400},
	{"GET", "euw1", "/lol//status/v4/platform-data", nil, 400},
	{"GET", "euw1", "/lol/%2e%2E/status", nil, 400},
	{"GET", "euw1", "/lol/../status", nil, 400},
	{"GET", "euw1", "/lol/./status", nil, 400},
	{"GET", "euw1", "/lol/%0a/status", nil, 400},
	{"GET", "euw1", "/lol/%7f/status", nil, 400},
	{"GET", "euw1", "/lol/#/status", nil, 400},
	{"GET", "euw9", "/lol/status/v4/platform-data", nil, 404},
	{"GET", "euw1", "/lol/nothing/v1/here", nil, 404},
	{"TRACE", "euw1", "/lol/status/v4/platform-data", nil, 405},
	{"BREW", "euw1", "/lol/status/v4/platform-data", nil, 400},
	{"GET", "euw1", "/lol/status/v4/platform-data", []string{"Upgrade: websocket"}, 400},
	{"GET", "euw1", "/lol/status/v4/platform-data?api_key=RGAPI-secret", []string{"X-Max-Wait: RGAPI-secret"}, 400},
	{"GET", "euw1", "/lol/status/v4/platform-data", []string{"X-Riot-Token-Index: 7"}, 400},
}

func TestWaysRefuseAlike(t *testing.T) {
	for way, ask := range ways {
		for _, tt := range refusals {
			if way == "Kernel" && strings.HasPrefix(tt.path, "//") {
				continue // begins with the path: there is no such form
			}
			up := newUpstream(t, say(plainAnswer))
			raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Keys: keysOf(2)}), ask(tt.verb, tt.host, tt.path, tt.lines...))
			checkRefusal(t, fmt.Sprintf("%s: %s %s%s %q", way, tt.verb, tt.host, tt.path, tt.lines), raw, tt.status)
			if len(up.heads) != 0 {
				t.Errorf("%s %v: upstream got %q", way, tt, up.heads)
			}
		}
	}
}

// checkRefusal looks at an answer of the relay's own: status, and Riot's form.
func checkRefusal(t *testing.T, what, raw string, status int) {
	t.Helper()
	res, body := parse(t, raw)
	if res.StatusCode != status {
		t.Errorf("%s: %d %s; want %d", what, res.StatusCode, body, status)
	}
	if !strings.HasPrefix(body, `{"status":{"message":"`) || !strings.Contains(body, fmt.Sprintf(`"status_code":%d}}`, status)) ||
		res.Header.Get("X-RiftRelay-Source") != SourceRelay || res.Header.Get("X-RiftRelay-Reason") == "" {
		t.Errorf("%s: not Riot's form: %q", what, raw)
	}
	if strings.Contains(raw, "secret") {
		t.Errorf("%s: a key is echoed: %q", what, raw)
	}
}

// Only {host}.api.riotgames.com is a name of Riot's; whatever else looks like
// one is refused, and nothing leaves.
func TestOddNames(t *testing.T) {
	const path = "/lol/status/v4/platform-data"
	for _, tt := range []struct {
		name           string
		absolute, host int // status in absolute form, and as Host header; 0 = net/http refuses it itself
	}{
		{"euw9.api.riotgames.com", 404, 404},
		{"euw1x2.api.riotgames.com", 404, 404},
		{"api.riotgames.com", 400, 400},
		{".api.riotgames.com", 400, 400},
		{"x.euw1.api.riotgames.com", 400, 400},
		{"eu-w1.api.riotgames.com", 400, 400},
		{"euw1.api.riotgames.com.", 400, 400},
		{"euw1.api.riotgames.com..", 400, 400},
		{"euw1.api.riotgames.com:8080", 400, 400},
		{"euw1.api.riotgames.com:22", 400, 400},
		{"euw1.api.riotgames.com:", 400, 400},
		{"euw1.api.riotgames.com:443:443", 0, 400},
		{"euw1.api.riotgames.com:+443", 0, 400},
		{"euw1.api.riotgames.com.evil.example", 400, 400},
		{"evil-api.riotgames.com", 400, 400},
		{"riotgames.com", 400, 400},
		{"auth.riotgames.com", 400, 400},
		{"euw1%2eapi.riotgames.com", 0, 400},
		{"user@euw1.api.riotgames.com", 400, 0},
		{"user:secret@euw1.api.riotgames.com", 400, 0},
		{"euw1.api.riotgames.com@evil.example", 400, 0},
		{"euw1.api.riotgames.com\\@evil.example", 0, 0},
		{"euw1。api.riotgames.com", 400, 0},
		{"euw1．api．riotgames．com", 400, 0},
		{"[::1]", 400, 404},
		{"[::ffff:1.2.3.4]:443", 400, 404},
		{"evil.example", 403, 404},
		{"127.0.0.1:8986", 403, 404},
		{"localhost", 403, 404},
		{"relay.test", 403, 404},
	} {
		for way, request := range map[string]string{
			"absolute form": asked("GET", "http://"+tt.name+path, "relay.test"),
			"Host header":   asked("GET", path, tt.name),
		} {
			address := serve(t, Options{Transport: matching(table(t), func(r *http.Request) {
				t.Errorf("%s %q was sent as %v %q", way, tt.name, r.URL, r.URL.Opaque)
			})})
			status := tt.absolute
			if way == "Host header" {
				status = tt.host
			}
			raw := sendRaw(t, address, request)
			if status == 0 {
				if !strings.HasPrefix(raw, "HTTP/1.1 400 ") {
					t.Errorf("%s %q: %q", way, tt.name, raw)
				}
				continue
			}
			checkRefusal(t, way+" "+tt.name, raw, status)
		}
	}
}

// Names are names in any case and with the port that their scheme has.
func TestNamesOfRiots(t *testing.T) {
	for _, name := range []string{"euw1.api.riotgames.com", "EUW1.API.RiotGames.com", "euw1.api.riotgames.com:443", "euw1.api.riotgames.com:80"} {
		for way, request := range map[string]string{
			"absolute form": asked("GET", "http://"+name+"/lol/status/v4/platform-data", "x"),
			"Host header":   asked("GET", "/lol/status/v4/platform-data", name),
		} {
			got := ""
			address := serve(t, Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				got = r.URL.Host + r.URL.Opaque
				return answerOf("{}"), nil
			})})
			sendRaw(t, address, request)
			if want := "euw1" + domain + "/lol/status/v4/platform-data"; got != want {
				t.Errorf("%s %s: sent to %q", way, name, got)
			}
		}
	}
}

// A host is a name of DNS, in whose letters case means nothing: Riven says EUW1.
// It is one host to the limits, however it is written.
func TestHostsInCapitals(t *testing.T) {
	for target, want := range map[string]string{
		"/EUW1/lol/status/v4/platform-data":                     "euw1",
		"/Euw1/lol/status/v4/platform-data":                     "euw1",
		"/EUROPE/riot/account/v1/accounts/by-riot-id/A%2fB/KR1": "europe",
	} {
		w, up := ask(t, Options{}, "GET", target)
		if w.Code != 200 || up.Request == nil || up.Host != want+domain || up.URL.Opaque != target[1+len(want):] {
			t.Errorf("%s: %d %s, sent %+v", target, w.Code, w.Body, up.Request)
		}
	}
}

// The relay's own pages are not under Riot's names.
func TestNoPagesUnderRiotsNames(t *testing.T) {
	local := map[string]http.Handler{"/healthz": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") })}
	address := serve(t, Options{Local: local, Transport: matching(table(t), func(r *http.Request) { t.Error("sent", r.URL) })})
	for _, path := range []string{"/", "/healthz", "/favicon.ico", "/?x=1"} {
		checkRefusal(t, "Host "+path, sendRaw(t, address, asked("GET", path, "euw1"+domain)), 404)
		checkRefusal(t, "absolute "+path, sendRaw(t, address, asked("GET", "http://euw1"+domain+path, "x")), 404)
	}
	checkRefusal(t, "no path", sendRaw(t, address, asked("GET", "http://euw1"+domain, "x")), 404)
	checkRefusal(t, "a query alone", sendRaw(t, address, asked("GET", "http://euw1"+domain+"?x", "x")), 404)
}

// Kernel's clients name the platform, also for what is kept by region.
func TestKernel(t *testing.T) {
	open, err := route.New(route.Options{ForwardUnknownPaths: true, ForwardUnknownHosts: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ target, want string }{
		{"/lol/status/v4/platform-data?platform=EUW1", "euw1 /lol/status/v4/platform-data"},
		{"/lol/status/v4/platform-data?platform=euw1&platform=EUW1", "euw1 /lol/status/v4/platform-data"},
		{"/lol/match/v5/matches/by-puuid/x/ids?start=0&platform=EUW1&count=5", "europe /lol/match/v5/matches/by-puuid/x/ids?start=0&count=5"},
		{"/lol/match/v5/matches/OC1_1?platform=OC1", "sea /lol/match/v5/matches/OC1_1"},
		{"/lol/match/v5/matches/KR_1?api_key=x&platform=KR", "asia /lol/match/v5/matches/KR_1"},
		{"/lol/match/v5/matches/NA1_1?platform=americas", "americas /lol/match/v5/matches/NA1_1"},
		{"/riot/account/v1/accounts/by-puuid/x?platform=NA1", "americas /riot/account/v1/accounts/by-puuid/x"},
		{"/riot/account/v1/accounts/by-puuid/x?platform=OC1", "asia /riot/account/v1/accounts/by-puuid/x"},
		{"/lol/status/v4/platform-data?%70latform=%65uw1;a=1", "euw1 /lol/status/v4/platform-data?a=1"},
		{"/lol/status/v4/platform-data?platform=EUW1&a=%zz", "euw1 /lol/status/v4/platform-data?a=%zz"},
		{"/euw1/lol/status/v4/platform-data?platform=NA1", "euw1 /lol/status/v4/platform-data?platform=NA1"}, // a path names the host
		{"/lol/status/v4/platform-data", "404 no host"},
		{"/lol/status/v4/platform-data?platform=", "404 no host"},
		{"/lol/status/v4/platform-data?platform=EUW1&platform=NA1", "400 several platforms"},
		{"/lol/status/v4/platform-data?platform=europe", "404 does not serve"},
		{"/lol/status/v4/platform-data?platform=euw1.evil.example", "404 unknown host"},
		{"/lol/status/v4/platform-data?platform=euw1%40evil.example", "404 unknown host"},
		{"/lol/status/v4/platform-data?platform=%2e%2e", "404 unknown host"},
		{"/lol/../x?platform=EUW1", "400 no segment . or .."},
	} {
		for _, hosts := range []*route.Table{table(t), open} {
			got := ""
			address := serve(t, Options{Table: hosts, Transport: matching(hosts, func(r *http.Request) {
				got = strings.TrimSuffix(r.URL.Host, domain) + " " + r.URL.Opaque
				if r.URL.RawQuery != "" {
					got += "?" + r.URL.RawQuery
				}
			})})
			raw := sendRaw(t, address, asked("GET", tt.target, "relay.test"))
			if status, says, refused := strings.Cut(tt.want, " "); refused && len(status) == 3 && status[0] == '4' {
				if hosts == open && strings.Contains(says, "serve") {
					continue // forwarded, as is asked for
				}
				if !strings.HasPrefix(raw, "HTTP/1.1 "+status) || !strings.Contains(raw, says) || got != "" {
					t.Errorf("%s: sent as %q, answered %q; want %s", tt.target, got, raw, tt.want)
				}
			} else if got != tt.want {
				t.Errorf("%s: sent as %q, want %q; %q", tt.target, got, tt.want, raw)
			}
		}
	}
}

// TLS for one of Riot's names carries requests for that name, in whatever form.
func TestWaysOverTLS(t *testing.T) {
	for _, tt := range []struct {
		target, host string
		status       int
	}{
		{"/lol/status/v4/platform-data", "euw1.api.riotgames.com", 200},
		{"https://euw1.api.riotgames.com/lol/status/v4/platform-data", "euw1.api.riotgames.com", 200},
		{"/lol/status/v4/platform-data", "na1.api.riotgames.com", 421},
		{"http://na1.api.riotgames.com/lol/status/v4/platform-data", "euw1.api.riotgames.com", 421},
		{"/euw1/lol/status/v4/platform-data", "relay.test", 421},
		{"/lol/status/v4/platform-data?platform=EUW1", "relay.test", 421},
		{"/healthz", "relay.test", 421},
		{"/", "", 421},
	} {
		h, err := New(Options{Table: table(t), Transport: roundTrip(func(*http.Request) (*http.Response, error) { return answerOf("{}"), nil })})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.RequestURI, r.Host = tt.target, tt.host
		r.TLS = &tls.ConnectionState{ServerName: "euw1.api.riotgames.com"}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%s, Host %s: %d %s; want %d", tt.target, tt.host, w.Code, w.Body, tt.status)
		}
	}
}

func TestServes(t *testing.T) {
	h, err := New(Options{Table: table(t), Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"euw1.api.riotgames.com": true, "americas.api.riotgames.com": true, "euw9.api.riotgames.com": false, "EUW1.api.riotgames.com": false,
		"euw1.api.riotgames.com:443": false, "euw1.api.riotgames.com.": false, "": false, "example.com": false, "auth.riotgames.com": false,
	} {
		if err := h.Serves(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// RATE_HEADERS=strip takes away what clients pace themselves by, and no more.
func TestRateHeaders(t *testing.T) {
	const limits = "HTTP/1.1 429 Too Many Requests\r\nX-App-Rate-Limit: 20:1\r\nx-app-rate-limit-count: 1:1\r\nX-Method-Rate-Limit: 9:1\r\nX-Method-Rate-Limit-Count: 1:1\r\n" +
		"X-Rate-Limit-Type: method\r\nRetry-After: 7\r\nX-Riot-Edge-Trace-Id: t\r\nContent-Length: 2\r\n\r\n{}"
	for _, strip := range []bool{false, true} {
		up := newUpstream(t, say(limits))
		res, _ := parse(t, sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), StripRateHeaders: strip}), get(status)))
		for name, want := range map[string]string{"X-App-Rate-Limit": "20:1", "X-App-Rate-Limit-Count": "1:1", "X-Method-Rate-Limit": "9:1", "X-Method-Rate-Limit-Count": "1:1"} {
			if strip {
				want = ""
			}
			if got := res.Header.Get(name); got != want {
				t.Errorf("strip %v: %s is %q, want %q", strip, name, got, want)
			}
		}
		for name, want := range map[string]string{"X-Rate-Limit-Type": "method", "Retry-After": "7", "X-Riot-Edge-Trace-Id": "t", "X-Riftrelay-Source": "riot"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("strip %v: %s is %q, want %q", strip, name, got, want)
			}
		}
	}
}
