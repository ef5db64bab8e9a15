package memstore

import (
	"cmp"
	"slices"

	"riftrelay/internal/limit"
)

// storeScope is what a store knows of a scope of one budget: its windows, and
// what stops it.
type storeScope struct {
	known   bool   // Riot's limits have been seen, or it was seen to have none
	since   millis // of the last stop, or of the beginning: answers to calls sent before prove nothing
	until   millis // no call starts before
	cause   limit.Kind
	solo    bool   // calls go one by one
	soloBy  millis // until when the others wait for the one under way
	silent  int    // counted answers without limits while not known
	told    millis // when the call was sent whose answer told the limits
	level   int    // how often the limits are halved, after violations
	levelBy millis // until when
	windows []*storeWindow
	seats   []*seat // of the replicas that want something of it, by name
}

func newStoreScope(now, until millis, assumed []limit.Quota) *storeScope {
	s := &storeScope{since: now, until: until, solo: true}
	for _, q := range assumed {
		s.windows = append(s.windows, newStoreWindow(q, now-1))
	}
	s.sort()
	return s
}

func (s *storeScope) sort() {
	slices.SortFunc(s.windows, func(a, b *storeWindow) int { return cmp.Compare(a.w, b.w) })
}

const (
	// storeSoloPatience is how long the others wait for the answer of one that
	// went alone. It is shorter than soloPatience: a permit is as likely to get
	// lost, with the answer that granted it or what was learned by it, as Riot is
	// to answer late. It is SendBy, and half a second for Riot.
	storeSoloPatience = millis(1_500)
	levelLasts        = millis(5 * 60_000) // how long a halving is kept after it was last reported
)

// prepare works out what there is room for, once charges and limits stand.
func (s *storeScope) prepare(now millis, share float64) {
	for _, w := range s.windows {
		w.prepare(now, s.level, share)
	}
}

func (s *storeScope) expire(now millis) {
	for _, w := range s.windows {
		w.expire(now)
	}
	if s.levelBy <= now {
		s.level = 0
	}
}

// free returns how many calls of the scope could be granted before horizon, if
// only charges and stops counted.
func (s *storeScope) free(now, horizon millis) int {
	if s.until > horizon {
		return 0
	}
	n := limit.MostWanted
	if s.solo {
		if s.soloBy > now {
			return 0
		}
		n = 1
	}
	for _, w := range s.windows {
		n = min(n, w.free())
	}
	return max(0, n)
}

// room is free, with pacing, and beside what is kept for high priority.
func (s *storeScope) room(now, horizon millis, slack micros) int {
	n := s.free(now, horizon)
	for _, w := range s.windows {
		n = min(n, w.beside())
		from := max(now, s.until) * 1000
		if w.tat > from-slack {
			from = w.tat // on schedule, or ahead of it
		}
		paced := 0
		if d := horizon*1000 - from; d >= 0 {
			paced = int(d/w.step(s.level)) + 1
		}
		if w.tat == 0 {
			paced = max(paced, 1)
		}
		n = min(n, max(paced, w.burst-w.own.n))
	}
	return max(0, n)
}

// next returns when the next call may start, of those for which there is room.
func (s *storeScope) next(at micros, paced bool) micros {
	at = max(at, s.until*1000)
	if paced {
		for _, w := range s.windows {
			at = max(at, w.next(at))
		}
	}
	return at
}

// grant charges a call that starts at.
func (s *storeScope) grant(at micros, due millis, slack micros, high bool) {
	for _, w := range s.windows {
		if high {
			w.urgent.now++
		}
		w.grant(at, due, slack, s.level)
	}
	if s.solo {
		s.soloBy = ceilMillis(at) + storeSoloPatience
	}
}

func ceilMillis(t micros) millis { return (t + 999) / 1000 }

// done passes on what became of a permit.
func (s *storeScope) done(now millis, d limit.Done) {
	for _, w := range s.windows {
		w.done(now, d)
	}
	if d.Unsent && d.Stub.At >= s.since {
		s.soloBy = 0 // if it went alone, the next one does
	}
}

