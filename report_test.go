package riftrelay_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"riftrelay"
	"riftrelay/riotsim"
)

// Calls that share a context, as those of one page do, each have a report, and
// none races with another. With http.Client.Timeout, the client wraps the body.
func TestReportsOfASharedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		s.client.Timeout = 1 << 40
		ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{Priority: riftrelay.High})
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				url := []string{byPUUID, mastery, status}[i%3]
				resp, _, err := call(ctx, s.client, http.MethodGet, url, "")
				if err != nil {
					t.Error(err)
					return
				}
				report, ok := riftrelay.ReportOf(resp)
				if want := routeTo(t, url); !ok || report.Route != want || report.Tries != 1 || report.Key != "main" {
					t.Errorf("report %+v, %v; want of %v", report, ok, want)
				}
				if resp.Request.URL.String() != url || resp.Request.Header.Get("X-Riot-Token") != "the client's own" {
					t.Errorf("the answer's request is %v with %v; want the caller's own, without a key", resp.Request.URL, resp.Request.Header)
				}
			})
		}
		all.Wait()
	})
	for _, resp := range []*http.Response{nil, {}, {Request: new(http.Request)}} {
		if _, ok := riftrelay.ReportOf(resp); ok {
			t.Errorf("a report of %v", resp)
		}
	}
}

func TestTransportWithoutALimiter(t *testing.T) {
	_, err := (&http.Client{Transport: &riftrelay.Transport{}}).Get(byPUUID)
	if err == nil || !strings.Contains(err.Error(), "Transport.Limiter") {
		t.Errorf("%v; want an error that names the field", err)
	}
}

// Why a caller left is in the error, beside that it left.
func TestCauseOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{})
		why := errors.New("the page was closed")
		r := routeTo(t, byPUUID)
		first, err := s.limiter.Acquire(t.Context(), r, riftrelay.Options{}) // its answer tells the limits: the next call waits
		if err != nil {
			t.Fatal(err)
		}
		defer first.Release()
		ctx, leave := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			leave(why)
		}()
		for range 2 { // once while it waits, once before
			if _, err := s.limiter.Acquire(ctx, r, riftrelay.Options{}); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("%v; want the cause", err)
			}
			if err := get(ctx, s.client, byPUUID); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("%v; want the cause", err)
			}
		}
	})
}
