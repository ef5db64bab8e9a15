package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
	"riftrelay/route"
)

type ctxKey struct{}

// recorder writes down all that hooks hear.
type recorder struct {
	mu         sync.Mutex
	began      time.Time
	admissions []riftrelay.AdmissionEvent
	answers    []riftrelay.AnswerEvent
	changes    []riftrelay.ChangeEvent
	marks      []any // of the contexts
}

func (r *recorder) Admission(ctx context.Context, e riftrelay.AdmissionEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admissions, r.marks = append(r.admissions, e), append(r.marks, ctx.Value(ctxKey{}))
}

func (r *recorder) Answer(ctx context.Context, e riftrelay.AnswerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers, r.marks = append(r.answers, e), append(r.marks, ctx.Value(ctxKey{}))
}

func (r *recorder) Change(e riftrelay.ChangeEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, e)
}

// said tells the changes since the last time, in words.
func (r *recorder) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	for _, e := range r.changes {
		line := fmt.Sprintf("%v %s %s", e.At.Sub(r.began), e.Kind, e.Key)
		if e.Scope != "" {
			line += fmt.Sprintf(" %s %s%s", e.Scope, e.Host, e.Method)
		}
		if e.Window > 0 {
			line += fmt.Sprintf(" %v %d→%d", e.Window, e.Old, e.New)
		}
		if !e.Until.IsZero() {
			line += fmt.Sprintf(" until %v", e.Until.Sub(r.began))
		}
		if e.Cause != "" {
			line += " " + string(e.Cause)
		}
		said = append(said, line)
	}
	r.changes = nil
	return said
}

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := r.said(); !slices.Equal(got, want) {
		t.Errorf("changes:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// What changes is told at its time, also when nobody calls then.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &recorder{began: time.Now()}
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst, Hooks: hooksOf(heard)}, "100:1", "3:10")
		heard.began = time.Now()
		const at = "euw1/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}"
		heard.expect(t, "0s limit_learned main application euw1 1s 0→100", "0s limit_learned main method "+at+" 10s 0→3")

		time.Sleep(time.Second)
		permits := []riftrelay.Permit{acquire(t, l, r), acquire(t, l, r)}
		for range 3 {
			if _, err := l.TryAcquire(r, riftrelay.Options{}); !errors.Is(err, riftrelay.ErrNotInTime) {
				t.Fatal(err)
			}
		}
		heard.expect(t, "1s limit_reached main method "+at+" 10s 3→3")

		permits[0].Observe(429, http.Header{"X-Rate-Limit-Type": {"service"}, "Retry-After": {"5"}})
		until := time.Duration(-1)
		if e := heard.changes; len(e) == 1 {
			until = e[0].Until.Sub(heard.began)
		}
		if until < 6500*time.Millisecond || until > 7*time.Second {
			t.Errorf("stopped until %v", until)
		}
		heard.expect(t, fmt.Sprintf("1s cooldown_began  service %s until %v service", at, until))
		time.Sleep(until - time.Second - 1)
		synctest.Wait()
		heard.expect(t)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		heard.expect(t, fmt.Sprintf("%v cooldown_ended  service %s service", until, at))

		permits[1].Observe(200, learned("50:1", "3:10"))
		heard.expect(t, fmt.Sprintf("%v limit_changed main application euw1 1s 100→50", until))
	})
}

func acquire(t *testing.T, l *riftrelay.Limiter, r route.Route) riftrelay.Permit {
	t.Helper()
	p, err := l.TryAcquire(r, riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Sent()
	return p
}

// A removed key's last changes are told by the name that it had.
func TestChangesOfReplacedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &recorder{began: time.Now()}
		l, r := mustNew(t, riftrelay.Config{Hooks: hooksOf(heard)}, "100:1", "100:1")
		heard.began = time.Now()
		time.Sleep(time.Second)
		p, other := acquire(t, l, r), acquire(t, l, mustMatch(t, account))
		heard.said()
		p.Observe(401, http.Header{"Content-Type": {"application/json"}})
		other.Observe(401, http.Header{"Content-Type": {"application/json"}})
		if err := l.SetKeys([]riftrelay.Key{{Name: "next", Value: "RGAPI-next"}}); err != nil {
			t.Fatal(err)
		}
		heard.expect(t, "1s key_suspended main")
	})
}

