package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/trust"
	"riftrelay/riotsim"
)

// realFiles is for rigs whose settings name files.
func realFiles(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
	}
	return os.ReadFile(name)
}

func (g *rig) with(t testing.TB, url string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}
}

const webToken, botToken = "CANARY-token-of-web", "CANARY-token-of-bot"

// Tokens on all their ways: taken, wrong, replaced, revoked, in a broken file.
// They show in nothing that the relay says or writes, and not at Riot.
func TestHardeningClientTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	keyFile(t, file, "web="+webToken, "bot="+botToken)
	g := startRigIn(t, riotsim.Config{Keys: map[string]string{canary: "100:600"}, Requests: -1}, map[string]string{
		"CLIENT_TOKENS_FILE": file, "CLIENT_BOT_BUDGET": "crawler", "CLIENT_BOT_PRIORITY": "normal", "CLIENT_BOT_ALLOW": "/lol/status", "RATE_BUDGET_CRAWLER": "0.02",
		"METRICS_ON_RELAY": "true",
	}, nil, realFiles)
	var said strings.Builder
	ask := func(want int, target string, headers ...string) answer {
		t.Helper()
		a := g.with(t, g.front+target, headers...)
		if a.err != nil || a.status != want {
			t.Errorf("%s: %d %s %v, want %d", target, a.status, a.body, a.err, want)
		}
		a.header.Write(&said)
		said.WriteString(a.body)
		return a
	}
	ask(200, status, "X-Relay-Token", webToken, "X-Priority", "high")
	ask(200, status, "X-Riot-Token", webToken)
	ask(200, status+"?api_key="+webToken)
	ask(200, status, "Authorization", "Bearer "+webToken)
	ask(401, status)
	ask(401, status, "X-Relay-Token", webToken+"-wrong", "X-Request-Id", "mine")
	ask(401, status+"?api_key="+webToken+"-wrong")
	ask(404, "/euw1/lol/nothing?api_key="+webToken)
	ask(403, "/euw1/lol/summoner/v4/summoners/by-puuid/x", "X-Relay-Token", botToken)
	ask(403, status, "X-Relay-Token", webToken, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	ask(403, status, "X-Relay-Token", webToken, "Host", "evil.example")
	// The budget is forced: 2 of 100 calls.
	for i := range 4 {
		if a := g.with(t, g.front+status, "X-Relay-Token", botToken, "X-Max-Wait", "0", "X-Priority", "high", "X-Rate-Budget", "default"); (i < 2) != (a.status == 200) {
			t.Errorf("call %d on a budget of 2: %d %s", i, a.status, a.body)
		}
	}
	ask(204, "/healthz")
	ask(200, "/swagger/openapi.json")
	metrics := ask(200, "/metrics").body
	const refused = `riftrelay_admission_total{budget_id="default",endpoint="",`
	for _, want := range []string{
		`riftrelay_client_requests_total{client="web",code="200"} 4`, `riftrelay_client_requests_total{client="bot",code="403"} 1`,
		`riftrelay_client_requests_total{client="bot",code="429"} 2`, refused + `outcome="rejected_unauthorized",priority="normal",region=""} 3`,
		refused + `outcome="rejected_cross_origin",priority="normal",region=""} 1`, refused + `outcome="rejected_host_not_allowed",priority="normal",region=""} 1`,
		`riftrelay_queue_wait_seconds_count{bucket="euw1:lol/status/v4/platform-data",budget_id="default",priority="high"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}

	keyFile(t, file, "# web has a new one", "web=CANARY-new-token")
	eventually(t, "the new token", func() bool { return g.with(t, g.front+status, "X-Relay-Token", "CANARY-new-token").status == 200 })
	ask(401, status, "X-Relay-Token", webToken)
	ask(401, status, "X-Relay-Token", botToken)
	for _, broken := range []string{"web=CANARY-third-token\nCANARY oops", "# nobody: not open to all"} {
		keyFile(t, file, broken)
		n := strings.Count(g.log.String(), "tokens can't be read again")
		eventually(t, "a reload that fails", func() bool { return strings.Count(g.log.String(), "tokens can't be read again") > n })
		ask(401, status)
		ask(200, status, "X-Relay-Token", "CANARY-new-token")
	}

	ask(200, "/metrics")
	g.stopAndWait(t)
	said.WriteString(g.log.String())
	for _, want := range []string{`"client":"web"`, `"client":"bot"`, `"request":"mine"`, "bot,web", "line 2"} {
		if !strings.Contains(g.log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	for _, r := range g.edge.Requests() {
		if r.Header.Get("X-Riot-Token") != canary || strings.Contains(r.URI, "CANARY") || r.Header["Authorization"] != nil || r.Header["X-Relay-Token"] != nil || r.Header["X-Request-Id"] != nil {
			t.Errorf("Riot saw %q %v", r.URI, r.Header)
		}
	}
	if i := strings.Index(said.String(), "CANARY"); i >= 0 {
		t.Errorf("a token shows: …%s…", said.String()[max(0, i-200):i+50])
	}
}

// certFile writes a certificate for 127.0.0.1 and relay.example with its key, in
// one file and returns the certificate.
func certFile(t testing.TB, name string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "relay"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"relay.example"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	keyFile(t.(*testing.T), name, string(text))
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c
}

// secure calls the relay over TLS, on a connection of its own, trusting one
// certificate alone.
func (g *rig) secure(t testing.TB, trusted *x509.Certificate, target string) (answer, *http.Response) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(trusted)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Get(strings.Replace(g.front, "http:", "https:", 1) + target)
	if err != nil {
		return answer{err: err}, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}, resp
}

// With a certificate the port speaks TLS only, HTTP/2 too; another certificate
// takes the old one's place, a broken one doesn't.
func TestTLSByFiles(t *testing.T) {
	dir := t.TempDir()
	file, authority := filepath.Join(dir, "relay.pem"), filepath.Join(dir, "trust")
	first := certFile(t, file, 1)
	for name, vars := range map[string]map[string]string{"alone": {}, "with an authority": {"TRUST_DIR": authority}} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"TLS_CERT_FILE": file, "TLS_KEY_FILE": file}
			for n, v := range vars {
				all[n] = v
			}
			g := startRigIn(t, riotsim.Config{}, all, nil, realFiles)
			a, resp := g.secure(t, first, status)
			if a.err != nil || a.status != 200 || resp.ProtoMajor != 2 || resp.TLS.PeerCertificates[0].SerialNumber.Cmp(first.SerialNumber) != 0 {
				t.Fatalf("%+v %+v", a, resp)
			}
			if a := g.get(g.front + status); a.status != 400 || a.header.Get("X-RiftRelay-Reason") != "tls_required" {
				t.Errorf("plain http: %+v", a)
			}
			if a := g.get(g.front + "/healthz"); a.status != 204 {
				t.Errorf("health in plain http: %+v", a)
			}
			if authority := vars["TRUST_DIR"]; authority != "" {
				text, err := os.ReadFile(filepath.Join(authority, trust.CertificateFile))
				if err != nil {
					t.Fatal(err)
				}
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM(text)
				resp, err := g.through(t, &tls.Config{RootCAs: roots}).Get("https://" + euw1 + "/lol/status/v4/platform-data")
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("CONNECT: %v %v", resp, err)
				} else {
					resp.Body.Close()
				}
			}

			if name != "alone" {
				return
			}
			keyFile(t, file, "-----BEGIN CERTIFICATE-----", "half")
			eventually(t, "the mistake is logged", func() bool { return strings.Contains(g.log.String(), "the certificate is as it was") })
			if a, _ := g.secure(t, first, status); a.err != nil || a.status != 200 {
				t.Errorf("after a broken file: %+v", a)
			}
			second := certFile(t, file, 2)
			eventually(t, "the new certificate", func() bool { a, _ := g.secure(t, second, status); return a.status == 200 })
			if a, _ := g.secure(t, first, status); a.err == nil {
				t.Error("the old certificate is still served")
			}
			first = second
		})
	}
}

// By itself a relay on loopback answers to no name that a page could have made.
func TestRebindingOfALoopbackRelay(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	for host, want := range map[string]int{"localhost:8985": 200, "evil.example": 403, "127.0.0.1.evil.example:8985": 403} {
		for _, path := range []string{"/", status} {
			if a := g.with(t, g.front+path, "Host", host); a.status != want {
				t.Errorf("%s%s: %d %s", host, path, a.status, a.body)
			}
		}
	}
}

// Over HTTP/2 the same is refused, and CONNECT too: :authority is the Host, and
// a stream is no connection to be taken over.
func TestAccessOverHTTP2(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "relay.pem")
	roots := x509.NewCertPool()
	roots.AddCert(certFile(t, file, 1))
	g := startRigIn(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1}, map[string]string{
		"TLS_CERT_FILE": file, "TLS_KEY_FILE": file, "TRUST_DIR": filepath.Join(dir, "trust"), "CLIENT_TOKENS": "web=" + webToken,
	}, nil, realFiles)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	const path = "/lol/status/v4/platform-data"
	for name, c := range map[string]struct {
		verb, host, target string
		headers            []string
		status             int
	}{
		"a token":               {"GET", "", status, []string{"X-Riot-Token", webToken}, 200},
		"a name of Riot's":      {"GET", euw1, path, []string{"X-Relay-Token", webToken}, 200},
		"no token":              {"GET", euw1, path, nil, 401},
		"another name":          {"GET", "evil.example", status, []string{"X-Relay-Token", webToken}, 403},
		"one that looks odd":    {"GET", "x." + euw1, path, []string{"X-Relay-Token", webToken}, 403},
		"a page elsewhere":      {"POST", "", "/americas/lol/tournament-stub/v5/codes?tournamentId=1", []string{"X-Relay-Token", webToken, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		"CONNECT to the API":    {"CONNECT", euw1 + ":443", "", []string{"X-Relay-Token", webToken}, 403},
		"CONNECT to this relay": {"CONNECT", strings.TrimPrefix(g.front, "http://"), "", []string{"X-Relay-Token", webToken}, 403},
	} {
		before := len(g.edge.Requests())
		req, err := http.NewRequest(c.verb, strings.Replace(g.front, "http:", "https:", 1)+c.target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if c.host != "" {
			req.Host = c.host
		}
		for i := 0; i < len(c.headers); i += 2 {
			req.Header.Set(c.headers[i], c.headers[i+1])
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.ProtoMajor != 2 || resp.StatusCode != c.status {
			t.Errorf("%s: %s %d %s, want %d", name, resp.Proto, resp.StatusCode, body, c.status)
		}
		if n := len(g.edge.Requests()) - before; (n == 1) != (c.status == 200) {
			t.Errorf("%s: %d calls reached Riot", name, n)
		}
	}
}
