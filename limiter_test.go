package riftrelay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// mustMatch returns the route of a Riot URL.
func mustMatch(t testing.TB, url string) route.Route {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ".api.riotgames.com")
	r, err := table.Match(http.MethodGet, host, path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustNew makes a limiter whose scopes for byPUUID have the given limits.
func mustNew(t testing.TB, cfg riftrelay.Config, app, method string) (*riftrelay.Limiter, route.Route) {
	t.Helper()
	cfg.Table = table
	if cfg.Keys == nil {
		cfg.Keys = []riftrelay.Key{{Name: "main", Value: oneKey}}
	}
	l, err := riftrelay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := mustMatch(t, byPUUID)
	p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Sent()
	p.Observe(200, learned(app, method))
	return l, r
}

func learned(app, method string) http.Header {
	return http.Header{"X-App-Rate-Limit": {app}, "X-Method-Rate-Limit": {method}}
}

func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst, QueueCapacity: 2, QueueTotal: 3}, "1000:1", "2:10")
		second, err := l.TryAcquire(r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second.Sent()

		check := func(name string, err error, is error, reason riftrelay.Reason, retryIn time.Duration) {
			t.Helper()
			var rejected *riftrelay.RejectedError
			if !errors.As(err, &rejected) || is != nil && !errors.Is(err, is) || rejected.Reason != reason {
				t.Errorf("%s: got %v, want %s", name, err, reason)
				return
			}
			if d := rejected.RetryAfter - retryIn; d < -time.Millisecond || d > 200*time.Millisecond {
				t.Errorf("%s: retry in %v, want about %v", name, rejected.RetryAfter, retryIn)
			}
		}
		_, err = l.TryAcquire(r, riftrelay.Options{})
		check("now or never", err, riftrelay.ErrNotInTime, riftrelay.ReasonDeadline, 10*time.Second)
		_, err = l.Acquire(t.Context(), r, riftrelay.Options{MaxWait: 9 * time.Second})
		check("too short a wait", err, riftrelay.ErrNotInTime, riftrelay.ReasonDeadline, 10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = l.Acquire(ctx, r, riftrelay.Options{})
		check("deadline of the context", err, riftrelay.ErrNotInTime, riftrelay.ReasonDeadline, 10*time.Second)
		cancel()
		_, err = l.Acquire(t.Context(), r, riftrelay.Options{Key: riftrelay.Key{Name: "key7"}})
		check("no such key", err, riftrelay.ErrUnknownKey, riftrelay.ReasonUnknownKey, 0)
		_, err = l.Acquire(t.Context(), route.Route{}, riftrelay.Options{})
		check("no route", err, riftrelay.ErrUnknownRoute, riftrelay.ReasonInvalidRoute, 0)

		var wg sync.WaitGroup
		defer wg.Wait()
		for range 2 {
			wg.Go(func() {
				p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
				if err == nil {
					p.Sent()
				}
			})
		}
		synctest.Wait()
		_, err = l.Acquire(t.Context(), r, riftrelay.Options{})
		check("queue full", err, riftrelay.ErrQueueFull, riftrelay.ReasonQueueFull, 10*time.Second)

		// A wait that becomes too long: predicted to fit, then the answers
		// that would make room don't come.
		l2, r2 := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "2:10")
		p, err := l2.TryAcquire(r2, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = l2.Acquire(t.Context(), r2, riftrelay.Options{MaxWait: 9995 * time.Millisecond})
		if waited := time.Since(begin); waited > 0 && waited != 9995*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
		if !errors.Is(err, riftrelay.ErrNotInTime) {
			t.Errorf("got %v", err)
		}
		p.Release()

		l.Close()
		l.Close()
		_, err = l.Acquire(t.Context(), r, riftrelay.Options{})
		check("closed", err, riftrelay.ErrClosed, riftrelay.ReasonShuttingDown, 0)
		second.Observe(200, http.Header{}) // returns at once
	})
}

func TestTimeoutWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "2:10")
		time.Sleep(20 * time.Second)
		var permits []riftrelay.Permit
		for range 2 { // admitted, and never sent: how long they last is not known
			p, err := l.TryAcquire(r, riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			permits = append(permits, p)
		}
		time.Sleep(5 * time.Second)
		begin := time.Now()
		_, err := l.Acquire(t.Context(), r, riftrelay.Options{MaxWait: 12 * time.Second})
		if waited := time.Since(begin); !errors.Is(err, riftrelay.ErrNotInTime) || waited != 12*time.Second {
			t.Errorf("%v after %v, want a time-out after 12 s", err, waited)
		}
		for _, p := range permits {
			p.Release()
		}
		if _, err := l.TryAcquire(r, riftrelay.Options{}); err != nil {
			t.Errorf("what was never sent costs nothing: %v", err)
		}
	})
}