// Events know the context of the call, and which of its tries they are about.
func TestHooksHearOfEveryTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &recorder{began: time.Now()}
		s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Service, Times: 1, Wait: 2 * time.Second}}}, riftrelay.Config{Hooks: hooksOf(heard)})
		ctx := context.WithValue(t.Context(), ctxKey{}, "mine")
		if err := get(ctx, s.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		if a := heard.admissions; len(a) != 2 || a[0].Try != 1 || a[1].Try != 2 || a[1].Waited < 2*time.Second {
			t.Errorf("admissions: %+v", a)
		}
		if a := heard.answers; len(a) != 2 || a[0].Try != 1 || !a[0].Retry || a[0].Status != 429 || a[1].Try != 2 || a[1].Retry || a[1].Status != 200 {
			t.Errorf("answers: %+v", a)
		}
		if want := []any{"mine", "mine", "mine", "mine"}; !slices.Equal(heard.marks, want) {
			t.Errorf("contexts: %v", heard.marks)
		}
	})
}

// Hooks may do with the limiter what they like: changes that they cause are
// told after the one that they are told of.
func TestHooksUseTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &recorder{began: time.Now()}
		var l *riftrelay.Limiter
		use := func() {
			l.Snapshot()
			l.SetPacing(riftrelay.PacingBurst)
			if _, _, err := l.Estimate(mustMatch(t, mastery), 1, riftrelay.Options{}); err != nil {
				t.Error(err)
			}
		}
		depth, answers := 0, 0
		hooks := riftrelay.Hooks{
			Admission: func(context.Context, riftrelay.AdmissionEvent) { use() },
			Answer:    func(context.Context, riftrelay.AnswerEvent) { use() },
			Change: func(riftrelay.ChangeEvent) {
				if depth++; depth > 1 {
					t.Error("told of a change while told of another")
				}
				use()
				if answers++; answers < 5 { // each answer changes a limit
					p, err := l.TryAcquire(mustMatch(t, byPUUID), riftrelay.Options{})
					if err != nil {
						t.Error(err)
					}
					p.Observe(200, learned(fmt.Sprintf("%d:1", 1000+answers), ""))
				}
				depth--
			},
		}
		var err error
		l, err = riftrelay.New(riftrelay.Config{
			Table: table, Keys: []riftrelay.Key{{Name: "main", Value: oneKey}}, Hooks: riftrelay.JoinHooks(riftrelay.Hooks{}, hooksOf(heard), hooks),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Observe(200, learned("1000:1", ""))
		var got []int
		for _, e := range heard.changes {
			got = append(got, e.New)
		}
		if want := []int{1000, 1001, 1002, 1003, 1004}; !slices.Equal(got, want) {
			t.Errorf("changes to %v, want %v", got, want)
		}
	})
}

func TestPanicsOfHooksAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &recorder{began: time.Now()}
		var log strings.Builder
		bad := riftrelay.Hooks{
			Admission: func(context.Context, riftrelay.AdmissionEvent) { panic("admission") },
			Answer:    func(context.Context, riftrelay.AnswerEvent) { panic(errors.New("answer")) },
			Change:    func(riftrelay.ChangeEvent) { panic("change") },
		}
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Hooks: riftrelay.JoinHooks(bad, hooksOf(heard), bad, riftrelay.Hooks{})})
		for range 2 {
			if err := get(t.Context(), s.client, byPUUID); err != nil {
				t.Fatal(err)
			}
		}
		changes := len(heard.changes)
		if len(heard.admissions) != 2 || len(heard.answers) != 2 || changes == 0 {
			t.Errorf("heard %d admissions, %d answers, %d changes", len(heard.admissions), len(heard.answers), changes)
		}
		if got := s.limiter.Snapshot(); got.HookPanics != 4+changes {
			t.Errorf("%d panics, want %d", got.HookPanics, 4+changes)
		}
		// The 1st, 2nd, 4th and 8th are logged, with the stack that says which hook it was.
		if text := log.String(); strings.Count(text, "a hook panicked") != bits.Len(uint(4+changes)) || !strings.Contains(text, "panic=admission") || !strings.Contains(text, "TestPanicsOfHooksAreContained") {
			t.Errorf("of %d panics the log says:\n%s", 4+changes, text)
		}
	})
}

