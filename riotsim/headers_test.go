package riotsim

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

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
		if got, err := parseLimits(a.AppLimit); err != nil || len(got) != 3 || got[1] != (Limit{1000, 10 * time.Second}) {
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
		a.writeHeader(h)
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
