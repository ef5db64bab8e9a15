package daemon

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"riftrelay/riotsim"
)

// startPlainly starts the program as most people do: the address is not set.
func startPlainly(t *testing.T, env ...string) *process {
	t.Helper()
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1})
	return startProcess(t, t.TempDir(), append([]string{"LISTEN_ADDR=", "PORT=0", "ADMIN_ADDR=127.0.0.1:0", "RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=" + upstream}, env...)...)
}

// visit asks p for a path with headers, as a browser that took name for the
// relay's address would.
func visit(t *testing.T, url, name string, headers ...string) answer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		req.Host = name
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}
}

// By default only programs on this machine reach the relay, by any name of
// localhost, and no page can by a name of its own.
func TestTheDefaultIsThisMachineOnly(t *testing.T) {
	p := startPlainly(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.front, "http://"))
	if err != nil || !strings.HasPrefix(p.front, "http://127.0.0.1:") {
		t.Fatalf("the relay is at %s", p.front)
	}
	if a := visit(t, p.front+status, "localhost:"+port); a.status != 200 {
		t.Errorf("localhost: %+v", a)
	}
	for _, path := range []string{status, "/", "/readyz", "/swagger/"} {
		name := "evil.example:" + port
		if a := visit(t, p.front+path, name, "Origin", "http://"+name, "Sec-Fetch-Site", "same-origin"); a.status != 403 || a.header.Get("X-RiftRelay-Reason") != "host_not_allowed" {
			t.Errorf("DNS rebinding, %s: %d %s", path, a.status, a.body)
		}
	}
	if hasSix(t.Context()) {
		if a := visit(t, "http://"+net.JoinHostPort("::1", port)+status, ""); a.status != 200 {
			t.Errorf("over IPv6: %+v", a)
		}
	}
	for _, ip := range otherAddresses(t) {
		if a := visit(t, "http://"+net.JoinHostPort(ip, port)+"/healthz", ""); a.err == nil {
			t.Errorf("the relay is reached at %s: %+v", ip, a)
		}
	}
	for _, url := range []string{p.front, p.admin} {
		if a := visit(t, url+"/readyz", ""); a.body != `{"ready":true,"reasons":[]}`+"\n" {
			t.Errorf("%s/readyz: %+v", url, a)
		}
	}
	p.stop(t)
	if strings.Contains(p.log.String(), `"level":"WARN"`) {
		t.Errorf("log:\n%s", &p.log)
	}
}

// otherAddresses are those of this machine that aren't loopback.
func otherAddresses(t *testing.T) (list []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			list = append(list, n.IP.String())
		}
	}
	return list
}

// On a wider address without tokens the relay says so: in the log, on the admin
// listener in a sentence, and on its own port in a code.
func TestAWideAddressWithoutTokensIsToldOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		vars []string
		told bool
	}{
		{"all interfaces", []string{"LISTEN_ADDR=*"}, true},
		{"all of IPv4", []string{"LISTEN_ADDR=0.0.0.0"}, true},
		{"with tokens", []string{"LISTEN_ADDR=*", "CLIENT_TOKENS=web=" + webToken}, false},
		{"loopback", []string{"LISTEN_ADDR=127.0.0.1"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startPlainly(t, tt.vars...)
			_, port, err := net.SplitHostPort(strings.TrimPrefix(p.front, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			front := "http://127.0.0.1:" + port
			warnings := func(what string) string {
				if !tt.told {
					return ""
				}
				return fmt.Sprintf(`,"warnings":[%q]`, what)
			}
			if a := visit(t, front+"/readyz", ""); a.body != `{"ready":true,"reasons":[]`+warnings("no_client_tokens")+"}\n" {
				t.Errorf("on the relay's port: %+v", a)
			}
			at := strings.TrimPrefix(p.front, "http://")
			if a := visit(t, p.admin+"/readyz", ""); a.body != `{"ready":true,"reasons":[]`+
				warnings("whoever reaches "+at+" can use the keys: CLIENT_TOKENS is not set, and LISTEN_ADDR is not localhost")+"}\n" {
				t.Errorf("on the admin listener: %+v", a)
			}
			p.stop(t)
			if n := strings.Count(p.log.String(), "whoever reaches the relay's port can use the keys"); (n == 1) != tt.told || n > 1 {
				t.Errorf("%d warnings in the log:\n%s", n, &p.log)
			}
		})
	}
}

// Both listeners warn, and the page shows the relay's address.
func TestBeyondLoopbackWarns(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"LISTEN_ADDR": "0.0.0.0:0", "ADMIN_ADDR": "0.0.0.0:0"})
	eventually(t, "two warnings", func() bool { return strings.Count(g.log.String(), `"level":"WARN"`) == 2 })
	if at := g.exposed(); at != g.relay.front.listener.Addr().String() {
		t.Errorf("exposed at %q", at)
	}
}

// Pages of other sites are refused by what browsers send; programs may send an
// Origin, as the headers that Riot's developer portal shows have one.
func TestProgramsMaySendAnOrigin(t *testing.T) {
	p := startPlainly(t)
	const portal, browser = "https://developer.riotgames.com", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
	for name, tt := range map[string]struct {
		want    int
		headers []string
	}{
		"the portal's headers": {200, []string{"User-Agent", browser, "Accept-Language", "en-US,en;q=0.9",
			"Accept-Charset", "application/x-www-form-urlencoded; charset=UTF-8", "Origin", portal, "X-Riot-Token", "RGAPI-own"}},
		"another origin":     {200, []string{"User-Agent", "python-requests/2.32", "Origin", "https://op.example"}},
		"a page":             {403, []string{"User-Agent", browser, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
		"the portal's page":  {403, []string{"User-Agent", browser, "Origin", portal, "Sec-Fetch-Site", "cross-site"}},
		"an old browser":     {403, []string{"User-Agent", browser, "Origin", "https://evil.example"}},
		"a page as an image": {403, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}},
	} {
		if a := visit(t, p.front+status, "", tt.headers...); a.status != tt.want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	p.stop(t)
}

// A second program on one of the two addresses of localhost would get calls that
// were meant for the relay.
func TestLocalhostIsBothOrNothing(t *testing.T) {
	if !hasSix(t.Context()) {
		t.Log("this machine has no ::1")
		return
	}
	for _, taken := range []string{"127.0.0.1", "::1"} {
		other, err := net.Listen("tcp", net.JoinHostPort(taken, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(other.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if l, err := listenOn(t.Context(), "localhost:"+port); err == nil {
			l.Close()
			t.Errorf("listens beside a program on %s", other.Addr())
		}
		other.Close()
	}

	l, err := listenOn(t.Context(), "LocalHost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range []string{"127.0.0.1", "::1"} {
		c, err := net.Dial("tcp", net.JoinHostPort(ip, port))
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil || s.RemoteAddr().String() != c.LocalAddr().String() {
			t.Errorf("%v %v", s, err)
		} else {
			s.Close()
		}
		c.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if c, err := l.Accept(); err == nil {
		t.Errorf("accepts %v once closed", c)
	}
	for _, ip := range []string{"127.0.0.1", "::1"} {
		if c, err := net.Dial("tcp", net.JoinHostPort(ip, port)); err == nil {
			c.Close()
			t.Errorf("%s is still open", ip)
		}
	}
}