// learn takes over a fact, and reports whether something changed that nobody
// who waits reckons with.
func (s *storeScope) learn(now millis, f limit.Fact, margin millis) (news bool) {
	ago := f.SentAgo.Milliseconds()
	sent := now - ago
	switch {
	case len(f.Limits) > 0:
		news = s.learnLimits(now, sent, f, margin) || news
		s.known, s.silent = true, 0
	case f.Counted && !s.known:
		s.silent++
		s.known = s.silent >= limit.SilentAnswers
	}
	if f.Level > 0 && f.Level >= s.level {
		s.level, s.levelBy = f.Level, now+levelLasts
	}
	if f.Stop > 0 {
		if until := now + upMillis(f.Stop) + 1; until > s.until {
			s.until, s.cause = until, f.Cause
		}
		s.solo, s.soloBy, s.since = true, 0, now
		return true
	}
	if sent >= s.since {
		news = news || s.solo
		s.soloBy = 0
		s.solo = s.solo && !(f.Passed && s.known)
	}
	return news
}

// learnLimits takes over limits and counts. An answer that came within the margin
// is soon enough for its count a window's length after the sending. It reports
// whether something changed that nobody who waits reckons with.
func (s *storeScope) learnLimits(now, sent millis, f limit.Fact, margin millis) (news bool) {
	quick, latest := now-sent <= margin, min(now, sent+margin)
	busiest := 0
	for _, w := range s.windows {
		busiest = max(busiest, w.own.n)
	}
	current := sent >= s.told // a slow answer may tell of limits that have changed since (R6)
	if current {
		s.told = sent
		// R12: a present header without a known window removes it.
		s.windows = slices.DeleteFunc(s.windows, func(w *storeWindow) bool {
			return !slices.ContainsFunc(f.Limits, func(q limit.Quota) bool { return q.W.Milliseconds() == w.w })
		})
	}
	for _, q := range f.Limits {
		count, told := limit.NumberFor(f.Counts, q.W)
		w := findStoreWindow(s.windows, q.W.Milliseconds()) // R11: join by window seconds, never by position
		switch {
		case w != nil:
			if current && w.setLimit(now, q.N) {
				news = true
			}
			basis, granted := limit.BasisFor(f.Bases, q.W)
			if told && granted && (quick || now-sent <= w.w) && w.count(now, sent, latest, count, basis) {
				news = true
			}
		case current:
			// Calls from before the window was known: those counted, and those
			// under way, which are charged in the others.
			w = newStoreWindow(q, now)
			w.own.add(w.slot(now+w.w), min(max(count, busiest), q.N))
			w.counted = sent
			s.windows = append(s.windows, w)
		}
	}
	s.sort()
	return news
}

// merge adds what a replica knows and has spent on its own.
func (s *storeScope) merge(now millis, v limit.Saved) {
	for _, sw := range v.Windows {
		w := findStoreWindow(s.windows, sw.W.Milliseconds())
		if w == nil && !s.known {
			w = newStoreWindow(limit.Quota{N: sw.N, W: sw.W}, now)
			s.windows = append(s.windows, w)
		}
		if w == nil {
			continue // Riot has another limit by now
		}
		if !s.known {
			w.n = sw.N
		}
		for _, c := range sw.Own {
			w.own.add(w.slot(now-downMillis(c.Age)+w.w), c.N)
			w.granted += c.N // else Riot's next count would show strangers
		}
		for _, c := range sw.Others {
			w.others.add(w.slot(now-downMillis(c.Age)+w.w), c.N)
		}
	}
	s.sort()
	if until := now + upMillis(v.Stop) + 1; v.Stop > 0 && until > s.until {
		s.until, s.cause = until, v.Cause
	}
}

// view describes the scope at now, which has to be prepared. A charge may turn out
// to end earlier by as much as early.
func (s *storeScope) view(now, early millis) limit.View {
	v := limit.View{Known: s.known, Solo: s.solo, Level: s.level, Windows: make([]limit.WindowView, len(s.windows))}
	if s.until > now && s.cause != limit.NotLimited {
		v.Stop, v.Cause = fromMillis(s.until-now), s.cause
	}
	for i, w := range s.windows {
		v.Solo = v.Solo || w.scouted(now)
		v.Windows[i] = limit.WindowView{Quota: limit.Quota{N: w.n, W: fromMillis(w.w)}, Used: w.own.n, Others: w.others.n, Base: w.base()}
		if w.free() < 1 {
			v.Windows[i].Next = fromMillis(max(0, w.freed(now, 1)-now-early))
		}
	}
	return v
}
