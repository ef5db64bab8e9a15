package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// labelled notes when calls are sent, by their budget and URL. The way to the
// edge always takes as long in these tests, so the intervals at the edge hold as
// many.
type labelled struct {
	base http.RoundTripper
	mu   sync.Mutex
	sent map[string][]time.Time
}

type labelKey struct{}

func (b *labelled) RoundTrip(r *http.Request) (*http.Response, error) {
	label, _ := r.Context().Value(labelKey{}).(string)
	b.mu.Lock()
	b.sent[label] = append(b.sent[label], time.Now())
	path := r.URL.String()
	path = path[max(0, strings.Index(path, "/lol/")):] // the transport sets Opaque, and no Path
	b.sent[label+" "+path] = append(b.sent[label+" "+path], time.Now())
	b.mu.Unlock()
	return b.base.RoundTrip(r)
}

// label has the calls of s noted.
func label(s *simulated) *labelled {
	b := &labelled{base: s.wire, sent: map[string][]time.Time{}}
	s.client.Transport.(*riftrelay.Transport).Base = b
	return b
}

// in returns a context for calls of a budget.
func in(ctx context.Context, o riftrelay.Options) context.Context {
	return riftrelay.WithOptions(context.WithValue(ctx, labelKey{}, o.Budget), o)
}

// worst is the most calls of a label that any interval of length w held.
func (b *labelled) worst(label string, w time.Duration) int {
	most, first := 0, 0
	times := b.sent[label]
	for i, at := range times {
		for at.Sub(times[first]) >= w {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// between counts the calls of a label in [from, to).
func (b *labelled) between(label string, from, to time.Time) int {
	n := 0
	for _, at := range b.sent[label] {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

var steady = riotsim.Latency{Up: 25 * time.Millisecond, Down: 25 * time.Millisecond}

func rules(limit string) []riotsim.Rule { return []riotsim.Rule{{Limit: limit}} }

// TestBudgetCeiling has a backlog of a budget's calls and one of others, on
// several methods: the budget stays under its ceiling in every interval, and
// uses it; the application's limit is used as without budgets.
func TestBudgetCeiling(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingShare(0.25), riftrelay.PacingBurst} {
		for _, windows := range []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding} {
			t.Run(fmt.Sprintf("b=%v/%v", pacing, windows), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const w = 10 * time.Second
					s := simulate(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules("60:10"), Windows: windows, Latency: steady, Seed: 1},
						riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{
							Name: "crawler", Share: 0.3, Overrides: []riftrelay.ShareOverride{{Path: "/lol/status", Share: 0.1, Below: true}},
						}}})
					b := label(s)
					ctx, stop := context.WithCancel(t.Context())
					start := time.Now()
					time.AfterFunc(8*w, stop)
					crawl := backlog(in(ctx, riftrelay.Options{Budget: "Crawler"}), t, s.client, 60, byPUUID, mastery, status)
					others := backlog(ctx, t, s.client, 120, byPUUID, status)
					crawl.Wait()
					others.Wait()
					s.mustHold(t)
					if n := b.worst("Crawler", w); n > 30 {
						t.Errorf("%d calls of the budget in %v, want at most 30", n, w)
					}
					if n := b.worst("Crawler /lol/status/v4/platform-data", w); n > 6 {
						t.Errorf("%d of a method with a share of its own, want at most 6", n)
					}
					from, to := start.Add(2*w), start.Add(7*w)
					if n := b.between("Crawler", from, to); n < 5*30*95/100 {
						t.Errorf("the budget had %d calls in 5 windows, want all but 150", n)
					}
					if n := b.between("Crawler", from, to) + b.between("", from, to); n < 5*100*97/100 {
						t.Errorf("%d calls in 5 windows, want nearly 500", n)
					}
				})
			})
		}
	}
}

