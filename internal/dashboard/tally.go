package dashboard

import (
	"net/http"
	"sync"

	"riftrelay"
	"riftrelay/route"
)

// tally counts what happens until the sampler takes it away, once a second.
type tally struct {
	mu  sync.Mutex
	now *second
	old *second // emptied, for the next time
}

// second is what happened between two samples.
type second struct {
	calls    int // that came
	refused  int // by us
	failed   int // of refused, for a full queue or after all the time there was: not because the caller had no time
	retries  int
	limited  [4]int // 429s of Riot: application, method, service, anything else
	ours     int    // of limited, those of our own making
	places   map[place]*happened
	anywhere happened // what came when places were full
}

// place is what a try at Riot is counted under.
type place struct {
	key, host string
	method    *route.Method
}

// happened is what happened at one place.
type happened struct {
	sent   int
	waits  waits
	status int                 // of the latest answer, noAnswer for none; 0 = nothing was answered
	kind   riftrelay.LimitKind // of a 429
}

const (
	noAnswer   = -1
	mostPlaces = 20_000 // no legal table comes near that
)

func newSecond() *second { return &second{places: map[place]*happened{}} }

// at finds or makes a place. t.mu is held.
func (t *tally) at(key string, r route.Route) *happened {
	if t.now == nil {
		t.now = newSecond()
	}
	p := place{key, r.Host, r.Method}
	h := t.now.places[p]
	if h != nil {
		return h
	}
	if len(t.now.places) >= mostPlaces || r.Method == nil {
		return &t.now.anywhere
	}
	h = new(happened)
	t.now.places[p] = h
	return h
}

func (t *tally) admission(e riftrelay.AdmissionEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = newSecond()
	}
	if e.Try <= 1 {
		t.now.calls++
	}
	switch {
	case e.Outcome == riftrelay.OutcomeCanceled:
	case e.Reason != "":
		t.now.refused++
		if e.Reason == riftrelay.ReasonQueueFull || e.Reason == riftrelay.ReasonTimeout {
			t.now.failed++
		}
	default:
		h := t.at(e.Key, e.Route)
		h.sent++
		h.waits.count(e.Waited)
	}
}

func (t *tally) answer(e riftrelay.AnswerEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.at(e.Key, e.Route)
	h.status, h.kind = e.Status, e.Kind
	if e.Status == 0 {
		h.status = noAnswer
	}
	if e.Status == http.StatusTooManyRequests {
		t.now.limited[kindOf(e.Kind)]++
		if e.Own {
			t.now.ours++
		}
	}
	if e.Retry {
		t.now.retries++
	}
}

// kindOf returns the place of a kind in second.limited.
func kindOf(k riftrelay.LimitKind) int {
	switch k {
	case riftrelay.LimitApplication:
		return 0
	case riftrelay.LimitMethod:
		return 1
	case riftrelay.LimitService:
		return 2
	}
	return 3
}

// take returns what happened since the last time. It is the caller's until he
// gives it back.
func (t *tally) take() *second {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.now
	if s == nil {
		s = newSecond()
	}
	t.now, t.old = t.old, nil
	return s
}

// giveBack has s used again.
func (t *tally) giveBack(s *second) {
	places := s.places
	for p, h := range places {
		if h.sent == 0 && h.status == 0 {
			delete(places, p) // nothing happened for a second
			continue
		}
		*h = happened{}
	}
	*s = second{places: places}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.old = s
}
