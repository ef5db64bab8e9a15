package window

import (
	"math"
	"time"

	"riftrelay/internal/limit"
)

// breaker guards a key against the blacklist (R19): a scope that sees more
// 429s of our own making within a minute than are tolerated halves its limits,
// and gets them back step by step.
type breaker struct {
	tolerated int             // violations a minute
	recent    []limit.Instant // the last of them, at most one more than tolerated
	ours      bool            // calls of others explain not all of the recent ones
	level     int             // how often the limits are halved
	since     limit.Instant   // of the last step, in either direction
	foreign   bool            // calls of others explain all that tripped it
	stepped   bool            // the last step was back, because they have gone
	quiet     limit.Instant   // nobody else has called since, as far as counts show
	alone     int             // own calls that were counted since
}

const (
	// When others on the key were the reason, and Riot's counts show that they
	// have gone, the limits come back sooner: once nothing has happened and nobody
	// else has called for foreignGone, and then level by level. Few own calls show
	// little: those that go at the beginning of Riot's window see nobody's. So at
	// least half of what the halved limit allows in that time has to be counted.
	foreignGone = 30 * time.Second
	foreignStep = 10 * time.Second
)

// violated notes a violation by a call sent at sentAt, and reports whether it
// was one too many. foreign says that calls of others explain it. Calls that
// were under way when it tripped are part of what tripped it.
func (b *breaker) violated(now, sentAt limit.Instant, foreign bool) (tripped bool) {
	if b.level > 0 && sentAt <= b.since {
		return false
	}
	for len(b.recent) > 0 && now.Sub(b.recent[0]) >= limit.ViolationWindow {
		b.recent = b.recent[1:]
	}
	b.ours = !foreign || b.ours && len(b.recent) > 0
	b.recent = append(b.recent, now)
	if len(b.recent) <= b.tolerated {
		return false
	}
	b.foreign = !b.ours && (b.foreign || b.level == 0)
	b.recent, b.ours, b.stepped = nil, false, false
	b.level, b.since = min(b.level+1, limit.MaxHalvings), now
	return true
}

// left steps back after a counted answer when nobody else has called since
// called, and at least enough of our own calls have been counted in that time. It
// reports whether it did.
func (b *breaker) left(now, called limit.Instant, enough int) bool {
	quiet := called
	if !b.stepped {
		quiet = max(quiet, b.since)
	}
	if n := len(b.recent); n > 0 {
		quiet = max(quiet, b.recent[n-1])
	}
	if quiet > b.quiet {
		b.quiet, b.alone = quiet, 0
	}
	b.alone++
	if now.Sub(quiet) < foreignGone || b.alone < enough || b.stepped && now.Sub(b.since) < foreignStep {
		return false
	}
	b.level, b.since, b.stepped = b.level-1, now, true
	return true
}

// eased returns the level at now and since when it holds: a step lower for each
// EaseAfter in which nothing has happened, whether there were calls or not.
func (b *breaker) eased(now limit.Instant) (level int, since limit.Instant) {
	since = b.since
	if n := len(b.recent); n > 0 {
		since = max(since, b.recent[n-1])
	}
	for level = b.level; level > 0 && now.Sub(since) >= limit.EaseAfter; level-- {
		since = since.Add(limit.EaseAfter)
	}
	return level, since
}

// recovered steps back once nothing has happened for long enough, and reports
// whether it did.
func (b *breaker) recovered(now limit.Instant) bool {
	level, since := b.eased(now)
	if level == b.level {
		return false
	}
	b.level, b.since = level, since
	return true
}

// left takes a counted answer as evidence that nobody else uses the key, unless
// a count shows their calls, and reports whether that eases the limits.
func (s *Scope) left(now limit.Instant) bool {
	if s.breaker.level == 0 || !s.breaker.foreign {
		return false
	}
	called, enough := limit.Instant(0), math.MaxInt
	for _, w := range s.windows {
		called = max(called, w.others.called(w.quota.W))
		enough = min(enough, int(int64(w.n())*int64(foreignGone)/int64(w.quota.W)/2))
	}
	return s.breaker.left(now, called, enough)
}

// save notes the breaker in v.
func (b *breaker) save(now limit.Instant, v *limit.Saved) {
	level, since := b.eased(now)
	if v.Halved = level; level > 0 {
		v.Calm = max(0, now.Sub(since))
	}
	for _, at := range b.recent[max(0, len(b.recent)-limit.MaxSavedViolations):] {
		if age := max(0, now.Sub(at)); age < limit.ViolationWindow {
			v.Violations = append(v.Violations, age)
		}
	}
}

// restore takes over a breaker that was saved elapsed ago: that time counts as
// calm, for a process that doesn't run violates nothing.
func (b *breaker) restore(now limit.Instant, v limit.Saved, elapsed time.Duration) {
	for _, age := range v.Violations {
		if age+elapsed < limit.ViolationWindow {
			b.recent = append(b.recent, now.Add(-age-elapsed))
		}
	}
	b.level, b.since = v.Halved, now.Add(-v.Calm-elapsed)
	b.level, b.since = b.eased(now)
}

// Tolerate sets how many 429s of our own making a minute may see before the
// scope halves its limits.
func (s *Scope) Tolerate(n int) { s.breaker.tolerated = n }

// n returns how many calls the window is used for: its limit, or less after
// violations.
func (w *window) n() int { return max(1, w.quota.N>>w.halved) }

func (s *Scope) halve() {
	for _, w := range s.windows {
		w.halved = s.breaker.level
	}
}