// A hook that ends the goroutine in which it is called, as t.FailNow does, ends
// nothing else.
func TestHooksThatExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		hooks := riftrelay.Hooks{Change: func(riftrelay.ChangeEvent) {
			if told.Add(1) == 1 {
				runtime.Goexit()
			}
		}}
		l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooks})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		go p.Observe(200, learned("100:1,1000:10", "100:1"))
		synctest.Wait()
		l.SetPacing(riftrelay.PacingBurst)
		if n := told.Load(); n != 3 {
			t.Errorf("%d changes told, want 3", n)
		}
	})
}

// Slow hooks lose changes, and are told how many: nothing grows without bound.
func TestSlowHooksLoseChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var changes []riftrelay.ChangeEvent
		hooks := riftrelay.Hooks{Change: func(e riftrelay.ChangeEvent) {
			if len(changes) == 0 {
				<-release
			}
			changes = append(changes, e)
		}}
		l, r := mustNewQuietly(t, hooks)
		const n = 1500
		for i := range n {
			p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			observe := func() { p.Observe(200, learned(fmt.Sprintf("%d:1", 10_000+i), "")) }
			if i == 0 {
				go observe()
				synctest.Wait()
			} else {
				observe()
			}
		}
		close(release)
		synctest.Wait()
		p := acquire(t, l, r)
		p.Observe(200, learned("5:1", ""))
		if len(changes) != 1+1024+1 {
			t.Fatalf("%d changes told", len(changes))
		}
		for i, e := range changes[:1025] {
			if e.New != 10_000+i || e.Lost != 0 {
				t.Fatalf("change %d: %+v", i, e)
			}
		}
		if last := changes[1025]; last.New != 5 || last.Lost != n-1025 {
			t.Errorf("the last: %+v, want %d lost", last, n-1025)
		}
	})
}

func mustNewQuietly(t testing.TB, hooks riftrelay.Hooks) (*riftrelay.Limiter, route.Route) {
	t.Helper()
	l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooks, Pacing: riftrelay.PacingBurst})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, mustMatch(t, byPUUID)
}

func TestJoinHooksOfFew(t *testing.T) {
	if h := riftrelay.JoinHooks(riftrelay.Hooks{}, riftrelay.Hooks{}); h.Admission != nil || h.Answer != nil || h.Change != nil {
		t.Error("hooks of nothing are called")
	}
	var order []int
	add := func(i int) riftrelay.Hooks {
		return riftrelay.Hooks{Change: func(riftrelay.ChangeEvent) { order = append(order, i) }}
	}
	riftrelay.JoinHooks(add(1), riftrelay.Hooks{}, add(2), add(3)).Change(riftrelay.ChangeEvent{})
	if !slices.Equal(order, []int{1, 2, 3}) {
		t.Errorf("called in the order %v", order)
	}
}

// A hook may read the method's fields, whatever the call was.
func TestHooksOfUnknownRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var services []string
		hooks := riftrelay.Hooks{Admission: func(_ context.Context, e riftrelay.AdmissionEvent) {
			services = append(services, e.Route.Method.Service+" "+string(e.Outcome))
		}}
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Hooks: hooks})
		if err := get(t.Context(), s.client, "https://euw1.api.riotgames.com/no/such/path"); !errors.Is(err, riftrelay.ErrUnknownRoute) {
			t.Fatal(err)
		}
		if _, err := s.limiter.TryAcquire(route.Route{}, riftrelay.Options{}); !errors.Is(err, riftrelay.ErrUnknownRoute) {
			t.Fatal(err)
		}
		if !slices.Equal(services, []string{"unknown rejected", "unknown rejected"}) {
			t.Errorf("heard %q", services)
		}
	})
}

// Admission costs no allocation, with hooks or without.
func TestHooksCostNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates as well: only that it runs is tested")
	}
	for name, hooks := range map[string]riftrelay.Hooks{
		"none": {}, "one": hooksOf(quiet{}), "two": riftrelay.JoinHooks(hooksOf(quiet{}), hooksOf(quiet{})),
	} {
		l, r := mustNewQuietly(t, hooks)
		once := func() {
			if err := admission(l, r, riftrelay.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		once()
		if n := testing.AllocsPerRun(1000, once); n != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// quiet listens and does nothing.
type quiet struct{}

func (quiet) Admission(context.Context, riftrelay.AdmissionEvent) {}
func (quiet) Answer(context.Context, riftrelay.AnswerEvent)       {}
func (quiet) Change(riftrelay.ChangeEvent)                        {}
