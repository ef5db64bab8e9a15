package riotsim

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

// The handler on real sockets, over HTTP/1.1 and HTTP/2: only what a pipe can't show.
func TestSocketsHTTP1AndHTTP2(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		e := newEdge(t, Config{Requests: -1})
		s := httptest.NewUnstartedServer(e)
		if s.EnableHTTP2 = h2; h2 {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		code, h, body, err := get(t, s.Client(), request(t, t.Context(), s.URL+"/euw1"+status))
		if err != nil || code != 200 || h.Get("X-App-Rate-Limit-Count") != "1:120,1:1" || body != "{}" {
			t.Errorf("HTTP/2 %v: %d %v %q %v", h2, code, h, body, err)
		}
		if got := e.Requests()[0].Proto; (got == "HTTP/2.0") != h2 {
			t.Errorf("HTTP/2 %v: came as %s", h2, got)
		}
		if err := e.Inject(Fault{Reset: true, Times: 1}); err != nil {
			t.Fatal(err)
		}
		// A POST, because net/http repeats a GET on a connection that broke.
		req := request(t, t.Context(), s.URL+"/americas/lol/tournament/v5/codes")
		req.Method = http.MethodPost
		if code, _, _, err := get(t, s.Client(), req); err == nil || !h2 && !errors.Is(err, syscall.ECONNRESET) || h2 && !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("HTTP/2 %v: reset gave %d %v", h2, code, err)
		}
		if r := e.Report(); r.Arrived != 2 || r.Resets != 1 {
			t.Errorf("HTTP/2 %v: %+v", h2, r.Totals)
		}
	}
}

func TestNewNamesEveryWrongSetting(t *testing.T) {
	_, err := New(Config{
		Keys:          map[string]string{"k": "20;1"},
		AppLimits:     []Rule{{Limit: "0:1"}},
		MethodLimits:  []Rule{{Method: "nothing-v1", Limit: "1:1"}},
		ServiceLimits: []Rule{{Method: "POST " + status, Limit: "1:1"}},
		Shared:        []Shared{{"tft-match-v1", []string{"asia"}}},
		Faults:        []Fault{{Chance: -1}},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"20;1"`, `"0:1"`, `"nothing-v1"`, `"POST ` + status + `"`, `"tft-match-v1": 1 hosts`, "Chance -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error doesn't name %s:\n%v", want, err)
		}
	}
	if _, err := New(Config{Windows: 9}); err == nil || !strings.Contains(err.Error(), "Windows 9") {
		t.Errorf("Windows 9: %v", err)
	}
	// The limits seen in reality must be about methods and hosts that exist.
	for _, r := range seenMethodLimits() {
		served := r.Host == ""
		for _, m := range table.Methods() {
			for _, host := range m.Hosts {
				served = served || host == r.Host && selectsMethod(r.Method, m)
			}
		}
		if err := newEdge(t, Config{}).checkMethod(r.Method); err != nil || !served {
			t.Errorf("built-in rule %+v: host served: %v, %v", r, served, err)
		}
	}
}

func TestReportIsReadableAndKeepsKeysSecret(t *testing.T) {
	c := caller{t, newEdge(t, Config{AppLimits: []Rule{{Limit: "1:10"}}, MethodLimits: []Rule{{Limit: NoLimit}}})}
	c.call(0, "RGAPI-secret-1234", "euw1", status)
	c.call(0, "RGAPI-secret-1234", "euw1", status)
	got := c.e.ReportAt(start.Add(10 * 1e9)).String()
	want := "arrived 2, accepted 1 of at most 2, 429s 1 (application 1, method 0, service 0, server 0, untyped 0), own fault 1\n" +
		"application euw1 …1234  1:10: accepted 1, peak 2, full 1, use 100.0%\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
