package riftrelay_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"riftrelay"
)

// What a Transport costs on top of the http.Transport below it, 5 µs and 12
// allocations a call at most.
//
//	go test -run - -bench Overhead .
//
// docs/performance.md has figures.

// maxAllocs is held by TestOverheadAllocations.
const maxAllocs = 12

// loopback is a server on a real socket that answers as Riot does, and two
// clients of it over the same connections: one by a Transport.
func loopback(tb testing.TB) (plain, ours func()) {
	tb.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, values := range wide {
			h[name] = values
		}
		h["Content-Type"] = []string{"application/json"}
		for _, name := range []string{"Vary", "Strict-Transport-Security", "X-Riot-Edge-Trace-Id", "Cf-Ray", "Server"} { // as many as Riot sends (R15)
			h[name] = []string{"x"}
		}
		io.WriteString(w, "{}")
	}))
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}, Pacing: riftrelay.PacingBurst})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close(); base.CloseIdleConnections(); srv.Close() })
	caller := func(rt http.RoundTripper, url string) func() {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			tb.Fatal(err)
		}
		req.Header["X-Riot-Token"] = []string{oneKey}
		return func() {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				tb.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	const path = "/lol/status/v4/platform-data"
	plain = caller(base, srv.URL+path)
	ours = caller(&riftrelay.Transport{Limiter: l, Base: base, Upstream: srv.URL}, "https://euw1.api.riotgames.com"+path)
	for range 10 {
		plain()
		ours()
	}
	return plain, ours
}

// The server's allocations are in both counts.
func TestOverheadAllocations(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates as well: only that it runs is tested")
	}
	plain, ours := loopback(t)
	const runs = 200
	// Of several counts the least: whatever else runs only adds.
	least := func(f func()) float64 {
		n := testing.AllocsPerRun(runs, f)
		for range 4 {
			n = min(n, testing.AllocsPerRun(runs, f))
		}
		return n
	}
	without, with := least(plain), least(ours)
	t.Logf("%.0f allocations a call without, %.0f with", without, with)
	if more := with - without; more > maxAllocs && !raceEnabled {
		t.Errorf("%.0f allocations more than a plain transport; allowed: %d", more, maxAllocs)
	}
}

// BenchmarkOverhead returns the median of the differences between calls of either
// kind, taken in turns: what disturbs one disturbs the other.
func BenchmarkOverhead(b *testing.B) {
	plain, ours := loopback(b)
	took := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	var more, base []time.Duration
	for b.Loop() {
		p, o := took(plain), took(ours)
		o2, p2 := took(ours), took(plain)
		more, base = append(more, (o+o2-p-p2)/2), append(base, (p+p2)/2)
	}
	slices.Sort(more)
	slices.Sort(base)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(more[len(more)/2]), "ns-more/call")
	b.ReportMetric(float64(base[len(base)/2]), "ns-plain/call")
}
