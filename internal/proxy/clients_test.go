package proxy

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/internal/tokens"
)

const (
	token    = "CANARY-token-of-web"
	oldToken = "CANARY-token-of-web/old+=="
	botToken = "CANARY-token-of-bot"
)

func twoClients() []Client {
	return []Client{
		{Name: "web", Tokens: []tokens.Token{tokens.Of(token), tokens.Of(oldToken)}},
		{Name: "bot", Tokens: []tokens.Token{tokens.Of(botToken)}, Budget: "crawler", NoHigh: true,
			Allow: []Allowance{{Path: "/lol/match/v5"}, {Host: "kr", Path: "/"}, {Verb: "GET", Path: "/lol/status"}}},
	}
}

// sent is what went up, or nothing.
type sent struct{ *http.Request }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.Request = r
	return answerOf("{}"), nil
}

func ask(t testing.TB, o Options, verb, target string, headers ...string) (*httptest.ResponseRecorder, *sent) {
	t.Helper()
	up := &sent{}
	o.Transport = up
	if o.Table == nil {
		o.Table = table(t)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(verb, "http://relay.test"+target, http.NoBody)
	r.RequestURI = target
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, up
}

const rso = "/europe/riot/account/v1/accounts/me"

// Each way to give a token, in the form in which the clients that can set it do.
func TestTokenIsTaken(t *testing.T) {
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	for name, c := range map[string]struct {
		target  string
		headers []string
	}{
		"X-Relay-Token":                               {status, []string{"X-Relay-Token", token}},
		"X-Relay-Token beside a dummy key":            {status, []string{"X-Relay-Token", token, "X-Riot-Token", "x"}},
		"X-Riot-Token: twisted, TeemoJS, axios":       {status, []string{"X-Riot-Token", token, "User-Agent", "axios/1.7", "Accept-Encoding", "gzip, deflate, br"}},
		"X-Riot-Token in lower case: kayn, request":   {status, []string{"x-riot-token", token}},
		"?api_key= of old clients":                    {status + "?api_key=" + token, nil},
		"?api_key= behind others, escaped":            {status + "?a=1&%61pi_key=" + strings.NewReplacer("/", "%2F", "+", "%2B", "=", "%3D").Replace(oldToken) + "&b", nil},
		"?api_key= not escaped":                       {status + "?api_key=" + oldToken, nil},
		"Authorization":                               {status, []string{"Authorization", "Bearer " + token}},
		"Authorization, bearer":                       {status, []string{"Authorization", "bearer  " + token}},
		"http://x:token@relay, of Kernel's clients":   {"/lol/status/v4/platform-data?platform=EUW1", []string{"Authorization", basic("x", token)}},
		"the old one of two":                          {status, []string{"X-Relay-Token", oldToken}},
		"HTTP_PROXY=http://x:token@relay":             {status, []string{"Proxy-Authorization", basic("x", token)}},
		"X-Riot-Token where the bearer is a player's": {rso, []string{"X-Riot-Token", token, "Authorization", "Bearer player"}},
		"Kernel's form":                               {"/lol/status/v4/platform-data?platform=EUW1", []string{"X-Relay-Token", token}},
	} {
		obs := newSeen()
		w, up := ask(t, Options{Clients: twoClients(), Observer: obs}, "GET", c.target, c.headers...)
		if w.Code != 200 || up.Request == nil {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		if text := up.URL.String() + up.URL.Opaque + up.URL.RawQuery + dump(up.Header) + dump(w.Header()) + w.Body.String(); strings.Contains(text, "CANARY") {
			t.Errorf("%s: the token goes on: %s", name, text)
		}
		if c.target == rso && up.Header.Get("Authorization") != "Bearer player" {
			t.Errorf("%s: Authorization %q", name, up.Header["Authorization"])
		}
		if len(obs.clients) != 1 || obs.clients[0] != "web OK" {
			t.Errorf("%s: metrics heard %q", name, obs.clients)
		}
	}
}

func dump(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b)
	return b.String()
}

func TestTokenIsMissingOrWrong(t *testing.T) {
	for name, c := range map[string]struct {
		target  string
		headers []string
	}{
		"none":                     {status, nil},
		"wrong X-Relay-Token":      {status, []string{"X-Relay-Token", token + "x"}},
		"half":                     {status, []string{"X-Relay-Token", token[:len(token)-1]}},
		"empty":                    {status + "?api_key=", []string{"X-Relay-Token", "", "X-Riot-Token", "", "Authorization", "Bearer ", "Proxy-Authorization", "Basic Og=="}},
		"wrong X-Riot-Token":       {status, []string{"X-Riot-Token", "RGAPI-CANARY"}},
		"wrong ?api_key=":          {status + "?api_key=RGAPI-CANARY", nil},
		"behind 10,000 others":     {status + "?" + strings.Repeat("api_key=CANARY&", 10_000) + "api_key=" + token, nil},
		"Basic":                    {status, []string{"Authorization", "Basic " + token}},
		"the name for the token":   {status, []string{"X-Relay-Token", "web"}},
		"the digest for the token": {status, []string{"X-Relay-Token", string(newDigest())}},
		"bearer on an RSO method":  {rso, []string{"Authorization", "Bearer " + token}},
		"Basic on an RSO method":   {rso, []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+token))}},
		"Basic, as the name":       {status, []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(token+":"))}},
		"unknown route":            {"/euw1/lol/CANARY", nil},
		"malformed":                {"//euw1/lol", nil},
		"a cookie":                 {status, []string{"Cookie", "token=" + token}},
	} {
		obs := newSeen()
		w, up := ask(t, Options{Clients: twoClients(), Observer: obs}, "GET", c.target, c.headers...)
		if w.Code != 401 || up.Request != nil || w.Header().Get("X-RiftRelay-Source") != "relay" || w.Header().Get("X-RiftRelay-Reason") != "unauthorized" ||
			!strings.Contains(w.Body.String(), `"status_code":401`) || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %v %s, sent %v", name, w.Code, w.Header(), w.Body, up.Request)
		}
		if strings.Contains(dump(w.Header())+w.Body.String(), "CANARY") {
			t.Errorf("%s: the answer shows it: %v %s", name, w.Header(), w.Body)
		}
		if len(obs.refused) != 1 || obs.refused[0] != reasonUnauthorized || len(obs.clients) != 0 {
			t.Errorf("%s: metrics heard %q %q", name, obs.refused, obs.clients)
		}
	}
}

