package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// What the page costs the relay: one second of 28 hosts with 60 busy methods
// each, without viewers and with. 1 % of a core is 10 ms.
//
//	go test -run - -bench Sample ./internal/dashboard
func BenchmarkSample(b *testing.B) {
	for _, viewers := range []int{0, 1} {
		b.Run(fmt.Sprintf("viewers=%d", viewers), func(b *testing.B) {
			d := New(Options{})
			limiter, call := busy(b, 28, 60, d)
			d.Watch(limiter.Snapshot)
			now := time.Now()
			for range 3 {
				call()
				d.sample(now)
				now = now.Add(time.Second)
			}
			if viewers > 0 {
				if _, _, ok := d.join("build"); !ok {
					b.Fatal("no room")
				}
			}
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				b.StopTimer()
				call()
				f := d.tail
				b.StartTimer()
				d.sample(now)
				now = now.Add(time.Second)
				size = len(f.text)
			}
			b.ReportMetric(float64(size), "B/message")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/sample")
		})
	}
}

// BenchmarkSnapshot is the part of it that holds the limiter's lock, or makes
// what it read there into a Snapshot.
func BenchmarkSnapshot(b *testing.B) {
	limiter, call := busy(b, 28, 60, nil)
	call()
	for b.Loop() {
		limiter.Snapshot()
	}
}

// BenchmarkHooks is what the page costs a call.
func BenchmarkHooks(b *testing.B) {
	d := New(Options{})
	r := route.Route{Host: "euw1", Method: route.Default().Methods()[0]}
	b.ReportAllocs()
	for b.Loop() {
		d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: r, Key: "main", Try: 1, Waited: time.Millisecond, Outcome: riftrelay.OutcomeAdmitted})
		d.Answer(context.Background(), riftrelay.AnswerEvent{Route: r, Key: "main", Try: 1, Status: 200})
	}
}

var limits = http.Header{
	"X-App-Rate-Limit":          {"100000:10,5000000:600"},
	"X-App-Rate-Limit-Count":    {"1:10,1:600"},
	"X-Method-Rate-Limit":       {"2000:10,30000:600"},
	"X-Method-Rate-Limit-Count": {"1:10,1:600"},
}

// busy is a limiter, and what calls every method of every host once.
func busy(tb testing.TB, hosts, methods int, hooks *Dashboard) (limiter *riftrelay.Limiter, call func()) {
	tb.Helper()
	var names []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("host%c%c", 'a'+i/26, 'a'+i%26))
	}
	table, err := route.New(route.Options{Hosts: strings.Join(names, ",")})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Name: "main", Value: "RGAPI-x"}}}
	if hooks != nil {
		cfg.Hooks = hooks.Hooks()
	}
	limiter, err = riftrelay.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { limiter.Close() })
	var routes []route.Route
	for _, host := range names {
		n := 0
		for _, m := range table.Methods() {
			if n < methods && m.Auth != route.AuthRSO {
				routes = append(routes, route.Route{Host: host, Method: m})
				n++
			}
		}
	}
	return limiter, func() {
		for _, r := range routes {
			p, err := limiter.Acquire(context.Background(), r, riftrelay.Options{})
			if err != nil {
				tb.Fatal(err)
			}
			p.Sent()
			p.Observe(200, limits)
			if hooks != nil {
				hooks.Answer(context.Background(), riftrelay.AnswerEvent{Route: r, Key: "main", Try: 1, Status: 200})
			}
		}
	}
}
