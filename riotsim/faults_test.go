package riotsim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFaultsOverHTTP(t *testing.T) {
	overBoth(t, Config{}, func(t *testing.T, e *Edge, c *http.Client) {
		do := func(f Fault) (int, http.Header, string, time.Duration, error) {
			t.Helper()
			time.Sleep(time.Second) // a fresh 1 s window
			f.Times = 1
			if err := e.Inject(f); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			code, h, body, err := get(t, c, request(t, t.Context(), euw+status))
			return code, h, body, time.Since(began), err
		}
		before := e.Report().Counted
		if _, _, _, _, err := do(Fault{Reset: true}); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reset: %v", err)
		}
		if got := e.Report(); got.Counted != before+1 || got.Resets != 1 {
			t.Errorf("reset: %+v", got.Totals)
		}
		if code, _, _, took, err := do(Fault{Hang: time.Minute}); code != 200 || took != time.Minute {
			t.Errorf("hang: %d %v after %v", code, err, took)
		}
		if code, h, body, _, _ := do(Fault{Gateway: true, Status: 504}); code != 504 || h.Get("Server") != "cloudflare" || !strings.HasPrefix(body, "<html>") || h.Get("X-App-Rate-Limit") != "" {
			t.Errorf("gateway: %d %v %q", code, h, body)
		}
		if code, _, body, _, err := do(Fault{Truncate: true, Body: []byte("0123456789")}); code != 200 || body != "01234" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("truncated: %d %q %v", code, body, err)
		}
		if code, _, body, took, err := do(Fault{SlowBody: 10 * time.Second, Body: []byte("0123456789")}); code != 200 || body != "0123456789" || err != nil || took != 10*time.Second {
			t.Errorf("slow: %d %q %v %v", code, body, err, took)
		}
		if _, _, body, took, err := do(Fault{SlowBody: 10 * time.Second, Truncate: true, Body: []byte("0123456789")}); body != "01234" || err == nil || took != 5*time.Second {
			t.Errorf("slow and truncated: %q %v %v", body, err, took)
		}
		odd := http.Header{"x-app-rate-limit": {"0:0,-1:1"}, "Retry-After": {"1", "2"}, "X-Method-Rate-Limit": nil}
		if _, h, _, _, _ := do(Fault{Kind: Method, Header: odd}); h.Get("X-App-Rate-Limit") != "0:0,-1:1" || len(h["Retry-After"]) != 2 || h["X-Method-Rate-Limit"] != nil {
			t.Errorf("odd headers: %v", h)
		}
		if code, _, body, _, _ := do(Fault{Status: 404, Schema: Newer}); code != 404 || body != `{"httpStatus":404,"errorCode":"NOT_FOUND","message":"Data not found","implementationDetails":"filtered"}` {
			t.Errorf("R22: %d %s", code, body)
		}
		if code, _, body, _, err := do(Fault{Status: 204}); code != 204 || body != "" || err != nil {
			t.Errorf("204: %d %q %v", code, body, err)
		}
		if code, _, _, _, _ := do(Fault{Times: 1, Chance: 1e-12, Status: 500}); code != 200 {
			t.Errorf("a fault that has no chance happened: %d", code)
		}
	})
}

func TestFaultSelection(t *testing.T) {
	run := func(faults ...Fault) string {
		c := caller{t, newEdge(t, Config{Faults: faults, AppLimits: []Rule{{Limit: NoLimit}}})}
		var got strings.Builder
		for i := range 6 {
			label := []string{status, challenger}[i%2]
			fmt.Fprint(&got, c.call(0, []string{"k", "j"}[i/3], []string{"euw1", "na1"}[i/2%2], label).Status, " ")
		}
		return got.String()
	}
	for _, tc := range []struct {
		name   string
		faults []Fault
		want   string
	}{
		{"times", []Fault{{Status: 500, Times: 2}}, "500 500 200 200 200 200 "},
		{"skip", []Fault{{Status: 500, Skip: 1, Times: 2}}, "200 500 500 200 200 200 "},
		{"key", []Fault{{Status: 500, Key: "j"}}, "200 200 200 500 500 500 "},
		{"host", []Fault{{Status: 500, Host: "na1"}}, "200 200 500 500 200 200 "},
		{"method", []Fault{{Status: 500, Method: challenger}}, "200 500 200 500 200 500 "},
		{"service", []Fault{{Status: 500, Method: "lol-status-v4"}}, "500 200 500 200 500 200 "},
		{"first wins", []Fault{{Status: 500, Times: 1}, {Status: 503, Times: 1}}, "500 503 200 200 200 200 "},
	} {
		if got := run(tc.faults...); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	e := newEdge(t, Config{AppLimits: []Rule{{Limit: NoLimit}}, Script: func(c Call) *Fault {
		if c.Host == "na1" {
			return &Fault{Kind: Server}
		}
		return nil
	}})
	if a, b := (caller{t, e}).call(0, "k", "na1", status), (caller{t, e}).call(0, "k", "euw1", status); a.Kind != Server || b.Kind != None {
		t.Errorf("script: %v %v", a.Kind, b.Kind)
	}
	hits := func(seed uint64) (n int) {
		c := caller{t, newEdge(t, Config{Seed: seed, Faults: []Fault{{Status: 500, Chance: .1}}, AppLimits: []Rule{{Limit: NoLimit}}})}
		for range 2000 {
			if c.call(0, "k", "euw1", status).Status == 500 {
				n++
			}
		}
		return n
	}
	if a, b := hits(1), hits(1); a != b || a < 150 || a > 250 {
		t.Errorf("a chance of 0.1 struck %d and %d times of 2000", a, b)
	}
	// A call that a limit refuses leaves the fault armed.
	c := one(t, "1:1", Fixed)
	c.want(0, 200, None, "1:1")
	if err := c.e.Inject(Fault{Status: 503, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c.want(1, 429, Application, "2:1")
	c.want(time.Second, 503, None, "1:1")
	for _, f := range []Fault{{Chance: 2}, {Status: 42}, {Kind: 77}, {Kind: Method, Status: 500}, {Times: -1}, {Method: "nope"}} {
		if err := c.e.Inject(f); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
}
