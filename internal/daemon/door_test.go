package daemon

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay/internal/conns"
	"riftrelay/internal/trust"
	"riftrelay/riotsim"
)

// euw1 is a host of the API by its whole name.
const euw1 = "euw1.api.riotgames.com"

// startTrusted is startRig with a local authority, and what trusts that alone.
func startTrusted(t testing.TB, sim riotsim.Config, vars map[string]string) (*rig, *tls.Config) {
	t.Helper()
	all := map[string]string{"TRUST_DIR": filepath.Join(t.TempDir(), "trust")}
	for name, v := range vars {
		all[name] = v
	}
	g := startRig(t, sim, all)
	text, err := os.ReadFile(filepath.Join(all["TRUST_DIR"], trust.CertificateFile))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatal("no certificate")
	}
	return g, &tls.Config{RootCAs: roots}
}

// through is a client with HTTPS_PROXY set to the relay.
func (g *rig) through(t testing.TB, trusts *tls.Config) *http.Client {
	t.Helper()
	relay, err := url.Parse(g.front)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(relay), TLSClientConfig: trusts, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// tunnel is a connection to the relay after CONNECT to a name.
func (g *rig) tunnel(t testing.TB, name string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.front, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", name, name)
	line := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, line); err != nil || !strings.HasPrefix(string(line), "HTTP/1.1 200 ") {
		t.Fatalf("CONNECT %s: %q, %v", name, line, err)
	}
	return c
}

// A client that only knows https:// and Riot's names is served by CONNECT, with
// its connection kept, and by TLS right at the port.
func TestClientsThatSpeakTLS(t *testing.T) {
	g, trusts := startTrusted(t, riotsim.Config{Requests: -1}, nil)
	direct := &http.Transport{TLSClientConfig: trusts, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(g.front, "http://"))
	}}
	t.Cleanup(direct.CloseIdleConnections)
	for way, client := range map[string]*http.Client{"CONNECT": g.through(t, trusts), "TLS at the port": {Transport: direct, Timeout: 20 * time.Second}} {
		for _, target := range []string{
			"https://" + euw1 + "/lol/status/v4/platform-data?api_key=theirs", "https://" + euw1 + ":443/lol/status/v4/platform-data",
			"https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/a%2Fb%23%3F%25/%e4%bd%a0",
		} {
			for range 3 {
				req, err := http.NewRequest(http.MethodGet, target, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Riot-Token", "theirs")
				resp, err := client.Do(req)
				if err != nil {
					t.Fatalf("%s: %s: %v", way, target, err)
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 || resp.Header.Get("X-RiftRelay-Source") != "riot" || resp.Header.Get("X-App-Rate-Limit") == "" || resp.ProtoMajor != 1 {
					t.Errorf("%s: %s: %s %v %s", way, target, resp.Status, resp.Header, body)
				}
			}
		}
	}
	for _, r := range g.edge.Requests() {
		if !slices.Equal(r.Header["X-Riot-Token"], []string{canary}) || strings.Contains(r.URI+fmt.Sprint(r.Header), "theirs") {
			t.Errorf("Riot saw %q %v", r.URI, r.Header)
		}
		if strings.HasPrefix(r.URI, "/riot/") && r.URI != "/riot/account/v1/accounts/by-riot-id/a%2Fb%23%3F%25/%e4%bd%a0" {
			t.Errorf("Riot saw %q", r.URI)
		}
	}
	if a := g.get(g.front + status); a.status != 200 {
		t.Errorf("without TLS: %+v", a)
	}
	if strings.Contains(g.log.String(), "theirs") {
		t.Error("the log has a client's key")
	}
}

// Whoever CONNECTs to one name gets no other, and nobody gets one that isn't
// Riot's.
func TestNamesOfHandshakes(t *testing.T) {
	g, trusts := startTrusted(t, riotsim.Config{}, nil)
	for _, tt := range []struct {
		connect, sni string
		ok           bool
	}{
		{euw1, euw1, true},
		{euw1, "na1.api.riotgames.com", false},
		{euw1, "example.com", false},
		{euw1, "", false},
		{"", euw1, true}, // right at the port
		{"", "na1.api.riotgames.com", true},
		{"", "euw9.api.riotgames.com", false},
		{"", "api.riotgames.com", false},
		{"", "x.euw1.api.riotgames.com", false},
		{"", "example.com", false},
		{"", "localhost", false},
		{"", "", false},
	} {
		var c net.Conn
		var err error
		if tt.connect != "" {
			c = g.tunnel(t, tt.connect)
		} else if c, err = net.Dial("tcp", strings.TrimPrefix(g.front, "http://")); err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(20 * time.Second))
		var shown []*x509.Certificate
		s := tls.Client(c, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error { //nolint:gosec // what is shown is looked at
			shown = state.PeerCertificates
			return nil
		}})
		err = s.Handshake()
		if (err == nil) != tt.ok {
			t.Errorf("CONNECT %q, SNI %q: %v", tt.connect, tt.sni, err)
		}
		if !tt.ok && shown != nil {
			t.Errorf("CONNECT %q, SNI %q: shown a certificate for %v", tt.connect, tt.sni, shown[0].DNSNames)
		}
		if tt.ok {
			if _, err := shown[0].Verify(x509.VerifyOptions{Roots: trusts.RootCAs, DNSName: tt.sni}); err != nil {
				t.Error(err)
			}
		}
		c.Close()
	}
}

