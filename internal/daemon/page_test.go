package daemon

import (
	"bufio"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

func TestPageIsOnTheAdminListener(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	ask := func(host, accept string) answer {
		req, err := http.NewRequest(http.MethodGet, g.admin+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		req.Header.Set("Accept", accept)
		resp, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body := new(strings.Builder)
		if _, err := bufio.NewReader(resp.Body).WriteTo(body); err != nil {
			t.Fatal(err)
		}
		return answer{status: resp.StatusCode, header: resp.Header, body: body.String()}
	}
	if a := ask("", "text/html"); a.status != 200 || !strings.Contains(a.body, "<title>RiftRelay</title>") || !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'self';") {
		t.Errorf("a browser gets %d %v", a.status, a.header)
	}
	if a := ask("", "*/*"); a.status != 200 || !strings.Contains(a.body, "/api/v1/state\n") {
		t.Errorf("a program gets %d %q", a.status, a.body)
	}
	if a := ask("evil.example", "text/html"); a.status != http.StatusForbidden {
		t.Errorf("a name that leads to loopback gets %d, want 403", a.status)
	}
}

// Viewers see how it drains, and hold up no stop.
func TestViewersSeeTheEnd(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"SHUTDOWN_TIMEOUT": "3s"})
	if a := g.get(g.front + status); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	resp, err := http.Get(g.admin + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	var events []string
	next := func() (data string) {
		for lines.Scan() {
			if e, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				events = append(events, e)
			}
			if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return d
			}
		}
		return ""
	}
	if d := next(); strings.Contains(d, canary) || !strings.Contains(d, `"name":"main"`) {
		t.Errorf("hello: %s", d)
	}
	for d := next(); !strings.Contains(d, `"host":"euw1"`) && !strings.Contains(d, `"status":200`); d = next() {
		if d == "" {
			t.Fatal("the call is not shown")
		}
	}
	began := time.Now()
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("with a viewer a stop takes %v", took)
	}
	for d := next(); d != ""; d = next() {
		if strings.Contains(d, canary) {
			t.Errorf("a viewer is told the key: %s", d)
		}
	}
	if last := events[len(events)-1]; last != "bye" {
		t.Errorf("the last that a viewer hears is %q, want bye", last)
	}
}

// The log says where to look, in a form that a terminal makes a link of.
func TestPageURL(t *testing.T) {
	for admin, want := range map[string]string{
		"127.0.0.1:8986": "http://127.0.0.1:8986/", "[::]:8986": "http://localhost:8986/", "0.0.0.0:1": "http://localhost:1/", "[::1]:2": "http://[::1]:2/", "10.0.0.7:3": "http://10.0.0.7:3/", "off": "",
	} {
		if got := pageURL(admin); got != want {
			t.Errorf("%s: %q, want %q", admin, got, want)
		}
	}
}
