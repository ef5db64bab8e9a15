package riftrelay_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// oneQueued has a call wait and returns its queue's state and how long it waited
// until it went.
func oneQueued(t *testing.T, l *riftrelay.Limiter, o riftrelay.Options) (riftrelay.QueueState, func() time.Duration) {
	t.Helper()
	begin, went := time.Now(), make(chan time.Duration, 1)
	go func() {
		p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), o)
		if err != nil {
			t.Errorf("the call was refused: %v", err)
		}
		went <- time.Since(begin)
		p.Release()
	}()
	synctest.Wait()
	s := l.Snapshot()
	if len(s.Queues) != 1 || s.Queues[0].Depth != 1 {
		t.Fatalf("queues %+v, want one with one call", s.Queues)
	}
	return s.Queues[0], func() time.Duration { return <-went }
}

func send(t *testing.T, l *riftrelay.Limiter, status int, h http.Header) {
	t.Helper()
	p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Sent()
	p.Observe(status, h)
}

func stopped(kind, seconds string) http.Header {
	return http.Header{"X-Rate-Limit-Type": {kind}, "Retry-After": {seconds}}
}

// Every kind of wait, what is said of it, and whether that comes true.
func TestWhyItWaits(t *testing.T) {
	burst := riftrelay.Config{Pacing: riftrelay.PacingBurst}
	for _, c := range []struct {
		name     string
		cfg      riftrelay.Config
		app      string // limits to begin with
		method   string
		setUp    func(*testing.T, *riftrelay.Limiter)
		kind     riftrelay.WaitKind
		scope    string
		sentence string
	}{
		{"window of the method", burst, "1000:10", "2:10", func(t *testing.T, l *riftrelay.Limiter) {
			time.Sleep(4 * time.Second)
			send(t, l, 200, learned("1000:10", "2:10"))
		}, riftrelay.WaitWindow, "method", "method window 10 s is full (2/2), next slot in 6 s"},
		{"window of the application", burst, "2:60", "1000:10", func(t *testing.T, l *riftrelay.Limiter) {
			send(t, l, 200, learned("2:60", "1000:10"))
		}, riftrelay.WaitWindow, "application", "application window 60 s is full (2/2), next slot in 60 s"},
		{"pacing", riftrelay.Config{Pacing: riftrelay.PacingSpread}, "1000:10", "50:10", func(t *testing.T, l *riftrelay.Limiter) {
			time.Sleep(time.Second)
			send(t, l, 200, learned("1000:10", "50:10"))
		}, riftrelay.WaitPacing, "method", "calls are spread over the method window 10 s (2/50 used), next slot in 200 ms"},
		{"cool-down", burst, "1000:10", "1000:10", func(t *testing.T, l *riftrelay.Limiter) {
			send(t, l, 429, stopped("application", "30"))
		}, riftrelay.WaitCooldown, "application", "the application is stopped after a 429 (application), goes on in 31 s"},
		{"service", burst, "1000:10", "1000:10", func(t *testing.T, l *riftrelay.Limiter) {
			send(t, l, 429, stopped("service", "7"))
		}, riftrelay.WaitService, "service", "Riot's service is stopped for all keys after a 429 (service), goes on in "},
		{"synchronising", burst, "1000:10", "1000:10", func(t *testing.T, l *riftrelay.Limiter) {
			send(t, l, 429, stopped("method", "1"))
			p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p.Sent()
		}, riftrelay.WaitSynchronising, "method", "the method's limits are asked for: one call goes alone, the next one in 5 s at the latest"},
		{"others", burst, "1000:10", "50:10", func(t *testing.T, l *riftrelay.Limiter) {
			for _, count := range []string{"3:10", "40:10", "88:10"} {
				time.Sleep(time.Second)
				h := learned("1000:10", "90:10")
				h["X-Method-Rate-Limit-Count"] = []string{count}
				send(t, l, 200, h)
			}
			p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{Priority: riftrelay.High})
			if err != nil {
				t.Fatal(err)
			}
			p.Sent() // its count is worth waiting for
			time.Sleep(500 * time.Millisecond)
		}, riftrelay.WaitOthers, "method", "others use the key: what is left of the method window 10 s ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := mustNew(t, c.cfg, c.app, c.method)
				c.setUp(t, l)
				q, went := oneQueued(t, l, riftrelay.Options{})
				if q.Why.Kind != c.kind || q.Why.Scope != c.scope || q.Why.Key != "main" && c.kind != riftrelay.WaitService {
					t.Errorf("why %+v", q.Why)
				}
				if s := q.Why.String(); !strings.HasPrefix(s, c.sentence) {
					t.Errorf("%q, want %q", s, c.sentence)
				}
				waited := went()
				if c.kind == riftrelay.WaitSynchronising {
					if waited > q.Why.Until {
						t.Errorf("waited %v, said at most %v", waited, q.Why.Until)
					}
					return
				}
				late := 2 * time.Millisecond
				if c.kind == riftrelay.WaitOthers { // by J: the call under way may not be answered
					late += riftrelay.DefaultMargin
				}
				if d := waited - q.Start; d < 0 || d > late {
					t.Errorf("waited %v, predicted %v: %v", waited, q.Start, q.Why)
				}
				if q.Why.Until != q.Start {
					t.Errorf("until %v, start %v", q.Why.Until, q.Start)
				}
			})
		})
	}
}

// A window whose calls have all not been sent yet has no next slot that could
// be told.
func TestWhyItWaitsForCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:10", "2:10")
		time.Sleep(11 * time.Second)
		var permits []riftrelay.Permit
		for range 2 {
			p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			permits = append(permits, p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = l.Acquire(ctx, r, riftrelay.Options{}) // of no interest
		}()
		synctest.Wait()
		w := l.Snapshot().Queues[0].Why
		if w.Until != riftrelay.Unknown || w.String() != "method window 10 s is full (2/2), next slot once a call under way is answered" {
			t.Errorf("%+v: %v", w, w)
		}
		cancel()
		<-done
		for _, p := range permits {
			p.Release()
		}
	})
}

// What is said where no call can be brought to wait so through the Limiter
// alone: without a usable key calls are refused.
func TestWaitSentences(t *testing.T) {
	for want, w := range map[string]riftrelay.Wait{
		"no usable key, next try in 1 s":                                {Kind: riftrelay.WaitNoKey, Until: time.Second},
		"key main was refused this method, another key is free in 20 s": {Kind: riftrelay.WaitNoKey, Key: "main", Until: 20 * time.Second},
		"goes next": {Kind: riftrelay.WaitTurn},
		"method window 10 min is full (5/5, 2 by others), next slot in 1 ms": {
			Kind: riftrelay.WaitWindow, Scope: "method", Limit: 5, Used: 5, Others: 2, Window: 10 * time.Minute, Until: time.Microsecond,
		},
	} {
		if got := w.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
