package metrics

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// A client can name any path and, where they are forwarded, any host: neither
// makes a series.
func TestJunkMakesNoSeries(t *testing.T) {
	open, err := route.New(route.Options{ForwardUnknownHosts: true, ForwardUnknownPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Table: open})
	junk := func(from, to int) {
		for i := from; i < to; i++ {
			m.Started(route.Route{}, riftrelay.Normal)
			m.Admission(t.Context(), riftrelay.AdmissionEvent{Reason: riftrelay.ReasonInvalidRoute, Outcome: riftrelay.OutcomeRejected})
			m.Done(route.Route{}, riftrelay.Normal, 404, "relay", 0)

			host := "h" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
			r, err := open.Match("GET", host, fmt.Sprintf("/junk/%d", i))
			if err != nil {
				t.Fatal(err)
			}
			m.Started(r, riftrelay.Normal)
			m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "a", Outcome: riftrelay.OutcomeAdmitted})
			m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "a", Status: 404})
			m.Done(r, riftrelay.Normal, 404, "riot", 0)
		}
	}
	junk(0, 10)
	before := len(scrape(t, m))
	each := 500_000 // of paths and of hosts
	if raceEnabled {
		each = 20_000
	}
	junk(10, 10+each)
	if after := len(scrape(t, m)); after != before {
		t.Errorf("%d junk paths and hosts made %d series %d", 2*each, before, after)
	}
}

// The guard behind that: more children than any table has are not made.
func TestSeriesAreBounded(t *testing.T) {
	made := 0
	s := newSeries(-1, func(k int) int { made++; return k })
	whole := map[int]int{}
	for i := range most {
		whole[i] = i
	}
	s.ready.Store(&whole)
	for i := range 100 {
		if got := s.of(most + i); got != -1 {
			t.Fatalf("child %d beyond the bound, want the common one", got)
		}
	}
	if made != 1 || s.of(5) != 5 {
		t.Errorf("%d made, want 1", made)
	}
}

func TestSeriesConcurrently(t *testing.T) {
	var mu sync.Mutex
	made := map[int]int{}
	s := newSeries(-1, func(k int) *int { mu.Lock(); made[k]++; mu.Unlock(); return &k })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				if got := *s.of(i); got != i {
					t.Errorf("of(%d) = %d", i, got)
				}
			}
		})
	}
	all.Wait()
	for k, n := range made {
		if n != 1 {
			t.Errorf("child %d was made %d times", k, n)
		}
	}
}

// What one call costs in metrics: below 1 µs and without allocation.
//
//	go test -run - -bench . -benchmem ./internal/metrics
func BenchmarkCall(b *testing.B) {
	m, r := newMetrics(), at(b, "GET", "euw1", "/lol/status/v4/platform-data")
	for _, other := range []string{"kr", "na1", "br1", "oc1", "ru", "tr1"} {
		exercise(b, m, other)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Started(r, riftrelay.Normal)
		m.Admission(b.Context(), riftrelay.AdmissionEvent{Route: r, Key: "a", Waited: time.Millisecond, Outcome: riftrelay.OutcomeAdmitted})
		m.Answer(b.Context(), riftrelay.AnswerEvent{Route: r, Key: "a", Status: 200, Duration: 50 * time.Millisecond})
		m.Done(r, riftrelay.Normal, 200, "riot", 51*time.Millisecond)
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	m := newMetrics()
	exercise(t, m, "euw1")
	if n := testing.AllocsPerRun(100, func() { exercise(t, m, "euw1") }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

// The worst case that docs/metrics.md states: every method is called on each of its own hosts, with both priorities and
// one key, and is answered with one status.
func TestWorstCaseOfSeries(t *testing.T) {
	var limits riftrelay.Snapshot // an application limit of two windows, a method's of one
	for _, host := range table().Hosts() {
		limits.Scopes = append(limits.Scopes, riftrelay.ScopeState{Key: "a", Host: host, Windows: []riftrelay.WindowState{{Window: 1}, {Window: 2}}})
	}
	for _, method := range table().Methods() {
		for _, host := range method.Hosts {
			limits.Scopes = append(limits.Scopes, riftrelay.ScopeState{Key: "a", Host: host, Method: method.String(), Windows: []riftrelay.WindowState{{Window: 1}}})
		}
	}
	count := func(o Options) (pairs, samples int) {
		o.Table = table()
		m := New(o)
		for _, method := range o.Table.Methods() {
			for _, host := range method.Hosts {
				pairs++
				r := route.Route{Host: host, Method: method}
				for _, p := range []riftrelay.Priority{riftrelay.Normal, riftrelay.High} {
					m.Started(r, p)
					m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "a", Priority: p, Outcome: riftrelay.OutcomeAdmitted})
					m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "a", Status: 200, Priority: p})
					m.Done(r, p, 200, "riot", 0)
				}
			}
		}
		m.Watch(func() riftrelay.Snapshot { return limits })
		return pairs, len(scrape(t, m))
	}
	pairs, all := count(Options{})
	_, few := count(Options{WithoutEndpoints: true})
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("%d methods on their %d hosts are %d pairs", len(table().Methods()), len(table().Hosts()), pairs),
		fmt.Sprintf("That is %d series, and %d with `METRICS_ENDPOINTS=false`", all, few),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/metrics.md doesn't say %q", want)
		}
	}
}
