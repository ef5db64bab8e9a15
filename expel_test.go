package riftrelay_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// stopMethod is the answer of a method that takes no calls for a while.
func stopMethod(retryAfter string) http.Header {
	return http.Header{"X-Rate-Limit-Type": {"method"}, "Retry-After": {retryAfter}}
}

// Whoever can't be served in time once a cool-down has begun is told at once,
// and when it ends; whoever can, stays.
func TestCooldownRefusesWhoCannotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "1:10")
		time.Sleep(time.Minute)
		p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Sent()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := l.Acquire(ctx, r, riftrelay.Options{MaxWait: 3 * time.Minute})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("with 3 minutes: %v, want that it stays until it is given up", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			_, err := l.Acquire(ctx, r, riftrelay.Options{MaxWait: time.Minute})
			var rejected *riftrelay.RejectedError
			if !errors.Is(err, riftrelay.ErrNotInTime) || !errors.As(err, &rejected) {
				t.Errorf("with a minute: %v, want that it is too late", err)
				return
			}
			// Behind another one, so a window of 10 s after the stop's end.
			if wait := rejected.RetryAfter; wait < 130500*time.Millisecond || wait > 131500*time.Millisecond {
				t.Errorf("may come back in %v, want 120 s, padded by 0.5 to 1 s, and 10 s", wait)
			}
		})
		synctest.Wait()
		begin := time.Now()
		p.Observe(http.StatusTooManyRequests, stopMethod("120"))
		synctest.Wait()
		if n := l.Snapshot().Queued; n != 1 || time.Since(begin) > 0 {
			t.Errorf("%d wait after %v, want 1 at once", n, time.Since(begin))
		}
		stop()
		wg.Wait()
	})
}

// After Drain, who was to be served within the grace and can't be any longer is
// told at once, not at its end.
func TestDrainRefusesWhatNoLongerFits(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		header http.Header
		stay   int
	}{
		"cool-down":   {http.StatusTooManyRequests, stopMethod("60"), 0},
		"lower limit": {http.StatusOK, http.Header{"X-Method-Rate-Limit": {"1:10"}}, 2},
		"no news":     {http.StatusOK, http.Header{"X-Method-Rate-Limit": {"2:10"}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "2:10")
				time.Sleep(time.Minute)
				var permits [2]riftrelay.Permit
				for i := range permits {
					p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
					if err != nil {
						t.Fatal(err)
					}
					p.Sent()
					permits[i] = p
				}
				ctx, stop := context.WithCancel(t.Context())
				waiting := waitFor(ctx, l, r, 4)
				synctest.Wait()
				l.Drain(25 * time.Second) // room for two at 10 and at 20 s
				synctest.Wait()
				if n := l.Snapshot().Queued; n != 4 {
					t.Fatalf("%d stay, want all 4", n)
				}
				permits[0].Observe(answer.status, answer.header)
				synctest.Wait()
				if n := l.Snapshot().Queued; n != answer.stay {
					t.Errorf("%d stay, want %d", n, answer.stay)
				}
				stop()
				waiting.all.Wait()
				if waiting.closed != 4-answer.stay || waiting.canceled != answer.stay {
					t.Errorf("refused %d, given up %d: %v", waiting.closed, waiting.canceled, waiting.other)
				}
			})
		})
	}
}
