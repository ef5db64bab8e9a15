package replicas

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

var soak = flag.Duration("soak", 10*time.Second, "how long TestHours lasts")

// TestHours runs two relays for as long as -soak says, with clients of all kinds
// and an edge with faults. In each five minutes a key is replaced, a reload is
// asked for, the store is lost for a third of a minute, and connections on all
// ways meet chaos for as long. It prints a line a minute and figures to publish.
// Without -soak its minutes have two seconds.
func TestHours(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	s := newStormy(t, 2, redis.Addr)
	if err := s.edge.Inject(
		riotsim.Fault{Hang: 4 * time.Second, Chance: 0.001}, riotsim.Fault{Reset: true, Chance: 0.003},
		riotsim.Fault{Truncate: true, Chance: 0.003}, riotsim.Fault{SlowBody: time.Second, Chance: 0.003},
		riotsim.Fault{Status: 503, Chance: 0.003}, riotsim.Fault{Gateway: true, Chance: 0.003},
		riotsim.Fault{Bare: true, Chance: 0.01}, riotsim.Fault{Status: 404, Chance: 0.02},
		riotsim.Fault{Kind: riotsim.Service, Wait: time.Second, Chance: 0.0005}, riotsim.Fault{Kind: riotsim.Untyped, Chance: 0.0002},
		riotsim.Fault{Kind: riotsim.Server, Wait: time.Second, Chance: 0.0002},
	); err != nil {
		t.Fatal(err)
	}
	all := s.mix(30)
	time.Sleep(4 * time.Second)
	before := s.idle(all)
	all = s.mix(30)
	minute := min(time.Minute, *soak/5) // a short run has short ones
	began, first := time.Now(), s.edge.Report()
	last := first
	t.Logf("began %s, %v, two relays, %s, %d clients", began.UTC().Format("2006-01-02 15:04"), *soak, limitText, 60)
	for n := 0; time.Since(began) < *soak-minute/2; n++ {
		what := s.trouble(redis.Kill, redis.Start, n, minute)
		time.Sleep(time.Until(began.Add(time.Duration(n+1) * minute)))
		r, took := s.edge.Report(), recent(all, minute)
		var levels []string
		for _, p := range s.relays {
			levels = append(levels, p.level(t).String())
		}
		use := float64(r.Accepted-last.Accepted) / (limitRate * minute.Seconds())
		t.Logf("minute %d: %s; %d calls at Riot, use %.1f %%, own 429s %d, other 429s %d; p50 %v, p99 %v; %s", n+1, what, r.Arrived-last.Arrived, 100*use,
			r.Violations-last.Violations, r.Rejected.Total()-last.Rejected.Total()-r.Violations+last.Violations, ms(percentile(took, 50)), ms(percentile(took, 99)), strings.Join(levels, "; "))
		last = r
	}
	full := s.untilFull(time.Now())
	lasted, r := time.Since(began), s.edge.Report()
	s.idle(all)
	s.asBefore(before)
	s.judgeEdge(limitCalls / 2 * s.losses())
	for i, m := range all {
		t.Logf("relay %d: %s", i, m.tell(t))
	}
	took := recent(all, time.Hour*24)
	measured(t, "%v until %s on %d cores: %d calls at Riot, %d accepted, %d own 429s, use %.1f %%, full rate %v after the last trouble", lasted.Round(time.Second),
		time.Now().UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), r.Arrived-first.Arrived, r.Accepted-first.Accepted, r.Violations, 100*float64(r.Accepted-first.Accepted)/(limitRate*lasted.Seconds()), ms(full))
	measured(t, "clients' calls with 200: %d, p50 %v, p99 %v; keys replaced %d times; the store lost %d times", len(took), ms(percentile(took, 50)), ms(percentile(took, 99)), s.replaced-1, s.losses())
	for i, p := range s.relays {
		measured(t, "relay %d: processor time %.1f %% of a core", i, 100*(p.level(t).cpu-before[i].cpu)/lasted.Seconds())
		p.signal(t, syscall.SIGTERM)
		if err := p.wait(); err != nil {
			t.Errorf("relay %d ends with %v", i, err)
		}
	}
}

// recent returns how long calls took that were answered lately, sorted.
func recent(all []*mixed, lately time.Duration) (took []time.Duration) {
	from := time.Now().Add(-lately)
	for _, m := range all {
		m.mu.Lock()
		for _, c := range m.served {
			if c.began.Add(c.took).After(from) {
				took = append(took, c.took)
			}
		}
		m.mu.Unlock()
	}
	slices.Sort(took)
	return took
}

// trouble makes what belongs into the nth minute, and says what that was.
func (s *stormy) trouble(kill func(), start func() error, n int, minute time.Duration) string {
	s.t.Helper()
	switch n % 5 {
	case 1:
		s.replaceKey()
		return "key replaced"
	case 2:
		for _, p := range s.relays {
			p.signal(s.t, syscall.SIGHUP)
		}
		return "reload"
	case 3:
		kill()
		time.Sleep(minute / 3)
		if err := start(); err != nil {
			s.t.Fatal(err)
		}
		return fmt.Sprint("store away for ", minute/3)
	case 4:
		s.set(true)
		time.Sleep(minute / 3)
		s.set(false)
		return fmt.Sprint("chaos for ", minute/3)
	}
	return "quiet"
}
