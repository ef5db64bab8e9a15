package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/route"
)

var update = flag.Bool("update", false, "write what there is as what there should be")

// golden compares with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r"), nil)) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// fixed is a limiter in a state that never changes.
type fixed struct {
	wait time.Duration
	err  error
	got  *riftrelay.Options
	path *string
}

func (f fixed) Estimate(_ route.Route, path string, calls int, o riftrelay.Options) (time.Duration, riftrelay.Wait, error) {
	if f.got != nil {
		*f.got, *f.path = o, path
	}
	return time.Duration(calls) * f.wait, riftrelay.Wait{Kind: riftrelay.WaitNoKey, Until: time.Second}, f.err
}

func (fixed) DisableKey(string) error { panic("BUG: not asked for") }
func (fixed) EnableKey(string) error  { panic("BUG: not asked for") }
func (fixed) RecheckKey(string) error { panic("BUG: not asked for") }

func (fixed) Snapshot() riftrelay.Snapshot {
	const matches = "/lol/match/v5/matches/{matchId}"
	full := riftrelay.WindowState{Limit: 1000, Window: time.Minute, Used: 1000, Others: 20, InFlight: 3, ResetIn: 42 * time.Second}
	return riftrelay.Snapshot{
		At: time.Date(2026, 7, 1, 12, 3, 4, 0, time.UTC), Margin: 123456789, Pacing: 0.25, Queued: 17, InFlight: 4, Draining: true,
		Keys: []riftrelay.KeyState{
			{Name: "main", Usable: true, State: riftrelay.KeyUsable},
			{Name: "spare", Group: "tournament", State: riftrelay.KeySuspect, NextProbe: 4 * time.Second, Reasons: []string{"401 Unknown apikey 12 s ago"}},
			{Name: "spare.2", Group: "tournament", State: riftrelay.KeyDisabled, Reasons: []string{"403 on /lol/x 5 min ago", "disabled 3 min ago"}},
		},
		Scopes: []riftrelay.ScopeState{
			{Key: "main", Host: "americas", Known: true, InFlight: 3, Windows: []riftrelay.WindowState{
				{Limit: 20, Window: time.Second, Used: 3, InFlight: 3, ResetIn: 1100 * time.Millisecond},
				{Limit: 100, Window: 2 * time.Minute, Used: 85, InFlight: 3, ResetIn: 100 * time.Second},
			},
				Budgets: []riftrelay.BudgetState{{Name: "crawler", Windows: []riftrelay.WindowState{
					{Limit: 6, Window: time.Second, Used: 1, ResetIn: 1100 * time.Millisecond}, {Limit: 30, Window: 2 * time.Minute, Used: 30, ResetIn: 90 * time.Second},
				}}}},
			{Key: "main", Host: "americas", Method: matches, Known: true, InFlight: 3, Windows: []riftrelay.WindowState{full}},
			{Key: "spare", Host: "euw1", Known: true, Halved: 2, Windows: []riftrelay.WindowState{{Limit: 20, Window: time.Second}}},
			{Host: "europe", Method: "/riot/account/v1/accounts/me", InFlight: 1, Cooldown: 7500 * time.Millisecond, Cause: riftrelay.LimitService, Windows: []riftrelay.WindowState{}},
		},
		Queues: []riftrelay.QueueState{
			{Host: "euw1", Method: "/lol/status/v4/platform-data", Priority: riftrelay.High, Depth: 2, Oldest: time.Millisecond, Start: riftrelay.Unknown},
			{Host: "americas", Method: matches, Depth: 15, Oldest: 12 * time.Second, Start: 180 * time.Millisecond, Why: riftrelay.Wait{
				Kind: riftrelay.WaitWindow, Key: "main", Scope: "method", Limit: 1000, Used: 1000, Others: 20, Window: time.Minute, Until: 180 * time.Millisecond,
			}},
			{Host: "americas", Method: matches, Budget: "crawler", Depth: 9, Oldest: time.Second, Start: 4 * time.Second, Why: riftrelay.Wait{
				Kind: riftrelay.WaitBudget, Key: "main", Scope: "application", Budget: "crawler", Limit: 30, Used: 30, Window: 2 * time.Minute, Until: 4 * time.Second,
			}},
		},
	}
}

func clients() []admin.Client {
	return []admin.Client{
		{Name: "bot", Budget: "crawler", Allow: []string{"GET /lol/match/v5", "kr:/"}, Requests: 1200, Limited: 2, Refused: 31, InFlight: 1, Waiting: 14},
		{Name: "web", High: true, Allow: []string{}, Requests: 12, InFlight: 3, Waiting: 3},
	}
}

func connections() []admin.Connections {
	full := admin.Seconds(12)
	return []admin.Connections{
		{Listener: "relay", Most: 412, Open: 15, Silent: 1, Begun: 2, Active: 3, Idle: 4, Ending: 5, Closed: 6, Refused: 7, Full: &full},
		{Listener: "admin", Most: 64, Open: 1, Active: 1},
	}
}

// handler serves l on a listener that others than this machine reach.
func handler(l admin.Limiter) http.Handler {
	return admin.Handler(admin.Options{
		Limiter: l, Matcher: route.Default(), Reload: func() (admin.Reloaded, error) { panic("BUG: not asked for") },
		Clients: clients, Connections: connections, Guard: admin.Guard{Loopback: func() bool { return false }},
	})
}