// Requests within TLS that try to be two, or somebody else's.
func TestSmugglingThroughConnect(t *testing.T) {
	g, trusts := startTrusted(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1}, nil)
	const get = "GET /lol/status/v4/platform-data HTTP/1.1\r\nHost: " + euw1 + "\r\n"
	for name, c := range map[string]struct {
		raw    string
		status string // of the first answer
		sent   int    // requests that may arrive at Riot
	}{
		"two lengths":                {get + "Content-Length: 4\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde", "400", 0},
		"length and chunks":          {get + "Content-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + "GET /lol/nothing/v1/here HTTP/1.1\r\nHost: x\r\n\r\n", "400", 0},
		"odd encoding":               {get + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "501", 0},
		"encoding twice":             {get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "400", 0},
		"blank in a header's name":   {get + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400", 0},
		"negative length":            {get + "Content-Length: -1\r\n\r\n", "400", 0},
		"two hosts":                  {get + "Host: na1.api.riotgames.com\r\n\r\n", "400", 0},
		"line feed in the target":    {"GET /lol/status/v4/platform-data\nX-Riot-Token:x HTTP/1.1\r\nHost: " + euw1 + "\r\n\r\n", "400", 0},
		"carriage return in a value": {get + "Accept: a\rX-Riot-Token: x\r\n\r\n", "400", 0},
		"another host":               {"GET /lol/status/v4/platform-data HTTP/1.1\r\nHost: na1.api.riotgames.com\r\nConnection: close\r\n\r\n", "421", 0},
		"another host, absolute":     {"GET https://na1.api.riotgames.com/lol/status/v4/platform-data HTTP/1.1\r\nHost: " + euw1 + "\r\nConnection: close\r\n\r\n", "421", 0},
		"a page of the relay's":      {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "421", 0},
		"a path of the relay's":      {"GET /na1/lol/status/v4/platform-data HTTP/1.1\r\nHost: " + euw1 + "\r\nConnection: close\r\n\r\n", "404", 0},
		"CONNECT within":             {"CONNECT na1.api.riotgames.com:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "403", 0},
		"HTTP/2 without asking":      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", 0},
		"pipelined":                  {get + "\r\n" + "GET /lol/status/v4/platform-data HTTP/1.1\r\nHost: na1.api.riotgames.com\r\nConnection: close\r\n\r\n", "200", 1},
		"credentials for a proxy":    {get + "Proxy-Authorization: Basic theirs\r\nConnection: close\r\n\r\n", "200", 1},
	} {
		before := len(g.edge.Requests())
		s := tls.Client(g.tunnel(t, euw1), &tls.Config{RootCAs: trusts.RootCAs, ServerName: euw1})
		if _, err := io.WriteString(s, c.raw); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(s)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(resp.Status, c.status) {
			t.Errorf("%s: %s %s; want %s", name, resp.Status, body, c.status)
		}
		if name == "pipelined" {
			if second, err := http.ReadResponse(in, nil); err != nil || second.StatusCode != 421 {
				t.Errorf("%s: then %v, %v", name, second, err)
			}
		}
		if said := fmt.Sprint(resp.Header) + string(body); strings.Contains(said, canary) || strings.Contains(said, "theirs") {
			t.Errorf("%s: the answer shows %s", name, said)
		}
		s.Close()
		seen := g.edge.Requests()[before:]
		if len(seen) != c.sent {
			t.Errorf("%s: %d requests arrived, want %d", name, len(seen), c.sent)
		}
		for _, r := range seen {
			if r.Host != euw1 || r.URI != "/lol/status/v4/platform-data" || strings.Contains(fmt.Sprint(r.Header), "theirs") {
				t.Errorf("%s: Riot saw %s %s %v", name, r.Host, r.URI, r.Header)
			}
		}
	}
}

// Without TRUST_DIR there is neither CONNECT nor TLS.
func TestNoConnectWithoutAuthority(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	raw := g.exchange(t, "CONNECT "+euw1+":443 HTTP/1.1\r\nHost: "+euw1+"\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 405 ") || !strings.Contains(raw, "TRUST_DIR") {
		t.Errorf("CONNECT: %q", raw)
	}
	if _, err := tls.Dial("tcp", strings.TrimPrefix(g.front, "http://"), &tls.Config{ServerName: euw1}); err == nil {
		t.Error("TLS is spoken")
	}
}

// CONNECT elsewhere is refused in Riot's form, and told to the metrics.
func TestConnectElsewhere(t *testing.T) {
	g, _ := startTrusted(t, riotsim.Config{}, nil)
	front, admin := strings.TrimPrefix(g.front, "http://"), strings.TrimPrefix(g.admin, "http://")
	for _, target := range []string{"evil.example:443", "127.0.0.1:22", "[::1]:443", front, admin, "localhost:443", "169.254.169.254:443", euw1 + ":80", "ddragon.leagueoflegends.com:80"} {
		raw := g.exchange(t, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(raw, "HTTP/1.1 403 ") || !strings.Contains(raw, `"status_code":403}}`) || !strings.Contains(raw, "X-Riftrelay-Source: relay") {
			t.Errorf("%s: %q", target, raw)
		}
	}
}

// A stop ends connections that have said nothing, and those in mid-handshake.
func TestStopEndsTheDoor(t *testing.T) {
	g, _ := startTrusted(t, riotsim.Config{}, map[string]string{"SHUTDOWN_TIMEOUT": "1s"})
	silent, err := net.Dial("tcp", strings.TrimPrefix(g.front, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	half := g.tunnel(t, euw1)
	if _, err := half.Write([]byte{0x16, 3, 1}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	for _, c := range []net.Conn{silent, half} {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("still open: %v", err)
		}
	}
}

// pipes is a listener in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error { close(p); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A first byte, and a handshake, may take ten seconds each.
func TestHandshakesAreBounded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, err := trust.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := newDoor(a, nil)
		d.serves = func(string) error { return nil }
		in := make(pipes)
		s := newServer("TEST", "", http.NotFoundHandler(), conns.Limits{Total: 100}, slog.New(slog.DiscardHandler))
		served := make(chan struct{})
		go func() { defer close(served); _ = s.http.Serve(d.guard(in)) }()
		for name, c := range map[string]struct {
			begin []byte
			by    time.Duration
		}{"silent": {nil, hesitation}, "half a hello": {[]byte{0x16, 3, 1, 2}, readHeaderTimeout}, "half a head": {[]byte("GET / HT"), readHeaderTimeout}} {
			client, server := net.Pipe()
			began := time.Now()
			in <- server
			if c.begin != nil {
				if _, err := client.Write(c.begin); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = io.ReadAll(client)
			if took := time.Since(began); took != c.by {
				t.Errorf("%s: ended after %v, want %v", name, took, c.by)
			}
		}
		client, server := net.Pipe()
		d.terminate(server, euw1) // CONNECT was answered, and nothing follows
		began := time.Now()
		_, _ = io.ReadAll(client)
		if took := time.Since(began); took != readHeaderTimeout {
			t.Errorf("after CONNECT: ended after %v", took)
		}
		_ = s.http.Close()
		<-served
		client, server = net.Pipe()
		d.terminate(server, euw1) // too late: it is closed at once
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Error("served after the end")
		}
	})
}

// What clients need of refusals, and what RATE_HEADERS=strip takes away, is the
// same in all ways.
func TestAnswersInAllWays(t *testing.T) {
	g, trusts := startTrusted(t, riotsim.Config{Keys: map[string]string{canary: "1:600"}}, map[string]string{"RATE_HEADERS": "strip"})
	const path = "/lol/status/v4/platform-data"
	relay, err := url.Parse(g.front)
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Transport{Proxy: http.ProxyURL(relay)}
	t.Cleanup(plain.CloseIdleConnections)
	for i, way := range []struct {
		name   string
		client *http.Client
		target string
		host   string
	}{
		{"path", g.client, g.front + "/euw1" + path, ""},
		{"absolute form", &http.Client{Transport: plain, Timeout: 20 * time.Second}, "http://" + euw1 + path, ""},
		{"Host header", g.client, g.front + path, euw1},
		{"CONNECT", g.through(t, trusts), "https://" + euw1 + path, ""},
		{"Kernel", g.client, g.front + path + "?platform=EUW1", ""},
	} {
		req, err := http.NewRequest(http.MethodGet, way.target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = way.host
		if i > 0 {
			req.Header.Set("X-Max-Wait", "0")
		}
		resp, err := way.client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if i == 0 { // uses the limit up
			if resp.StatusCode != 200 || resp.Header.Get("X-RiftRelay-Source") != "riot" {
				t.Fatalf("%s: %s %s", way.name, resp.Status, body)
			}
			for name := range resp.Header {
				if strings.Contains(name, "Rate-Limit") {
					t.Errorf("%s: %s is not stripped", way.name, name)
				}
			}
			continue
		}
		wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != 429 || err != nil || wait < 1 || wait > 601 || resp.Header.Get("X-Rate-Limit-Type") != "service" ||
			resp.Header.Get("X-RiftRelay-Source") != "relay" || resp.Header.Get("X-RiftRelay-Reason") != "deadline" ||
			!strings.HasPrefix(string(body), `{"status":{"message":"`) || !strings.HasSuffix(string(body), `"status_code":429}}`) {
			t.Errorf("%s: %s %v %s", way.name, resp.Status, resp.Header, body)
		}
	}
}
