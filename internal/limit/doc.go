// Package limit is the contract between the engine and the stores that replicas
// share: limits as Riot writes them, the kinds of 429, the state that outlives a
// process, and the messages of a Store. It decides nothing.
//
// The engine itself is in the packages above it: window is the arithmetic of one
// scope, and sched decides which call goes next. Package memstore is the
// reference for a Store, and limittest is the suite that every Store passes.
package limit

import (
	"math"
	"time"
)

// Instant is a moment on the caller's clock, in nanoseconds since an epoch of
// the caller's choosing. The clock must not run backwards.
type Instant int64

// Never is later than every other Instant.
const Never Instant = math.MaxInt64

// Add returns the moment d later; what would overflow is Never.
func (t Instant) Add(d time.Duration) Instant {
	if u := t + Instant(d); d <= 0 || u > t {
		return u
	}
	return Never
}

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }
