package riftrelay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// leaving is a context whose caller leaves. When the limiter first asks why,
// it runs meanwhile.
type leaving struct {
	context.Context
	done      chan struct{}
	meanwhile func()
}

func (c *leaving) Done() <-chan struct{} { return c.done }

func (c *leaving) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if f := c.meanwhile; f != nil {
		c.meanwhile = nil
		f()
	}
	return context.Canceled
}

// A permit that is granted in the moment its caller leaves is released: the
// next call goes at once.
func TestGrantedWhileLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "2:10", "50:10")
		first, err := l.Acquire(t.Context(), r, riftrelay.Options{}) // the last one of the window
		if err != nil {
			t.Fatal(err)
		}
		ctx := &leaving{Context: t.Context(), done: make(chan struct{}), meanwhile: func() {
			first.Release()
			if s := l.Snapshot(); s.Queued != 0 || s.InFlight != 1 {
				t.Errorf("%d queued, %d in flight: the waiting call isn't granted", s.Queued, s.InFlight)
			}
		}}
		end := make(chan error)
		go func() {
			_, err := l.Acquire(ctx, r, riftrelay.Options{MaxWait: time.Minute})
			end <- err
		}()
		synctest.Wait()
		if n := l.Snapshot().Queued; n != 1 {
			t.Fatalf("%d queued, want the second call", n)
		}
		close(ctx.done)
		if err := <-end; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if ctx.meanwhile != nil {
			t.Fatal("nothing was granted meanwhile: the test tests nothing")
		}
		if n := l.Snapshot().InFlight; n != 0 {
			t.Errorf("%d in flight after the caller left", n)
		}
		p, err := l.Acquire(t.Context(), r, riftrelay.Options{MaxWait: -1})
		if err != nil {
			t.Fatalf("the slot is lost: %v", err)
		}
		p.Release()
	})
}
