package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"riftrelay/limit"
)

// BenchmarkAdmit measures what a call costs: for three replicas that contend
// for a key with two application windows and one of the method, which report
// what became of the permits of the call before; what they learned is known. cpu-µs is the server's
// processor time for each, its share of the network included; script-µs the
// script's alone by the server's own clock, which counts what else runs.
//
//	go test ./redisstore -run - -bench Admit -benchtime 20000x
func BenchmarkAdmit(b *testing.B) {
	for _, permits := range []int{1, 50} {
		for name, burst := range map[string]float64{"spread": 0, "burst": 1} {
			b.Run(fmt.Sprintf("%s/permits=%d", name, permits), func(b *testing.B) { benchmarkAdmit(b, permits, burst) })
		}
	}
}

func benchmarkAdmit(b *testing.B, permits int, burst float64) {
	server := startServer(b)
	s := patient(b, "unix://"+server.Socket(), nil)
	limits := []limit.Quota{{N: 500 * permits, W: 10 * time.Second}, {N: 30_000 * permits, W: 600 * time.Second}}
	method := []limit.Quota{{N: 2000 * permits, W: 10 * time.Second}}
	var last [3]limit.Reply
	ask := func(i int) {
		a := &limit.Ask{
			Budget: aBudget, Replica: fmt.Sprint("replica-", i%3), Burst: burst,
			Margin: 20 * time.Millisecond, Trip: 10 * time.Millisecond, Horizon: 50 * time.Millisecond,
			Demands: []limit.Demand{{Method: "/lol/match/v5/matches/{matchId}", Want: [2]int{permits, 0}}},
		}
		for _, g := range last[i%3].Grants {
			a.Done = append(a.Done, limit.Done{Stub: g.Stub, Ago: 5 * time.Millisecond})
		}
		if i < 10 {
			f := limit.Fact{SentAgo: 10 * time.Millisecond, Passed: true, Counted: true, Limits: limits}
			g := limit.Fact{Method: a.Demands[0].Method, SentAgo: 10 * time.Millisecond, Passed: true, Counted: true, Limits: method}
			a.Facts = []limit.Fact{f, g}
		}
		r, err := s.Admit(b.Context(), a)
		if err != nil {
			b.Fatal(err)
		}
		last[i%3] = r
	}
	for i := range 300 {
		ask(i)
		time.Sleep(time.Millisecond)
	}
	granted := 0
	server.do("CONFIG", "RESETSTAT")
	before := cpuSeconds(b, server)
	for i := 0; b.Loop(); i++ {
		ask(i)
		granted += len(last[i%3].Grants)
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