func newDigest() []byte {
	d := sha256.Sum256([]byte(token))
	return []byte(base64.StdEncoding.EncodeToString(d[:]))
}

// A client that confuses its two tokens doesn't hand ours to Riot, in whatever
// form it has it: RSO knows bearer tokens only (R5).
func TestTokenIsNeverAPlayers(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("x:" + token))
	w, up := ask(t, Options{Clients: twoClients()}, "GET", rso, "Authorization", "Bearer player", "Authorization", "Bearer "+token, "X-Relay-Token", token)
	if w.Code != 400 || up.Request != nil {
		t.Errorf("two of them: %d, Riot saw %v", w.Code, up.Request)
	}
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + token},
		{"Authorization", "bearer  " + token + " "},
		{"Authorization", "Bearer RGAPI-of-the-client"},
		{"Authorization", "Basic " + basic},
		{"Authorization", "Token " + token},
		{"Authorization", token},
		{"Authorization", "Bearer"},
	} {
		w, up := ask(t, Options{Clients: twoClients()}, "GET", rso, append(headers, "X-Relay-Token", token)...)
		if w.Code != 200 || up.Request == nil || len(up.Header["Authorization"]) != 0 {
			t.Errorf("%q: %d, Riot saw %v", headers, w.Code, up.Request)
		}
	}
}

