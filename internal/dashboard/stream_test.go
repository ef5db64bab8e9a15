package dashboard

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay"
)

// viewer reads a stream, message by message.
type viewer struct {
	t *testing.T
	r *bufio.Reader
}

func view(t *testing.T, url string) (v viewer, status int) {
	t.Helper()
	resp, err := http.Get(url + "/live")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return viewer{t, bufio.NewReader(resp.Body)}, resp.StatusCode
}

// next returns the next message; empty at the end.
func (v viewer) next() (event, data string) {
	for {
		line, err := v.r.ReadString('\n')
		if err != nil {
			return "", ""
		}
		line = strings.TrimSuffix(line, "\n")
		if s, ok := strings.CutPrefix(line, "event: "); ok {
			event = s
		}
		if s, ok := strings.CutPrefix(line, "data: "); ok {
			data = s
		}
		if line == "" {
			return event, data
		}
	}
}

func serveDashboard(t *testing.T) (*Dashboard, *riftrelay.Snapshot, string) {
	t.Helper()
	d, s := watching()
	server := httptest.NewServer(d.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(d.Close)
	return d, s, server.URL
}

func TestViewersAreToldEverythingOnce(t *testing.T) {
	d, _, url := serveDashboard(t)
	d.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeKeyDisabled, Key: "main", At: start})
	d.sample(start)
	first, _ := view(t, url)
	event, data := first.next()
	if event != "hello" || !strings.Contains(data, `"version":"v1"`) || strings.Count(data, "the key is disabled") != 1 || !strings.Contains(data, `"history":[[`) {
		t.Fatalf("%s %s", event, data)
	}
	d.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeKeyEnabled, Key: "main", At: start})
	second, _ := view(t, url) // in between: what is new comes with the next message
	if _, data := second.next(); strings.Contains(data, "enabled") {
		t.Errorf("told too early, and told again: %s", data)
	}
	d.goes(1, 0, 500, "")
	shared := d.tail
	d.sample(start.Add(time.Second))
	for i, v := range []viewer{first, second} {
		event, data := v.next()
		if event != "tick" || strings.Count(data, "the key is enabled") != 1 || strings.Contains(data, "disabled") || !strings.Contains(data, `"status":500`) {
			t.Errorf("viewer %d: %s %s", i, event, data)
		}
		if want := "event: tick\ndata: " + data + "\n\n"; string(shared.text) != want {
			t.Errorf("viewer %d got another message than is shared", i)
		}
	}
	d.Close()
	for i, v := range []viewer{first, second} {
		if event, _ := v.next(); event != "bye" {
			t.Errorf("viewer %d: %q at the end, want bye", i, event)
		}
		if event, _ := v.next(); event != "" {
			t.Errorf("viewer %d: %q after the end", i, event)
		}
	}
}

func TestViewersAreBounded(t *testing.T) {
	d, _, url := serveDashboard(t)
	d.sample(start)
	var wg sync.WaitGroup
	for range mostViewers {
		wg.Go(func() {
			resp, err := http.Get(url + "/live")
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%v %v", resp, err)
				return
			}
			t.Cleanup(func() { resp.Body.Close() })
		})
	}
	wg.Wait()
	if _, status := view(t, url); status != http.StatusServiceUnavailable {
		t.Errorf("viewer %d gets %d, want 503", mostViewers+1, status)
	}
	d.Close()
	eventually(t, "all have left", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.viewers == 0
	})
}

// One that doesn't read is left after a while, and holds up nobody.
func TestSlowViewersAreLeft(t *testing.T) {
	d, s, url := serveDashboard(t)
	for i := range 3000 {
		s.Scopes = append(s.Scopes, riftrelay.ScopeState{Key: "main", Host: fmt.Sprintf("z%04d", i), Windows: []riftrelay.WindowState{{Limit: 1 << 30, Window: time.Second}}})
	}
	d.sample(start)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
	joined := func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.viewers > 0
	}
	eventually(t, "it has joined", joined)
	n := 0
	eventually(t, "it is left", func() bool {
		n++
		for i := range s.Scopes {
			for j := range s.Scopes[i].Windows {
				s.Scopes[i].Windows[j].Used = n
			}
		}
		began := time.Now()
		d.sample(start.Add(time.Duration(n) * time.Second))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a sample took %v", took)
		}
		return !joined()
	})
}

func TestPagesOfOtherOriginsTakeNoPlace(t *testing.T) {
	d, _ := watching()
	d.sample(start)
	for _, path := range []string{"/live", "/live/windows"} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", path, w.Code)
		}
	}
}

func TestThePastOfARow(t *testing.T) {
	d, _ := watching()
	d.sample(start)
	d.sample(start.Add(2 * time.Second))
	get := func(query string) string {
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live/windows?"+query, http.NoBody))
		return w.Body.String()
	}
	if got, want := get("key=main&host=euw1&method="), `{"windows":[{"kind":"","window":1000,"past":[[252,252,252],[0,0,0]]},{"kind":"","window":120000,"past":[[400,400,400],[152,152,152]]}]}`+"\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if got := get("key=nobody"); got != `{"windows":[]}`+"\n" {
		t.Errorf("of nobody: %s", got)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}