// TestBudgetNeverBlocksOthers has calls of a small budget wait for minutes.
// Others, of the same method and of other ones, go meanwhile as if the
// budget's weren't there.
func TestBudgetNeverBlocksOthers(t *testing.T) {
	for _, priority := range []riftrelay.Priority{riftrelay.Normal, riftrelay.High} {
		for _, others := range []riftrelay.Priority{riftrelay.Normal, riftrelay.High} {
			t.Run(fmt.Sprintf("%v before %v", priority, others), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{AppLimits: rules("100:120"), MethodLimits: rules(riotsim.NoLimit), Latency: steady},
						riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "small", Share: 0.01, Hard: true}}})
					b := label(s)
					if err := get(t.Context(), s.client, status); err != nil { // learns the limits
						t.Fatal(err)
					}
					ctx, stop := context.WithCancel(t.Context())
					wg := backlog(in(ctx, riftrelay.Options{Budget: "small", Priority: priority}), t, s.client, 30, byPUUID, mastery)
					synctest.Wait()
					time.Sleep(time.Second)
					start := time.Now()
					for i := range 90 {
						url := []string{byPUUID, mastery, status}[i%3]
						if err := get(riftrelay.WithOptions(t.Context(), riftrelay.Options{Priority: others}), s.client, url); err != nil {
							t.Fatal(err)
						}
					}
					// One after another, each a round trip.
					if took := time.Since(start); took > 90*50*time.Millisecond {
						t.Errorf("90 calls took %v, want 4.5 s", took)
					}
					if n := b.worst("small", 120*time.Second); n != 1 {
						t.Errorf("%d calls of the budget, want 1", n)
					}
					stop()
					wg.Wait()
					s.mustHold(t)
				})
			})
		}
	}
}

// A lowered limit lowers the ceiling at once.
func TestBudgetFollowsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules(riotsim.NoLimit), Latency: steady},
			riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "b", Share: 0.3}}})
		b := label(s)
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		wg := backlog(in(ctx, riftrelay.Options{Budget: "b"}), t, s.client, 40, byPUUID)
		time.Sleep(15 * time.Second)
		if err := s.edge.SetAppLimit("", "", "20:10"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(65 * time.Second)
		stop()
		wg.Wait()
		if n := b.between("b", start, start.Add(10*time.Second)); n != 30 {
			t.Errorf("%d calls of a share of 100, want 30", n)
		}
		if n := b.between("b", start.Add(40*time.Second), start.Add(70*time.Second)); n > 18 || n < 17 {
			t.Errorf("%d calls of a share of 20 in three windows, want 18", n)
		}
	})
}

// Two budgets and the calls without one share what they all want by turns.
func TestBudgetsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: rules("90:10"), MethodLimits: rules(riotsim.NoLimit), Latency: steady},
			riftrelay.Config{AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "one", Share: 0.5}, {Name: "two", Share: 0.9}}})
		b := label(s)
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		var all []*sync.WaitGroup
		for name, n := range map[string]int{"": 10, "one": 200, "two": 100} {
			all = append(all, backlog(in(ctx, riftrelay.Options{Budget: name}), t, s.client, n, byPUUID))
		}
		time.Sleep(70 * time.Second)
		stop()
		for _, wg := range all {
			wg.Wait()
		}
		s.mustHold(t)
		for _, name := range []string{"", "one", "two"} {
			if n := b.between(name, start.Add(20*time.Second), start.Add(60*time.Second)); n < 115 || n > 125 {
				t.Errorf("budget %q had %d calls in 4 windows of 90, want 120", name, n)
			}
		}
	})
}

func TestUnknownBudget(t *testing.T) {
	l, r := mustNew(t, riftrelay.Config{Budgets: []riftrelay.Budget{{Name: "Crawler", Share: 0.5}, {Name: "web", Share: 0.5}}}, "20:1", "20:1")
	for _, name := range []string{"", riftrelay.NoBudget, "DEFAULT", "crawler", "CRAWLER", "web"} {
		p, err := l.TryAcquire(r, riftrelay.Options{Budget: name, Priority: riftrelay.High})
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		p.Release()
	}
	_, err := l.TryAcquire(r, riftrelay.Options{Budget: "crawlr"})
	var rejected *riftrelay.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != riftrelay.ReasonInvalidBudget || !strings.Contains(rejected.Detail, `"crawlr"; allowed: Crawler, web, default`) {
		t.Errorf("%v", err)
	}
}

