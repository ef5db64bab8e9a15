package riotsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"riftrelay/route"
)

// start is when the pure tests begin; 7 s past a full minute, so that aligned windows differ from fixed ones.
var start = time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)

var table = route.Default()

func method(t testing.TB, label string) *route.Method {
	t.Helper()
	for _, m := range table.Methods() {
		if m.String() == label {
			return m
		}
	}
	t.Fatalf("no method %q in the table", label)
	return nil
}

const (
	status     = "/lol/status/v4/platform-data"
	challenger = "/lol/league/v4/challengerleagues/by-queue/{queue}"
	rso        = "/riot/account/v1/accounts/me"
	getCode    = "/lol/tournament/v5/codes/{tournamentCode}"
	putCode    = "PUT /lol/tournament/v5/codes/{tournamentCode}"
)

func newEdge(t testing.TB, cfg Config) *Edge {
	t.Helper()
	if cfg.Table == nil {
		cfg.Table = table
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// caller makes calls to a pure edge at times after start.
type caller struct {
	t testing.TB
	e *Edge
}

func (c caller) call(after time.Duration, key, host, label string) Answer {
	c.t.Helper()
	return c.e.Arrive(start.Add(after), Call{Key: key, Host: host, Method: method(c.t, label)})
}

func (c caller) want(after time.Duration, code int, kind Kind, appCount string) Answer {
	c.t.Helper()
	a := c.call(after, "k", "euw1", status)
	if a.Status != code || a.Kind != kind || a.AppCount != appCount {
		c.t.Errorf("at %v: %d %v, app count %q; want %d %v %q", after, a.Status, a.Kind, a.AppCount, code, kind, appCount)
	}
	return a
}

func one(t testing.TB, limit string, kind WindowKind) caller {
	return caller{t, newEdge(t, Config{AppLimits: []Rule{{Limit: limit}}, MethodLimits: []Rule{{Limit: NoLimit}}, Windows: kind, Intervals: true})}
}

const ms = time.Millisecond

func TestR1FixedWindowOpensAtArrivalAndLastsW(t *testing.T) {
	c := one(t, "2:10", Fixed)
	c.want(3*time.Second, 200, None, "1:10")
	c.want(12999*ms, 200, None, "2:10") // still the window of 3 s
	c.want(13*time.Second, 200, None, "1:10")
	c.want(13*time.Second, 200, None, "2:10") // 3 in 1 ms: windows are fixed
	c.want(22999*ms, 429, Application, "3:10")
	c.want(40*time.Second, 200, None, "1:10") // opened by this call, not at 33 s
	c.want(49999*ms, 200, None, "2:10")
}

func TestR1EntriesAreIndependent(t *testing.T) {
	c := one(t, "1:1,2:10", Fixed)
	c.want(0, 200, None, "1:10,1:1")
	c.want(500*ms, 429, Application, "2:10,2:1") // the 1 s window refuses, the 10 s window counts it too
	a := c.want(time.Second, 429, Application, "3:10,1:1")
	if a.RetryAfter != "9" {
		t.Errorf("Retry-After %q, want that of the window that is full: 9", a.RetryAfter)
	}
}

func TestR2CountsBeforeCheckAndWhileRejecting(t *testing.T) {
	c := one(t, "20:1", Fixed)
	for i := range 36 {
		want, kind := 200, None
		if i >= 20 {
			want, kind = 429, Application
		}
		c.want(time.Duration(i)*ms, want, kind, fmt.Sprintf("%d:1", i+1))
	}
	c.want(time.Second, 200, None, "1:1") // the rejections didn't move the end
}

func TestR2ApplicationRejectionRaisesMethodCounter(t *testing.T) {
	e := newEdge(t, Config{AppLimits: []Rule{{Limit: "1:1"}}, MethodLimits: []Rule{{Limit: "3:60"}}})
	c := caller{t, e}
	for i, want := range []struct {
		after  time.Duration
		kind   Kind
		method string
	}{{0, None, "1:60"}, {1, Application, "2:60"}, {2, Application, "3:60"}, {time.Second, Method, "4:60"}} {
		if a := c.call(want.after, "k", "euw1", status); a.Kind != want.kind || a.MethodCount != want.method {
			t.Errorf("call %d: %v %q, want %v %q", i, a.Kind, a.MethodCount, want.kind, want.method)
		}
	}
}

func TestR3WhatCountsAndCarriesHeaders(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   Fault
		code    int
		counted bool
		headers bool
	}{
		{"200", Fault{}, 200, true, true},
		{"404", Fault{Status: 404}, 404, true, true},
		{"503 of the service", Fault{Status: 503}, 503, true, true},
		{"429 application", Fault{Kind: Application}, 429, true, true},
		{"429 method", Fault{Kind: Method}, 429, true, true},
		{"429 service", Fault{Kind: Service}, 429, true, true},
		{"429 untyped", Fault{Kind: Untyped}, 429, true, true},
		{"429 server", Fault{Kind: Server}, 429, false, false},
		{"401", Fault{Status: 401}, 401, false, false},
		{"403", Fault{Status: 403}, 403, false, false},
		{"gateway 502", Fault{Gateway: true}, 502, false, false},
		{"gateway 524 after counting", Fault{Gateway: true, Status: 524, Count: CountYes}, 524, true, false},
		{"reset", Fault{Reset: true}, 0, true, false},
		{"reset before counting", Fault{Reset: true, Count: CountNo}, 0, false, false},
		{"without headers", Fault{Bare: true}, 200, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEdge(t, Config{Faults: []Fault{tc.fault}})
			a := caller{t, e}.call(0, "k", "euw1", status)
			has := a.AppLimit != "" && a.AppCount != "" && a.MethodLimit != "" && a.MethodCount != ""
			none := a.AppLimit == "" && a.AppCount == "" && a.MethodLimit == "" && a.MethodCount == ""
			if a.Status != tc.code || a.Counted != tc.counted || has != tc.headers || none == tc.headers {
				t.Errorf("got %+v", a)
			}
			e.ClearFaults()
			next := caller{t, e}.call(0, "k", "euw1", status)
			if got := strings.HasPrefix(next.MethodCount, "2:"); got != tc.counted {
				t.Errorf("next method count %q, counted should be %v", next.MethodCount, tc.counted)
			}
		})
	}
}

