package riotsim

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Answer is what the edge decided about one call. It is complete without HTTP.
type Answer struct {
	Status   int  // 200, 404, 429 …; 0 = no answer, the connection is reset
	Kind     Kind // of a 429, otherwise None
	Counted  bool // it raised the counters of its scopes (R3)
	Accepted bool // counted and not refused by any limit, whatever its status
	Own      bool // 429 because the caller sent more than the application or method limit allows: its own fault

	// The rate limit headers (R11); "" = the header is absent.
	AppLimit, AppCount       string
	MethodLimit, MethodCount string
	RetryAfter               string // as on the wire, "" = absent

	Wait time.Duration // until there is room again, for a 429 that has a wait
	Hang time.Duration // how long the answer is held back after counting, by a Fault

	fault *Fault // what else goes wrong; a copy of its own
	word  string // the message of an error body
}

// writeHeader sets the rate limit headers of the answer in h (R11, R13, R14).
func (a *Answer) writeHeader(h http.Header) {
	set := func(name, value string) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	set("X-App-Rate-Limit", a.AppLimit)
	set("X-App-Rate-Limit-Count", a.AppCount)
	set("X-Method-Rate-Limit", a.MethodLimit)
	set("X-Method-Rate-Limit-Count", a.MethodCount)
	if a.Kind != None && a.Kind != Untyped { // R13
		set("X-Rate-Limit-Type", a.Kind.String())
	}
	set("Retry-After", a.RetryAfter)
}

func limitOf(w *window) int { return w.N }
func countOf(w *window) int { return w.count }

// header writes one number of each window, "20:1,100:120". salt shuffles.
func (s *scope) header(order Order, counts Counts, salt uint64, number func(*window) int) string {
	if counts == NoCounts || len(s.windows) == 0 {
		return ""
	}
	windows := s.windows
	if counts == ShortestCount {
		windows = windows[:1]
	}
	var room [64]byte
	b := room[:0]
	last := len(windows) - 1
	var perm []int
	if order == Shuffled {
		perm = permutation(len(windows), salt)
	}
	for i := range windows {
		at := i
		switch order {
		case Descending:
			at = last - i
		case Shuffled:
			at = perm[i]
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = windows[at].appendCount(b, number(windows[at]))
	}
	return string(b)
}

func permutation(n int, salt uint64) []int {
	p := make([]int, n)
	for i := range p {
		j := int(mix(salt+uint64(i)) % uint64(i+1))
		p[i], p[j] = p[j], i
	}
	return p
}

// headers fills in what the counters say.
func (e *Edge) headers(a *Answer, t *tally) {
	salt := mix(e.cfg.Seed^streamOrder) ^ mix(e.serial)
	pair := func(s *scope, salt uint64) (limit, count string) {
		if s == nil || len(s.windows) == 0 {
			return "", ""
		}
		if e.cfg.Order == Shuffled {
			limit = s.header(Shuffled, AllCounts, salt, limitOf)
		} else {
			limit = s.text[e.cfg.Order]
		}
		return limit, s.header(e.cfg.Order, e.cfg.Counts, salt+1, countOf)
	}
	a.AppLimit, a.AppCount = pair(t.app, salt)
	a.MethodLimit, a.MethodCount = pair(t.meth, salt+7)
}

// retryAfter writes the header for a wait that starts at now (R14).
func retryAfter(form RetryAfter, now time.Time, wait time.Duration) string {
	switch form {
	case RetryMissing:
		return ""
	case RetryZero:
		return "0"
	case RetryFraction:
		return strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)
	case RetryDate:
		at := now.Add(wait)
		if at.Nanosecond() > 0 { // HTTP dates have whole seconds
			at = at.Truncate(time.Second).Add(time.Second)
		}
		return at.UTC().Format(http.TimeFormat)
	case RetryGarbage:
		return "soon"
	default:
		return strconv.Itoa(int(math.Ceil(wait.Seconds())))
	}
}
