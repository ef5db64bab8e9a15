package riftrelay_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/route"
)

// What admission costs a call: Acquire, Sent and Observe with nobody in its
// way, 1 µs at most and without an allocation, whatever else the limiter holds.
//
//	go test -run - -bench Admission -benchmem .
//
// docs/performance.md has figures.

// wide is an answer whose limits no benchmark reaches.
var wide = http.Header{
	"X-App-Rate-Limit":          {"100000000:10,500000000:600"},
	"X-App-Rate-Limit-Count":    {"1:10,1:600"},
	"X-Method-Rate-Limit":       {"100000000:10"},
	"X-Method-Rate-Limit-Count": {"1:10"},
}

// BenchmarkAdmissionScopes calls nine methods, and then all in turn, while more
// and more scopes are known.
func BenchmarkAdmissionScopes(b *testing.B) {
	for _, c := range []struct{ keys, hosts, methods, scopes int }{
		{1, 1, 9, 10}, {1, 20, 49, 1_000}, {1, 1_000, 49, 50_000},
		{100, 1, 9, 1_000}, {100, 10, 49, 50_000},
	} {
		l, routes := limiterWith(b, c.keys, c.hosts, c.methods)
		if n := len(l.Snapshot().Scopes); n != c.scopes {
			b.Fatalf("%d scopes, want %d", n, c.scopes)
		}
		name := fmt.Sprintf("keys=%d/scopes=%d/called=", c.keys, c.scopes)
		b.Run(name+"nine", func(b *testing.B) { admissions(b, l, routes[:9]) })
		b.Run(name+"all", func(b *testing.B) { admissions(b, l, routes) })
	}
}

// BenchmarkAdmissionWaiters calls some methods while calls wait for another of
// the same host, whose limit is used up.
func BenchmarkAdmissionWaiters(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		l, routes := limiterWith(b, 1, 1, 10)
		end := queue(b, l, routes[9], n)
		b.Run(fmt.Sprintf("waiters=%d", n), func(b *testing.B) { admissions(b, l, routes[:9]) })
		end()
	}
}

// BenchmarkAdmissionContended has every processor at it at once.
func BenchmarkAdmissionContended(b *testing.B) {
	l, routes := limiterWith(b, 1, 1, 9)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if err := admission(l, routes[i%len(routes)], riftrelay.Options{}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkAdmissionHooks has nobody listen, and one and two that do nothing.
func BenchmarkAdmissionHooks(b *testing.B) {
	for n := range 3 {
		hooks := make([]riftrelay.Hooks, n)
		for i := range hooks {
			hooks[i] = riftrelay.Hooks{Admission: func(context.Context, riftrelay.AdmissionEvent) {}}
		}
		l, r := mustNewQuietly(b, riftrelay.JoinHooks(hooks...))
		b.Run(fmt.Sprint("hooks=", n), func(b *testing.B) { admissions(b, l, []route.Route{r}) })
	}
}

func admissions(b *testing.B, l *riftrelay.Limiter, routes []route.Route) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := admission(l, routes[i], riftrelay.Options{}); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(routes) {
			i = 0
		}
	}
}

func admission(l *riftrelay.Limiter, r route.Route, o riftrelay.Options) error {
	p, err := l.Acquire(context.Background(), r, o)
	if err != nil {
		return err
	}
	p.Sent()
	p.Observe(http.StatusOK, wide)
	return nil
}

// limiterWith makes a limiter that knows the limits of every key for the first
// methods of so many hosts: keys × hosts × (1 + methods) scopes.
func limiterWith(tb testing.TB, keys, hosts, methods int) (*riftrelay.Limiter, []route.Route) {
	tb.Helper()
	t, err := route.New(route.Options{Hosts: hostNames(hosts)})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := riftrelay.Config{Table: t, Pacing: riftrelay.PacingBurst, QueueCapacity: 200_000, QueueTotal: 200_000, AdmissionTimeout: -1}
	for i := range keys {
		cfg.Keys = append(cfg.Keys, riftrelay.Key{Value: fmt.Sprintf("RGAPI-%d", i)})
	}
	l, err := riftrelay.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	var routes []route.Route
	for _, host := range t.Hosts() {
		n := 0
		for _, m := range t.Methods() {
			if n == methods || m.Auth == route.AuthRSO {
				continue
			}
			n++
			r := route.Route{Host: host, Method: m}
			routes = append(routes, r)
			for key := range keys {
				if err := admission(l, r, riftrelay.Options{Key: riftrelay.Key{Name: fmt.Sprintf("key%d", key)}}); err != nil {
					tb.Fatal(err)
				}
			}
		}
		if n < methods {
			tb.Fatalf("the table has %d methods with keys, want %d", n, methods)
		}
	}
	return l, routes
}

// hostNames are names that no table has, so that every method is served there.
func hostNames(n int) string {
	letter := func(i int) string { return string(rune('a' + i%26)) }
	names := make([]string, n)
	for i := range names {
		names[i] = "x" + letter(i/26/26) + letter(i/26) + letter(i) + "z"
	}
	return strings.Join(names, ",")
}