func TestNoKeys(t *testing.T) {
	l, err := riftrelay.New(riftrelay.Config{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.TryAcquire(mustMatch(t, byPUUID), riftrelay.Options{}); !errors.Is(err, riftrelay.ErrNoKey) {
		t.Errorf("got %v", err)
	}
	if _, err := l.TryAcquire(mustMatch(t, "https://europe.api.riotgames.com/riot/account/v1/accounts/me"), riftrelay.Options{MaxWait: riftrelay.NowOrNever}); errors.Is(err, riftrelay.ErrNoKey) {
		t.Error("an RSO call needs no key") // R5
	}
}

func TestPermitEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "5:10")
		first, err := l.TryAcquire(r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		first.Release()
		again, err := l.TryAcquire(r, riftrelay.Options{}) // in the same place
		if err != nil {
			t.Fatal(err)
		}
		first.Sent()
		first.Release()
		first.Observe(429, http.Header{"X-Rate-Limit-Type": {"method"}, "Retry-After": {"60"}})
		riftrelay.Permit{}.Release()
		if snap := l.Snapshot(); snap.InFlight != 1 || again.Key() != "main" {
			t.Errorf("%d in flight, want the second permit untouched", snap.InFlight)
		}
		again.Sent()
		again.Observe(200, http.Header{})
		if snap := l.Snapshot(); snap.InFlight != 0 {
			t.Errorf("%d in flight", snap.InFlight)
		}
	})
}

func TestCancelledWaitersLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "1:60")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if _, err := l.Acquire(ctx, r, riftrelay.Options{}); !errors.Is(err, context.Canceled) && !errors.Is(err, riftrelay.ErrNotInTime) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		before := l.Snapshot()
		if before.Queued == 0 || len(before.Queues) != 1 || before.Queues[0].Depth != before.Queued {
			t.Errorf("queues %+v", before.Queues)
		}
		cancel()
		wg.Wait()
		if snap := l.Snapshot(); snap.Queued != 0 || len(snap.Queues) != 0 {
			t.Errorf("%d still queued", snap.Queued)
		}
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "1:10")
		outcome := make([]error, 5)
		var wg sync.WaitGroup
		for i := range outcome {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
				outcome[i] = err
				p.Sent()
				p.Observe(200, http.Header{})
			})
		}
		time.Sleep(time.Second)
		l.Drain(25 * time.Second) // room at 10 and 20 s
		synctest.Wait()
		if n := l.Snapshot().Queued; n != 2 {
			t.Errorf("%d stay, want 2", n)
		}
		_, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if !errors.Is(err, riftrelay.ErrClosed) {
			t.Errorf("a new call: %v", err)
		}
		wg.Wait()
		for i, err := range outcome {
			if served := err == nil; served != (i < 2) || !served && !errors.Is(err, riftrelay.ErrClosed) {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

func TestEstimateAndPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingSpread}, "10:10", "1000:1")
		p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Sent()
		p.Observe(200, http.Header{})
		if wait, _, err := l.Estimate(r, 1, riftrelay.Options{}); err != nil || wait != time.Second {
			t.Errorf("spread: %v, %v; want the tenth of 10 s", wait, err)
		}
		if wait, _, err := l.Estimate(r, 1, riftrelay.Options{Priority: riftrelay.High}); err != nil || wait != 0 {
			t.Errorf("high priority isn't paced: %v, %v", wait, err)
		}
		released := make(chan time.Duration, 1)
		begin := time.Now()
		go func() {
			p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
			released <- time.Since(begin)
			if err == nil {
				p.Release()
			}
		}()
		synctest.Wait()
		l.SetPacing(riftrelay.PacingBurst)
		if waited := <-released; waited != 0 {
			t.Errorf("burst lets go what waits: after %v", waited)
		}
	})
}

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "20:1,100:120", "30:10")
		p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Sent()
		s := l.Snapshot()
		if len(s.Scopes) != 2 || s.InFlight != 1 || s.Margin != riftrelay.DefaultMargin || !reflect.DeepEqual(s.Keys[0], riftrelay.KeyState{Name: "main", Usable: true, State: riftrelay.KeyUsable}) {
			t.Fatalf("snapshot %+v", s)
		}
		app, method := s.Scopes[0], s.Scopes[1]
		if app.Method != "" || !app.Known || app.Host != "euw1" || app.Key != "main" || len(app.Windows) != 2 || app.Windows[1].Limit != 100 || app.Windows[1].Used != 2 || app.Windows[1].InFlight != 1 {
			t.Errorf("application %+v", app)
		}
		if method.Method != r.Method.String() || len(method.Windows) != 1 || method.Windows[0].Window != 10*time.Second || method.Windows[0].ResetIn < 10*time.Second {
			t.Errorf("method %+v", method)
		}
		p.Observe(429, http.Header{"X-Rate-Limit-Type": {"service"}, "Retry-After": {"5"}})
		if m := l.Snapshot().Scopes[1]; m.Cooldown < 5*time.Second || string(m.Cause) != "service" {
			t.Errorf("cool-down %+v", m)
		}
	})
}

func TestConfigErrorsAllAtOnce(t *testing.T) {
	canary := "RGAPI-" + "CANARY"
	_, err := riftrelay.New(riftrelay.Config{
		Pacing: 200, Margin: -1, DefaultAppLimit: "20/1",
		Keys: []riftrelay.Key{{Name: "a b", Value: canary}, {Value: canary}, {Value: "with space"}},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"Config.Pacing is 200", "Config.Margin is -1ns", "Config.DefaultAppLimit", "Config.Keys[0].Name", "Config.Keys[1].Value", "Config.Keys[2].Value"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), canary) {
		t.Error("the error shows a key")
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	canary := "RGAPI-" + "CANARY"
	cfg := riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: canary}}}
	data, err := json.Marshal(cfg.Keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(data), fmt.Sprintf("%v", cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg.Keys), fmt.Sprint(cfg.Keys[0])} {
		if strings.Contains(s, canary) {
			t.Errorf("printed: %s", s)
		}
	}
}