func TestBudgetConfigErrors(t *testing.T) {
	_, err := riftrelay.New(riftrelay.Config{Budgets: []riftrelay.Budget{
		{Name: "a.b", Share: 1}, {Name: "Default", Share: 1}, {Name: "c"}, {Name: "d", Share: 1.5}, {Name: "x", Share: 1}, {Name: "x", Share: 1},
		{Name: "e", Share: 1, Overrides: []riftrelay.ShareOverride{{Path: "lol", Share: 1}}},
		{Name: "f", Share: 1, Overrides: []riftrelay.ShareOverride{{Path: "/lol", Share: 2, Below: true}}},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`Budgets[0].Name is "a.b"`, `Budgets[1].Name is "Default"`, "Budgets[2].Share is 0", "Budgets[3].Share is 1.5", `Budgets[5].Name is "x"`,
		`Budgets[6].Overrides[0].Path is "lol"`, "Budgets[7].Overrides[0].Share is 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// What a budget uses is seen, and that its calls wait for it.
func TestBudgetSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst, Budgets: []riftrelay.Budget{
			{Name: "Crawler", Share: 0.07, Overrides: []riftrelay.ShareOverride{{Host: "kr", Path: "/", Share: 0.01}, {Path: "/lol", Share: 0.02, Below: true}}},
		}}, "100:10", "50:10")
		defer l.Close()
		p, err := l.TryAcquire(r, riftrelay.Options{Budget: "crawler"})
		if err != nil {
			t.Fatal(err)
		}
		p.Sent()
		var rejected *riftrelay.RejectedError
		if _, err := l.TryAcquire(r, riftrelay.Options{Budget: "crawler"}); !errors.As(err, &rejected) || rejected.RetryAfter < 10*time.Second || rejected.RetryAfter > 11*time.Second {
			t.Errorf("%v, want a retry in 10 s and J", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go l.Acquire(ctx, r, riftrelay.Options{Budget: "crawler"})
		synctest.Wait()
		snap := l.Snapshot()
		stop()
		app, method := snap.Scopes[0], snap.Scopes[1]
		if len(app.Budgets) != 1 || app.Budgets[0].Name != "Crawler" || app.Budgets[0].Windows[0].Limit != 7 || app.Budgets[0].Windows[0].Used != 1 {
			t.Errorf("application %+v", app.Budgets)
		}
		if len(method.Budgets) != 1 || method.Budgets[0].Windows[0].Limit != 1 {
			t.Errorf("method %+v, want 2 percent of 50", method.Budgets)
		}
		if len(snap.Queues) != 1 || snap.Queues[0].Budget != "Crawler" || snap.Queues[0].Why.Kind != riftrelay.WaitBudget ||
			!strings.HasPrefix(snap.Queues[0].Why.String(), "budget Crawler has 1 of its 1 calls in the method window 10 s, next slot in 10") {
			t.Errorf("queues %+v: %v", snap.Queues, snap.Queues[0].Why)
		}
	})
}

// Of replicas that share a store each keeps to its part of a budget's ceiling, and
// asks for no more than it may use: the rest is the others'.
func TestBudgetOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules(riotsim.NoLimit), Latency: steady, Seed: 1},
			riftrelay.Config{AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "b", Share: 0.3}}}, 2*time.Millisecond, 2*time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		time.Sleep(time.Second) // the replicas have heard of each other
		start := time.Now()
		var all []*labelled
		var wg sync.WaitGroup
		for i, r := range f.replicas {
			way := r.client.Transport.(*riftrelay.Transport)
			b := &labelled{base: way.Base, sent: map[string][]time.Time{}}
			way.Base = b
			all = append(all, b)
			r.load(in(ctx, riftrelay.Options{Budget: "b"}), &wg, 40, byPUUID)
			if i == 0 {
				r.load(ctx, &wg, 100, mastery)
			}
		}
		time.Sleep(80 * time.Second)
		stop()
		wg.Wait()
		f.mustHold(t)
		total := 0
		for i, b := range all {
			if n := b.worst("b", 10*time.Second); n > 15 {
				t.Errorf("replica %d: %d calls of the budget in 10 s, want at most 15", i, n)
			}
			n := b.between("b", start.Add(20*time.Second), start.Add(70*time.Second))
			if n < 60 {
				t.Errorf("replica %d: %d calls of the budget in 50 s, want nearly 75", i, n)
			}
			total += n + b.between("", start.Add(20*time.Second), start.Add(70*time.Second))
		}
		if total < 475 {
			t.Errorf("%d calls in 50 s, want nearly 500", total)
		}
	})
}
