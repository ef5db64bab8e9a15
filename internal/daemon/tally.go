package daemon

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"riftrelay"
)

// outcome is what became of a call.
type outcome struct {
	relay  int // which of them was called
	status int
	reason string // of the relay's refusal, "failed" without a whole answer, "" when Riot answered
}

// counts are calls since the start. Sent = Accepted + TooMany + Refused + those
// under way.
type counts struct {
	Sent, Accepted, TooMany int
	Refused                 map[string]int  // by reason
	By                      [mostRelays]int // Accepted, by relay
}

// mostRelays is how many relays share a demo's load at most.
const mostRelays = 8

// tally counts what the clients see, and hears from the limiter how long calls
// waited. The limiter's hooks come from many goroutines.
type tally struct {
	mu    sync.Mutex
	c     counts
	waits [2]remembered // by riftrelay.Priority
}

const mostRemember = 4096 // waits

type remembered struct {
	list []waited // a ring
	next int
}

type waited struct {
	at time.Time
	d  time.Duration
}

func (t *tally) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.c.Sent++
}

func (t *tally) answered(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.reason != "":
		if t.c.Refused == nil {
			t.c.Refused = map[string]int{}
		}
		t.c.Refused[o.reason]++
	case o.status == http.StatusTooManyRequests:
		t.c.TooMany++
	default:
		t.c.Accepted++
		t.c.By[o.relay]++
	}
}

// Admission hears of a wait.
func (t *tally) Admission(_ context.Context, e riftrelay.AdmissionEvent) {
	if e.Outcome != riftrelay.OutcomeAdmitted {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.waits[e.Priority]
	w := waited{time.Now(), e.Waited}
	if len(r.list) < mostRemember {
		r.list = append(r.list, w)
		return
	}
	r.list[r.next] = w
	r.next = (r.next + 1) % mostRemember
}

// counts copies the counts.
func (t *tally) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.c
	c.Refused = make(map[string]int, len(t.c.Refused))
	for reason, n := range t.c.Refused {
		c.Refused[reason] = n
	}
	return c
}

// since returns the percentiles of the waits that ended after from.
func (t *tally) since(from time.Time, p riftrelay.Priority) waits {
	t.mu.Lock()
	var ds []time.Duration
	for _, w := range t.waits[p].list {
		if w.at.After(from) {
			ds = append(ds, w.d)
		}
	}
	t.mu.Unlock()
	if len(ds) == 0 {
		return waits{}
	}
	slices.Sort(ds)
	return waits{N: len(ds), P50: ds[(len(ds)-1)/2], P95: ds[(len(ds)-1)*95/100]}
}

// reasons lists refusals for people, most frequent first.
func (c counts) reasons() string {
	if len(c.Refused) == 0 {
		return "none"
	}
	var list []string
	for reason := range c.Refused {
		list = append(list, reason)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(c.Refused[b]-c.Refused[a], cmp.Compare(a, b)) })
	for i, reason := range list {
		list[i] = reason + " " + strconv.Itoa(c.Refused[reason])
	}
	return strings.Join(list, ", ")
}

func (c counts) refused() int {
	n := 0
	for _, some := range c.Refused {
		n += some
	}
	return n
}