// What isn't a call needs no token: balancers and people have none.
func TestNoTokenForHealthAndPages(t *testing.T) {
	o := Options{Clients: twoClients(), Local: map[string]http.Handler{"/healthz": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	for _, path := range []string{"/", "/healthz", "/favicon.ico"} {
		if w, _ := ask(t, o, "GET", path); w.Code >= 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestClientsAreHeldToWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		verb, target string
		allowed      bool
	}{
		{"GET", "/europe/lol/match/v5/matches/EUW1_1", true},
		{"GET", "/kr/lol/summoner/v4/summoners/by-puuid/x", true},
		{"GET", status, true},
		{"GET", "/euw1/lol/summoner/v4/summoners/by-puuid/x", false},
		{"POST", "/americas/lol/tournament/v5/codes", false},
		{"GET", rso, false},
	} {
		obs := newSeen()
		w, up := ask(t, Options{Clients: twoClients(), Observer: obs}, c.verb, c.target, "X-Relay-Token", botToken, "X-Priority", "high", "X-Rate-Budget", "mine")
		if !c.allowed {
			if w.Code != 403 || up.Request != nil || w.Header().Get("X-RiftRelay-Reason") != "client_forbidden" || !strings.Contains(w.Body.String(), "CLIENT_BOT_ALLOW") {
				t.Errorf("%s %s: %d %s", c.verb, c.target, w.Code, w.Body)
			}
			if len(obs.clients) != 1 || obs.clients[0] != "bot Forbidden" {
				t.Errorf("%s: metrics heard %q", c.target, obs.clients)
			}
			continue
		}
		if w.Code != 200 || up.Request == nil {
			t.Errorf("%s %s: %d %s", c.verb, c.target, w.Code, w.Body)
		}
	}
	for i, want := range []riftrelay.Options{{Budget: "mine", Priority: riftrelay.High}, {Budget: "crawler", HardBudget: true}} {
		o := riftrelay.Options{Budget: "mine", Priority: riftrelay.High}
		if twoClients()[i].restrict(&o); o != want {
			t.Errorf("client %d: %+v", i, o)
		}
	}
	if w, _ := ask(t, Options{Clients: twoClients()}, "GET", "/euw1/lol/nothing", "X-Relay-Token", botToken); w.Code != 404 {
		t.Errorf("an unknown route: %d %s", w.Code, w.Body)
	}
}

func TestAllowanceIsInWholeParts(t *testing.T) {
	at, err := table(t).Match("GET", "europe", "/lol/match/v5/matches/EUW1_1")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/": true, "/lol": true, "/lol/match": true, "/lol/match/v5/matches/{matchId}": true, "/lol/mat": false, "/tft": false, "/lol/match/v5/matches/EUW1_1": false,
	} {
		if got := (Allowance{Path: path}).fits(at); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// Tokens change while calls are served.
func TestTokensAreReplaced(t *testing.T) {
	h, err := New(Options{Table: table(t), Transport: &sent{}, Clients: twoClients()})
	if err != nil {
		t.Fatal(err)
	}
	code := func(token string) int {
		r := httptest.NewRequest("GET", status, http.NoBody)
		r.Header.Set("X-Relay-Token", token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	h.SetClients([]Client{{Name: "web", Tokens: []tokens.Token{tokens.Of("CANARY-new")}}})
	if a, b := code(token), code("CANARY-new"); a != 401 || b != 200 {
		t.Errorf("old %d, new %d", a, b)
	}
}

// A thousand clients cost no more than one.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 1000} {
		list := twoClients()[:1]
		for i := range n - 1 {
			list = append(list, Client{Name: "c", Tokens: []tokens.Token{tokens.Of("t" + strconv.Itoa(i))}})
		}
		h, err := New(Options{Table: table(b), Transport: &sent{}, Clients: list})
		if err != nil {
			b.Fatal(err)
		}
		r := httptest.NewRequest("GET", status, http.NoBody)
		r.Header.Set("X-Riot-Token", token)
		to, err := h.target(r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if who, _, _ := h.admit(r, to, nil); who == nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

// A tunnel to static data is the only CONNECT in which no token can come later.
func TestTunnelsNeedATokenToo(t *testing.T) {
	o := Options{Clients: twoClients(), Connect: &Connect{Tunnels: NewTunnels([]string{"static.example"}, 4)}}
	dialled := 0
	o.Connect.Tunnels.dial = noDial(&dialled)
	ask := func(headers ...string) *http.Response {
		lines := []string{}
		for i := 0; i < len(headers); i += 2 {
			lines = append(lines, headers[i]+": "+headers[i+1])
		}
		o.Transport = &sent{}
		res, _ := parse(t, sendRaw(t, serve(t, o), "CONNECT static.example:443 HTTP/1.1\r\nHost: static.example:443\r\nConnection: close\r\n"+strings.Join(append(lines, "\r\n"), "\r\n")))
		return res
	}
	for _, headers := range [][]string{nil, {"X-Relay-Token", token}, {"Proxy-Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("web:wrong"))}} {
		if res := ask(headers...); res.StatusCode != 407 || res.Header.Get("Proxy-Authenticate") == "" || dialled > 0 {
			t.Errorf("%q: %s %v", headers, res.Status, res.Header)
		}
	}
	if res := ask("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("web:"+token))); res.StatusCode != 502 || dialled != 1 {
		t.Errorf("with a token: %s, %d dialled", res.Status, dialled)
	}
}