func ask(t *testing.T, l admin.Limiter, url string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	handler(l).ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, http.NoBody))
	return w.Code, w.Body.Bytes()
}

func TestState(t *testing.T) {
	status, body := ask(t, fixed{}, "/api/v1/state")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	golden(t, "state.json", body)
}

func TestStatus(t *testing.T) {
	_, raw := ask(t, fixed{}, "/api/v1/state")
	for name, color := range map[string]bool{"status.txt": false, "status-color.txt": true} {
		var b bytes.Buffer
		if err := admin.Print(&b, raw, color); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	if err := admin.Print(new(bytes.Buffer), []byte("<html>"), false); err == nil {
		t.Error("a page was printed as a state")
	}
}

// The store has a line of its own, where there is one.
func TestPrintStore(t *testing.T) {
	for want, store := range map[string]admin.Store{
		"up  3 replicas, 2 ms there and back":                                     {Replicas: 3, Trip: 0.002},
		"up  1 replica, 2 ms there and back":                                      {Replicas: 1, Trip: 0.002},
		"away  for 12 s: refused; going on within the share of one of 3 replicas": {Replicas: 3, Away: "refused", For: 12, Alone: true},
		"away  for 1.5 s: refused; going on as the only replica":                  {Replicas: 1, Away: "refused", For: 1.5, Alone: true},
		"away  for 12 s: refused; nothing is sent":                                {Replicas: 3, Away: "refused", For: 12},
	} {
		raw, err := json.Marshal(admin.State{Store: &store})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := admin.Print(&b, raw, false); err != nil || !strings.Contains(b.String(), "\nstore    "+want+"\n") {
			t.Errorf("%v, got\n%s\nwant %s", err, &b, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	const path = "/lol/status/v4/platform-data"
	var got riftrelay.Options
	var asked string
	status, body := ask(t, fixed{wait: 1250 * time.Millisecond, got: &got, path: &asked}, "/api/v1/estimate?priority=high&calls=12&host=euw1&path="+path+"%3Fa=b")
	var e admin.Estimate
	if err := json.Unmarshal(body, &e); err != nil || status != http.StatusOK || e.Wait == nil || *e.Wait != 15 || e.Calls != 12 || e.Why != "no usable key, next try in 1 s" || e.Method != path || e.Priority != "high" || got.Priority != riftrelay.High || asked != path {
		t.Errorf("%d %s, asked of %q with %+v", status, body, asked, got)
	}
	status, body = ask(t, fixed{err: &riftrelay.RejectedError{Reason: riftrelay.ReasonNoKey, Detail: "no key is configured"}}, "/api/v1/estimate?host=euw1&path="+path)
	if !strings.Contains(string(body), `"wait_seconds": null`) || !strings.Contains(string(body), `"refused": "no_available_key"`) || status != http.StatusOK {
		t.Errorf("refused: %d %s", status, body)
	}
	if status, _ := ask(t, fixed{err: errors.New("?")}, "/api/v1/estimate?host=euw1&path="+path); status != http.StatusInternalServerError {
		t.Errorf("an error is answered %d", status)
	}
	for query, want := range map[string]string{
		"":                                       "host or path is missing",
		"host=euw1":                              "host or path is missing",
		"host=euw9&path=" + path:                 "euw",
		"host=euw1&path=/lol/nothing":            "/lol/nothing",
		"host=euw1&path=" + path + "&prio=high":  "allowed: host, path, verb, priority, calls",
		"host=euw1&calls=0&path=" + path:         "allowed: 1 to 100000",
		"host=euw1&priority=urgent&path=" + path: "allowed: normal, high",
		"host=euw1&verb=DELETE&path=" + path:     "DELETE",
		"host=euw1&path=/lol/../status/v4/x":     "",
	} {
		status, body := ask(t, fixed{}, "/api/v1/estimate?"+query)
		if status != http.StatusBadRequest || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s, want 400 with %q", query, status, body, want)
		}
	}
}

// What reads can't be posted to, and what changes can't be got, as a link or an
// image would.
func TestVerbs(t *testing.T) {
	for path, wrong := range map[string]string{
		"state": http.MethodPost, "estimate": http.MethodPost,
		"reload": http.MethodGet, "keys/main/disable": http.MethodGet, "keys/main/enable": http.MethodHead, "keys/main/recheck": http.MethodPut,
	} {
		w := httptest.NewRecorder()
		handler(fixed{}).ServeHTTP(w, httptest.NewRequest(wrong, admin.Root+path, http.NoBody))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d", wrong, path, w.Code)
		}
	}
}

func TestAsk(t *testing.T) {
	s := httptest.NewServer(handler(fixed{}))
	defer s.Close()
	for _, url := range []string{s.URL, s.URL + "/", strings.TrimPrefix(s.URL, "http://")} {
		if raw, err := admin.Ask(t.Context(), url, ""); err != nil || !json.Valid(raw) {
			t.Errorf("%s: %v", url, err)
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if _, err := admin.Ask(t.Context(), other.URL, ""); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("something else: %v", err)
	}
	other.Close()
	if _, err := admin.Ask(t.Context(), other.URL, ""); err == nil || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("nobody: %v", err)
	}
}
