package window

import (
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Answer is what of an answer teaches: its status and headers, as they came. An
// empty string is an absent header.
type Answer struct {
	Status      int
	AppLimit    string    // X-App-Rate-Limit
	AppCount    string    // X-App-Rate-Limit-Count
	MethodLimit string    // X-Method-Rate-Limit
	MethodCount string    // X-Method-Rate-Limit-Count
	Type        string    // X-Rate-Limit-Type
	RetryAfter  []string  // every Retry-After
	Wall        time.Time // for Retry-After as a date; only read on a 429
	Random      float64   // from 0 to 1, for jitter; only read on a 429
}

// Lesson is what an answer taught.
type Lesson struct {
	Kind  limit.Kind
	Until limit.Instant // end of the stop that a 429 caused
	Fresh bool          // windows appeared that calls under way must Join
	// Unexplained is a 429 of our own making that no calls of others explain:
	// the margin was too small.
	Unexplained bool
	// Tripped is a violation too many: the scope has halved its limits.
	Tripped bool
	// AppTighter and MethodTighter say that the application, or the method or
	// its service, allows less than had been thought, or nothing for a while:
	// calls that wait may have no chance any longer.
	AppTighter, MethodTighter bool
}

// Learn takes over what the answer to the call of h teaches, whatever its
// status (R3), and stops what a 429 says to stop. app is nil for a call without
// a key (R5). Call it before h.Settle.
func Learn(now limit.Instant, a Answer, h *Hold, service *Gate, app, method *Scope, j time.Duration) Lesson {
	sentAt, sent := h.IsSent()
	if !sent {
		sentAt = now
	}
	counted := a.Status < 300 || a.Status == 404
	var l Lesson
	if app != nil {
		l.Fresh = app.learn(now, a.AppLimit, a.AppCount, counted, h, j)
	}
	if method.learn(now, a.MethodLimit, a.MethodCount, counted, h, j) {
		l.Fresh = true
	}
	l.AppTighter, l.MethodTighter = app != nil && app.tighter == now, method.tighter == now
	for _, s := range [...]*Scope{app, method} {
		if s != nil && (s.breaker.recovered(now) || counted && s.left(now)) {
			s.halve()
		}
	}
	if a.Status != 429 {
		if counted { // an error, of whomever, ends no back-off
			service.passed(sentAt)
			method.passed(sentAt)
			if app != nil {
				app.passed(sentAt)
			}
		}
		return l
	}
	wait, told := limit.ParseRetryAfter(a.RetryAfter, a.Wall)
	l.Kind = a.kind(told && app != nil)
	gate, counts := service, ""
	var scope *Scope // whose limit it was; nil for the service's
	switch {
	case l.Kind == limit.Method:
		scope, counts = method, a.MethodCount
	case l.Kind.Own() && app != nil:
		scope, counts = app, a.AppCount
	}
	var windows []*window
	if scope != nil {
		gate, windows = &scope.Gate, scope.windows
	}
	strikes := gate.strike(now, sentAt)
	switch end, full := fullUntil(now, counts, windows, j); {
	case told:
		// R14: unreliable, so pad by 0.5 to 1 s.
		l.Until = now.Add(wait + time.Duration((1+a.Random)*float64(500*time.Millisecond)))
	case full:
		l.Until = end
	default:
		l.Until = now.Add(backoff(strikes, a.Random))
	}
	longer := gate.stop(l.Until, l.Kind)
	if scope != nil {
		foreign := slices.ContainsFunc(windows, func(w *window) bool { return w.others.about(now, w.quota.W) })
		l.Unexplained = sentAt > scope.lowered && !foreign
		if l.Tripped = scope.breaker.violated(now, sentAt, foreign); l.Tripped {
			scope.halve()
		}
	}
	if longer || l.Tripped {
		l.AppTighter = l.AppTighter || scope != nil && scope == app
		l.MethodTighter = l.MethodTighter || scope == nil || scope == method
	}
	return l
}

// kind tells the kind of a 429. mayBeApp says that one without a type may stand
// for the application's limit: it told how long to wait, and the call has one.
func (a *Answer) kind(mayBeApp bool) limit.Kind {
	k := limit.KindOf(a.Type)
	if k == limit.Untyped && mayBeApp && !a.roomInApp() {
		return limit.UntypedAsOurs
	}
	return k
}

// roomInApp reports whether the counts show that the application's limit can't
// have been the cause: every window is told, none is over its limit.
func (a *Answer) roomInApp() bool {
	var buf, cbuf [limit.MaxQuotas]limit.Quota
	limits, ok := limit.ParseLimits(a.AppLimit, buf[:0])
	counts, ok2 := limit.ParseCounts(a.AppCount, cbuf[:0])
	if !ok || !ok2 || len(limits) == 0 {
		return false
	}
	for _, l := range limits {
		if n, told := limit.NumberFor(counts, l.W); !told || n > l.N { // R2: raised before the check
			return false
		}
	}
	return true
}

// fullUntil returns the end of the longest of Riot's windows that are full: by
// its counts, or else by our charges.
func fullUntil(now limit.Instant, counts string, windows []*window, j time.Duration) (end limit.Instant, full bool) {
	var buf [limit.MaxQuotas]limit.Quota
	seen, _ := limit.ParseCounts(counts, buf[:0])
	for _, w := range windows {
		w.expire(now, j)
		n, told := limit.NumberFor(seen, w.quota.W)
		if !told {
			n = w.used() + 1 // the call rejected is charged already, the one that is to follow isn't
		}
		if n > w.quota.N {
			end, full = max(end, w.end(now)), true
		}
	}
	return end, full
}