func TestR4Scopes(t *testing.T) {
	e := newEdge(t, Config{
		AppLimits: []Rule{{Limit: "9:10"}}, MethodLimits: []Rule{{Limit: "8:10"}},
		ServiceLimits: []Rule{{Host: "euw1", Method: status, Limit: "3:10"}},
	})
	c := caller{t, e}
	for i, want := range []struct{ key, host, method, app, meth string }{
		{"k", "euw1", status, "1:10", "1:10"},
		{"k", "euw1", challenger, "2:10", "1:10"}, // application: key + host
		{"k", "na1", status, "1:10", "1:10"},      // hosts have separate budgets
		{"j", "euw1", status, "1:10", "1:10"},     // so have keys
		{"k", "euw1", status, "3:10", "2:10"},     // method: key + host + method
	} {
		a := c.call(0, want.key, want.host, want.method)
		if a.Status != 200 || a.AppCount != want.app || a.MethodCount != want.meth {
			t.Errorf("call %d: %d app %q method %q, want 200 %q %q", i, a.Status, a.AppCount, a.MethodCount, want.app, want.meth)
		}
	}
	if a := c.call(0, "l", "euw1", status); a.Kind != Service || a.Own || a.RetryAfter != "10" || a.AppCount != "1:10" {
		t.Errorf("fourth call on the service, by a third key: %+v", a)
	}
	if a := c.call(0, "l", "euw1", challenger); a.Status != 200 {
		t.Errorf("another method of the host: %+v", a)
	}
}

