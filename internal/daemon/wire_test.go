package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"riftrelay/riotsim"
)

// HTTP as clients write it, byte by byte: what they get, and what Riot sees.

const (
	stubCodes = "/americas/lol/tournament-stub/v5/codes?tournamentId=1&count=1"
	byRiotID  = "/riot/account/v1/accounts/by-riot-id/"
	loopback  = "Host: 127.0.0.1\r\n"
	lastOne   = loopback + "Connection: close\r\n"
	codesBody = `{"mapType":"SUMMONERS_RIFT","pickType":"BLIND_PICK","spectatorType":"ALL","teamSize":5}`
)

func TestOnTheWire(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Gzip: true, Requests: -1}, nil)
	length := fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(codesBody))
	for name, c := range map[string]struct {
		raw  string
		want []string // what the answer has, in this order
		not  string   // what it hasn't
		seen []string // verb and target of each request at Riot
	}{
		"HEAD":               {"HEAD " + status + " HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 ", "X-Riftrelay-Source: riot"}, "{", []string{"HEAD /lol/status/v4/platform-data"}},
		"OPTIONS":            {"OPTIONS " + status + " HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 404 ", "it has GET"}, "", nil},
		"OPTIONS *":          {"OPTIONS * HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 ", "Content-Length: 0"}, "", nil},
		"gzip asked for":     {"GET " + status + " HTTP/1.1\r\n" + lastOne + "Accept-Encoding: gzip\r\n\r\n", []string{"HTTP/1.1 200 ", "Content-Encoding: gzip", "\x1f\x8b"}, "", []string{"GET /lol/status/v4/platform-data"}},
		"gzip not asked for": {"GET " + status + " HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 ", "{"}, "Content-Encoding", []string{"GET /lol/status/v4/platform-data"}},
		"HTTP/1.0":           {"GET " + status + " HTTP/1.0\r\n\r\n", []string{"HTTP/1.0 200 ", "{"}, "chunked", []string{"GET /lol/status/v4/platform-data"}},
		"HTTP/1.0 kept":      {"GET " + status + " HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET " + status + " HTTP/1.0\r\n\r\n", []string{"HTTP/1.0 200 ", "Connection: keep-alive", "HTTP/1.0 200 "}, "", slices.Repeat([]string{"GET /lol/status/v4/platform-data"}, 2)},
		"HTTP/2.0 in clear":  {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []string{"HTTP/1.1 505 "}, "", nil},
		"pipelined": {"GET " + status + "?a HTTP/1.1\r\n" + loopback + "\r\nGET " + status + "?b HTTP/1.1\r\n" + loopback + "\r\nGET /euw1/lol/x HTTP/1.1\r\n" + lastOne + "\r\n",
			[]string{"HTTP/1.1 200 ", "HTTP/1.1 200 ", "HTTP/1.1 404 "}, "", []string{"GET /lol/status/v4/platform-data?a", "GET /lol/status/v4/platform-data?b"}},
		"Expect with a body":    {"POST " + stubCodes + " HTTP/1.1\r\n" + lastOne + length + "Expect: 100-continue\r\n\r\n" + codesBody, []string{"HTTP/1.1 100 ", "HTTP/1.1 200 "}, "", []string{"POST " + stubCodes[len("/americas"):]}},
		"Expect, refused":       {"POST /americas/lol/nothing HTTP/1.1\r\n" + loopback + "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", []string{"HTTP/1.1 404 ", "Connection: close"}, "HTTP/1.1 100", nil},
		"Expect something else": {"GET " + status + " HTTP/1.1\r\n" + lastOne + "Expect: tea\r\n\r\n", []string{"HTTP/1.1 417 "}, "", nil},
		"chunks and a trailer": {"POST " + stubCodes + " HTTP/1.1\r\n" + loopback + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-Riot-Token\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\nX-Riot-Token: theirs\r\n\r\n", len(codesBody), codesBody), []string{"HTTP/1.1 200 ", "Connection: close"}, "", []string{"POST " + stubCodes[len("/americas"):]}},
		"a long target": {"GET " + status + "?" + strings.Repeat("x", 20_000) + " HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 "}, "", []string{"GET /lol/status/v4/platform-data?" + strings.Repeat("x", 20_000)}},
		"one too long":  {"GET " + status + "?" + strings.Repeat("x", 60_000) + " HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 431 "}, "", nil},
		"names of players": {"GET /asia" + byRiotID + "%EB%A1%A4%20%EC%9E%98%ED%95%98%EB%8A%94/a%2Fb%25%23+c HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 "}, "",
			[]string{"GET " + byRiotID + "%EB%A1%A4%20%EC%9E%98%ED%95%98%EB%8A%94/a%2Fb%25%23+c"}},
		"not escaped":      {"GET /asia" + byRiotID + "롤/한국 HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 "}, "", []string{"GET " + byRiotID + "롤/한국"}},
		"order, repeated":  {"GET /europe/lol/match/v5/matches/by-puuid/x/ids?type=b&count=1&type=a&api_key=theirs&count=2& HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 "}, "", []string{"GET /lol/match/v5/matches/by-puuid/x/ids?type=b&count=1&type=a&count=2&"}},
		"slash at the end": {"GET " + status + "/ HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 "}, "", []string{"GET /lol/status/v4/platform-data/"}},
		"slash twice":      {"GET //euw1/lol/status/v4/platform-data HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 400 ", "no empty segment"}, "", nil},
		"host in capitals": {"GET /EUW1/lol/status/v4/platform-data HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 200 "}, "", []string{"GET /lol/status/v4/platform-data"}},
		"NUL in the path":  {"GET /euw1/lol/\x00/x HTTP/1.1\r\n" + lastOne + "\r\n", []string{"HTTP/1.1 400 "}, "", nil},
		"NUL in a header":  {"GET " + status + " HTTP/1.1\r\n" + lastOne + "Accept: a\x00b\r\n\r\n", []string{"HTTP/1.1 400 "}, "", nil},
		"no Host":          {"GET " + status + " HTTP/1.1\r\nConnection: close\r\n\r\n", []string{"HTTP/1.1 400 "}, "", nil},
		"two Hosts":        {"GET " + status + " HTTP/1.1\r\n" + lastOne + "Host: euw1.api.riotgames.com\r\n\r\n", []string{"HTTP/1.1 400 "}, "", nil},
	} {
		before := len(g.edge.Requests())
		raw := g.exchange(t, c.raw)
		rest := raw
		for _, part := range c.want {
			i := strings.Index(rest, part)
			if i < 0 {
				t.Errorf("%s: no %q in what is left of\n%.600q", name, part, raw)
				break
			}
			rest = rest[i+len(part):]
		}
		if c.not != "" && strings.Contains(raw, c.not) || strings.Contains(raw, "theirs") {
			t.Errorf("%s: %.600q has %q", name, raw, c.not)
		}
		var seen []string
		for _, r := range g.edge.Requests()[before:] {
			seen = append(seen, r.Method+" "+r.URI)
			if !slices.Equal(r.Header["X-Riot-Token"], []string{canary}) || r.Header["Expect"] != nil || r.Header["Trailer"] != nil || strings.Contains(fmt.Sprint(r.Header), "theirs") {
				t.Errorf("%s: Riot saw %v", name, r.Header)
			}
		}
		if !slices.Equal(seen, c.seen) {
			t.Errorf("%s: Riot saw %.300q, want %.300q", name, seen, c.seen)
		}
	}
}

