package riotsim

import (
	"fmt"
	"net/http"
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

func TestR11OrderAndLengthOfHeaders(t *testing.T) {
	for _, tc := range []struct {
		order         Order
		counts        Counts
		limits, count string
	}{
		{Descending, AllCounts, "100:120,20:1", "1:120,1:1"},
		{Ascending, AllCounts, "20:1,100:120", "1:1,1:120"},
		{Descending, ShortestCount, "100:120,20:1", "1:1"},
		{Ascending, NoCounts, "20:1,100:120", ""},
	} {
		a := caller{t, newEdge(t, Config{Order: tc.order, Counts: tc.counts})}.call(0, "k", "euw1", status)
		if a.AppLimit != tc.limits || a.AppCount != tc.count {
			t.Errorf("order %d counts %d: %q %q, want %q %q", tc.order, tc.counts, a.AppLimit, a.AppCount, tc.limits, tc.count)
		}
	}
	seen := map[string]bool{}
	c := caller{t, newEdge(t, Config{Order: Shuffled, AppLimits: []Rule{{Limit: "100:1,1000:10,60000:600"}}})}
	for i := range 200 {
		a := c.call(time.Duration(i), "k", "euw1", status)
		seen[a.AppLimit] = true
		if got, err := ParseLimits(a.AppLimit); err != nil || len(got) != 3 || got[1] != (Limit{1000, 10 * time.Second}) {
			t.Fatalf("shuffled limits %q: %v %v", a.AppLimit, got, err)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d orders of 3 entries seen, want 6", len(seen))
	}
}

func TestR13TypesAndR14RetryAfter(t *testing.T) {
	for _, tc := range []struct {
		fault       Fault
		kind, after string
	}{
		{Fault{Kind: Application}, "application", "2"},
		{Fault{Kind: Method, Wait: 1250 * ms}, "method", "2"},
		{Fault{Kind: Service}, "service", "3"},
		{Fault{Kind: Server, Wait: 21 * time.Second}, "server", "21"},
		{Fault{Kind: Untyped}, "", ""},
		{Fault{Kind: Untyped, Wait: 40 * time.Second}, "", "40"},
		{Fault{Kind: Method, Wait: -1}, "method", ""},
		{Fault{Kind: Method, RetryAfter: RetryMissing}, "method", ""},
		{Fault{Kind: Method, RetryAfter: RetryZero}, "method", "0"},
		{Fault{Kind: Method, RetryAfter: RetryFraction, Wait: 1500 * ms}, "method", "1.500"},
		{Fault{Kind: Method, RetryAfter: RetryDate, Wait: 29500 * ms}, "method", "Sun, 01 Mar 2026 12:00:37 GMT"},
		{Fault{Kind: Method, RetryAfter: RetryGarbage}, "method", "soon"},
	} {
		a := caller{t, newEdge(t, Config{Faults: []Fault{tc.fault}})}.call(0, "k", "euw1", status)
		h := http.Header{}
		a.WriteHeader(h)
		if a.Status != 429 || h.Get("X-Rate-Limit-Type") != tc.kind || h.Get("Retry-After") != tc.after || a.Own {
			t.Errorf("%+v: %d %v, want type %q Retry-After %q", tc.fault, a.Status, h, tc.kind, tc.after)
		}
	}
	for i := range 50 { // R13: server says 5-21 s
		a := caller{t, newEdge(t, Config{Seed: uint64(i), Faults: []Fault{{Kind: Server}}})}.call(0, "k", "euw1", status)
		if a.Wait < 5*time.Second || a.Wait > 21*time.Second {
			t.Errorf("server: wait %v", a.Wait)
		}
	}
}

func TestR12HeadersCanBeAbsent(t *testing.T) {
	e := newEdge(t, Config{MethodLimits: []Rule{{Limit: NoLimit}}, Faults: []Fault{{Bare: true, Times: 1}}})
	c := caller{t, e}
	if a := c.call(0, "k", "euw1", status); a.AppLimit != "" || !a.Counted {
		t.Errorf("bare answer: %+v", a)
	}
	a := c.call(0, "k", "euw1", status)
	if a.AppCount != "2:120,2:1" || a.MethodLimit != "" {
		t.Errorf("after it: %+v, want both counted, and no header about a method without limit", a)
	}
}

func TestR18Keys(t *testing.T) {
	e := newEdge(t, Config{Keys: map[string]string{"good": Production}})
	c := caller{t, e}
	at := func(key string) string {
		a := c.call(0, key, "euw1", status)
		return fmt.Sprint(a.Status, " ", a.word, " ", a.Counted)
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want(at("good"), "200  true")
	want(at("other"), "401 Unknown apikey false")
	want(at(""), "401 Unknown apikey false")
	e.SetKey("good", 401)
	want(at("good"), "401 Unknown apikey false")
	e.SetKey("good", 403)
	want(at("good"), "403 Forbidden false")
	e.SetKey("good", 400)
	want(at("good"), "400 unknown apikey false")
	e.SetKey("good", 200)
	e.SetKey("other", 200)
	want(at("good"), "200  true")
	want(at("other"), "200  true")
	r := e.ReportAt(start)
	if r.Arrived != 8 || r.Counted != 3 || r.Refused != 5 || r.Violations != 0 {
		t.Errorf("report %+v", r.Totals)
	}
}
