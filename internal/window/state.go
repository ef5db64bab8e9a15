package window

import (
	"time"

	"riftrelay/internal/limit"
)

// WindowState is what a window looks like from outside.
type WindowState struct {
	limit.Quota
	Used    int           // charges that count now
	Others  int           // of those, calls of others on the same key
	Peers   int           // of those, calls of other replicas
	Pending int           // of those, admitted and not yet sent
	ResetIn time.Duration // until all present charges have expired
}

func (w *window) state(now limit.Instant, j time.Duration) WindowState {
	kept := w.expire(now, j)
	s := WindowState{Quota: w.quota, Used: w.used(), Others: w.others.n, Pending: w.pending}
	if s.Used > w.pending {
		s.ResetIn = w.emptied(kept).Sub(now)
	}
	if w.pending > 0 {
		s.ResetIn = w.quota.W + j
	}
	return s
}