// What two programs may read differently is one request for us, and what comes
// behind it on the connection is none, or what it says that it is.
func TestSmuggling(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1}, nil)
	hidden := "GET " + status + "?hidden HTTP/1.1\r\n" + lastOne + "\r\n"
	chunks := "0\r\n\r\n" + hidden
	get := "GET " + status + "?open HTTP/1.1\r\n" + loopback
	for name, raw := range map[string]string{
		"length and chunks":   get + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n", len(chunks)) + chunks,
		"chunks and length":   get + fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n", len(chunks)) + chunks,
		"chunks in capitals":  get + fmt.Sprintf("Transfer-Encoding: CHUNKED\r\nContent-Length: %d\r\n\r\n", len(chunks)) + chunks,
		"chunks behind a tab": get + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding:\tchunked\r\n\r\n", len(chunks)) + chunks,
		"HTTP/1.0 both":       "POST " + stubCodes + " HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden,
		"chunks twice":        get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"chunked, identity":   get + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunks,
		"vertical tab":        get + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks,
		"HTTP/1.0 chunks":     "GET " + status + "?open HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"two lengths":         get + fmt.Sprintf("Content-Length: %d\r\nContent-Length: 0\r\n\r\n", len(hidden)) + hidden,
		"a list of lengths":   get + fmt.Sprintf("Content-Length: %d, 0\r\n\r\n", len(hidden)) + hidden,
		"a length with +":     get + fmt.Sprintf("Content-Length: +%d\r\n\r\n", len(hidden)) + hidden,
		"blank before colon":  get + fmt.Sprintf("Content-Length : %d\r\n\r\n", len(hidden)) + hidden,
		"a body for a GET":    get + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden + "GET /euw1/lol/x HTTP/1.1\r\n" + lastOne + "\r\n",
		"size of a chunk":     get + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + hidden,
		"end of a chunk":      get + "Transfer-Encoding: chunked\r\n\r\n1\r\nZZ\r\n0\r\n\r\n" + hidden,
		"bare line feeds":     get + "Transfer-Encoding: chunked\r\n\r\n0\n\n" + hidden,
	} {
		before := len(g.edge.Requests())
		answer := g.exchange(t, raw)
		for _, r := range g.edge.Requests()[before:] {
			if r.URI != "/lol/status/v4/platform-data?open" && !strings.HasPrefix(r.URI, stubCodes[len("/americas"):]) {
				t.Errorf("%s: Riot saw %s; the answer is %.200q", name, r.URI, answer)
			}
		}
		if n := len(g.edge.Requests()) - before; n > 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// Who leaves while its call waits spends nothing, in whichever way it came.
func TestLeavingTheQueue(t *testing.T) {
	edge := riotsim.Config{Keys: map[string]string{canary: "2:100"}, Requests: -1}
	limits := map[string]string{"DEFAULT_APP_RATE_LIMIT": "2:100"}
	inClear, trusts := startTrusted(t, edge, limits)
	inClear.leave(t, inClear.client, inClear.front+status)
	inClear.leave(t, inClear.through(t, trusts), "https://"+euw1+"/lol/status/v4/platform-data")

	file := filepath.Join(t.TempDir(), "relay.pem")
	roots := x509.NewCertPool()
	roots.AddCert(certFile(t, file, 1))
	byTLS := startRigIn(t, edge, map[string]string{"DEFAULT_APP_RATE_LIMIT": "2:100", "TLS_CERT_FILE": file, "TLS_KEY_FILE": file}, nil, realFiles)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	byTLS.leave(t, &http.Client{Transport: transport}, strings.Replace(byTLS.front, "http:", "https:", 1)+status)
}

// leave uses a limit of two calls up, if that isn't done yet, and gives up waiting for two more.
func (g *rig) leave(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for len(g.edge.Requests()) < 2 {
		resp, err := client.Get(url)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %v, %v", url, resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	queued := func() int { return g.limiter.Snapshot().Queued }
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan error)
		go func() { _, err := client.Do(req); gone <- err }()
		eventually(t, "a call that waits", func() bool { return queued() == 1 })
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", url, err)
		}
		eventually(t, "an empty queue", func() bool { return queued() == 0 })
	}
	for _, scope := range g.limiter.Snapshot().Scopes {
		for _, w := range scope.Windows {
			if w.Used > 2 || w.InFlight > 0 {
				t.Errorf("%s: %s %s: %+v, want two calls used", url, scope.Host, scope.Method, w)
			}
		}
	}
	if n := len(g.edge.Requests()); n != 2 {
		t.Errorf("%s: %d calls reached Riot", url, n)
	}
}
