package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// BenchmarkAdmit measures what a call costs: for replicas, three to a key, that
// contend for it with two application windows and one of the method. Each asks
// and reports what became of the permits of its call before; what they learned is
// known. cpu-µs is the server's processor time for each call, its share of the
// network included; script-µs the script's alone by the server's own clock, which
// counts what else runs. A server that is busy is asked by 24 at once: it costs
// less, as nothing gets cold, and is what sizes are reckoned by.
//
//	go test ./redisstore -run - -bench Admit -benchtime 8000x
func BenchmarkAdmit(b *testing.B) {
	for _, c := range []struct {
		name     string
		replicas int
	}{{"idle", 3}, {"busy", 24}} {
		for _, permits := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/permits=%d", c.name, permits), func(b *testing.B) { benchmarkAdmit(b, c.replicas, permits) })
		}
	}
}

// asker is a replica that asks for permits of one key.
type asker struct {
	store   *Store
	ask     limit.Ask
	limits  [2][]limit.Quota
	last    limit.Reply
	asked   int
	granted int
}

func newAsker(s *Store, i, permits int) *asker {
	return &asker{
		store: s,
		ask: limit.Ask{
			Budget: limit.Budget{Key: fmt.Sprintf("%016x", i/3), Host: "euw1"}, Replica: fmt.Sprint("replica-", i%3),
			Margin: 20 * time.Millisecond, Horizon: 50 * time.Millisecond,
			Demands: []limit.Demand{{Method: "/lol/match/v5/matches/{matchId}", Want: [2]int{permits, 0}}},
		},
		limits: [2][]limit.Quota{
			{{N: 500 * permits, W: 10 * time.Second}, {N: 30_000 * permits, W: 600 * time.Second}},
			{{N: 2000 * permits, W: 10 * time.Second}},
		},
	}
}

func (a *asker) admit(b *testing.B) {
	ask := a.ask
	for _, g := range a.last.Grants {
		ask.Done = append(ask.Done, limit.Done{Stub: g.Stub, Ago: 5 * time.Millisecond})
	}
	if a.asked < 4 { // until the store knows the limits
		f := limit.Fact{SentAgo: 10 * time.Millisecond, Passed: true, Counted: true, Limits: a.limits[0]}
		g := f
		g.Method, g.Limits = ask.Demands[0].Method, a.limits[1]
		ask.Facts = []limit.Fact{f, g}
	}
	r, err := a.store.Admit(b.Context(), &ask)
	if err != nil {
		b.Error(err)
	}
	a.last = r
	a.asked++
	a.granted += len(r.Grants)
}

func benchmarkAdmit(b *testing.B, replicas, permits int) {
	server := startServer(b)
	s := patient(b, "unix://"+server.Socket(), nil)
	askers := make([]*asker, replicas)
	for i := range askers {
		askers[i] = newAsker(s, i, permits)
	}
	for range 100 {
		for _, a := range askers {
			a.admit(b)
		}
		time.Sleep(3 * time.Millisecond)
	}
	for _, a := range askers {
		a.granted = 0
	}
	server.do("CONFIG", "RESETSTAT")
	before := cpuSeconds(b, server)
	b.ResetTimer()
	if replicas == 3 { // one after the other
		for i := range b.N {
			askers[i%3].admit(b)
		}
	} else {
		var all sync.WaitGroup
		for _, a := range askers {
			all.Go(func() {
				for range (b.N + replicas - 1) / replicas {
					a.admit(b)
				}
			})
		}
		all.Wait()
	}
	granted := 0
	for _, a := range askers {
		granted += a.granted
	}
	calls := float64(b.N)
	b.ReportMetric((cpuSeconds(b, server)-before)*1e6/calls, "cpu-µs")
	b.ReportMetric(figure(b, server, "commandstats", `cmdstat_evalsha:.*usec_per_call=([0-9.]+)`), "script-µs")
	b.ReportMetric(float64(granted)/calls, "permits")
}

func cpuSeconds(b *testing.B, s *server) float64 {
	return figure(b, s, "cpu", `used_cpu_sys_main_thread:([0-9.]+)`) + figure(b, s, "cpu", `used_cpu_user_main_thread:([0-9.]+)`)
}

func figure(b *testing.B, s *server, section, pattern string) float64 {
	b.Helper()
	text, _ := s.do("INFO", section).(string)
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		b.Fatalf("INFO %s has no %s", section, pattern)
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return f
}
