package redisstore

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
)

// A server's clock that is set back stops the time of each budget until the
// clock has caught up: what is granted meanwhile counts from there.
func TestTimeNeverRunsBackwards(t *testing.T) {
	now := int64(1_790_000_000_000)
	memory := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant((now - 1) * 1_000_000) })
	stored := bare{realWithClock(t, startServer(t)), &now}
	for name, admit := range map[string]func(*limit.Ask) (limit.Reply, error){
		"memory": func(a *limit.Ask) (limit.Reply, error) { return memory.Admit(t.Context(), a) },
		"real":   stored.Admit,
	} {
		t.Run(name, func(t *testing.T) {
			ask := func(a *limit.Ask) limit.Reply {
				t.Helper()
				r, err := admit(a)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			spend := func(calls int) {
				t.Helper()
				a := full()
				a.Demands[0].Want[0] = calls
				r := ask(a)
				if len(r.Grants) != calls {
					t.Fatalf("%d granted, want %d", len(r.Grants), calls)
				}
				a.Demands = nil
				for _, g := range r.Grants {
					a.Done = append(a.Done, limit.Done{Stub: g.Stub})
				}
				ask(a)
			}
			start := now
			at := func(d time.Duration) { now = start + d.Milliseconds() }
			ask(full())
			at(time.Second)
			a := full()
			a.Demands = nil
			for _, method := range []string{"", "m"} {
				a.Facts = append(a.Facts, limit.Fact{Method: method, Passed: true, Counted: true, Limits: a.Assumed})
			}
			ask(a)
			at(200 * time.Second) // the assumed limit's charges are gone
			spend(50)
			at(140 * time.Second)
			spend(50)
			for _, d := range []time.Duration{150, 199, 201, 259, 261, 319} {
				at(d * time.Second)
				if n := len(ask(full()).Grants); n > 0 {
					t.Fatalf("%d granted at %d s, want none before the window of 120 s after 200 s", n, d)
				}
			}
			at(322 * time.Second)
			spend(100)
		})
	}
}