func TestR5RSOHasOneMethodBudgetForAllUsers(t *testing.T) {
	c := caller{t, newEdge(t, Config{Keys: map[string]string{}, MethodLimits: []Rule{{Limit: "2:10"}}})}
	for i, want := range []int{200, 200, 429} {
		a := c.call(0, fmt.Sprint("ignored", i), "europe", rso)
		if a.Status != want || a.AppLimit != "" || a.AppCount != "" || a.MethodLimit != "2:10" || a.MethodCount != fmt.Sprintf("%d:10", i+1) {
			t.Errorf("call %d: %+v", i, a)
		}
	}
}

func TestR6LimitsDifferAndChangeBothWays(t *testing.T) {
	e := newEdge(t, Config{MethodLimits: []Rule{{Limit: NoLimit}}, AppLimits: []Rule{{Limit: "5:10"}, {Host: "kr", Limit: "7:10"}, {Key: "j", Limit: "9:10"}}})
	c := caller{t, e}
	if a := c.call(0, "k", "kr", status); a.AppLimit != "7:10" {
		t.Errorf("kr: %q", a.AppLimit)
	}
	if a := c.call(0, "j", "kr", status); a.AppLimit != "9:10" {
		t.Errorf("key j: %q, want the last rule that fits", a.AppLimit)
	}
	c.want(0, 200, None, "1:10")
	c.want(0, 200, None, "2:10")
	set := func(limit string) {
		if err := e.SetAppLimit("k", "euw1", limit); err != nil {
			t.Fatal(err)
		}
	}
	set("2:10,100:60") // lowered in mid-window, and a window more
	c.want(1, 429, Application, "1:60,3:10")
	set("4:10")
	c.want(2, 200, None, "4:10")
	set(NoLimit)
	c.want(3, 200, None, "")
	if err := e.SetMethodLimit("", "", "no-such-v1", "1:1"); err == nil || !strings.Contains(err.Error(), "no-such-v1") {
		t.Errorf("unknown method: %v", err)
	}
	if err := e.SetMethodLimit("", "euw1", status, "1:10"); err != nil {
		t.Fatal(err)
	}
	if a := c.call(4, "k", "euw1", status); a.MethodCount != "1:10" {
		t.Errorf("method limit set at run time: %+v", a)
	}
}

func TestR7VerbAndTemplateAreTheMethod(t *testing.T) {
	c := caller{t, newEdge(t, Config{})}
	c.call(0, "k", "americas", getCode)
	if a := c.call(0, "k", "americas", putCode); !strings.HasPrefix(a.MethodCount, "1:") {
		t.Errorf("PUT shares the budget of GET: %+v", a)
	}
	other := route.Default() // another table: the same methods by name
	for _, m := range other.Methods() {
		if m.String() == putCode {
			if a := c.e.Arrive(start, Call{Key: "k", Host: "americas", Method: m}); !strings.HasPrefix(a.MethodCount, "2:") {
				t.Errorf("the same method of another table has a budget of its own: %+v", a)
			}
		}
	}
}

func TestR8BudgetSharedByHosts(t *testing.T) {
	e := newEdge(t, Config{Shared: []Shared{{"tft-match-v1", []string{"asia", "sea"}}}, Arrivals: -1})
	c := caller{t, e}
	const m = "/tft/match/v1/matches/{matchId}"
	for i, host := range []string{"asia", "sea", "europe", "asia"} {
		a := c.call(0, "k", host, m)
		if want := []string{"1:10", "2:10", "1:10", "3:10"}[i]; a.MethodCount != want {
			t.Errorf("%s: %q, want %q", host, a.MethodCount, want)
		}
		if want := []string{"1:1", "1:1", "1:1", "2:1"}[i]; !strings.HasSuffix(a.AppCount, want) {
			t.Errorf("%s: application %q, want %q: only methods share", host, a.AppCount, want)
		}
	}
	for _, i := range e.WorstIntervals() {
		if i.Kind == Method && i.Host == "asia" && i.Calls != 3 {
			t.Errorf("shared budget: %+v, want 3 calls", i)
		}
	}
}
