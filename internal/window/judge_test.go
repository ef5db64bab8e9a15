package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"riftrelay/internal/limit"
)

// edge is a naive Riot: it counts a call when it arrives, by one of three kinds
// of windows, and remembers everything.
type edge struct {
	kind        string // fixed, sliding or aligned
	app, method []*edgeWindow
	gone        []*edgeWindow
	rejected    int
}

type edgeWindow struct {
	n        int
	w        time.Duration
	open     limit.Instant // of the present window
	count    int
	arrivals []arrival // all of them
}

// arrival is a call as the judge sees it.
type arrival struct {
	at, admitted limit.Instant
	order        int // of admission
	knownN       int // the limit that the client knew at admission, 0 for none
}

// arrive counts a call of the client's, or of another one when a.order < 0,
// and reports whether it is accepted.
func (e *edge) arrive(a arrival, app, method *Scope, known map[*edgeWindow]int) bool {
	ok := true
	for _, w := range slices.Concat(e.app, e.method) {
		a.knownN = known[w]
		w.arrivals = append(w.arrivals, a)
		switch {
		case e.kind == "sliding":
			w.count = 0
			for i := len(w.arrivals) - 1; i >= 0 && w.arrivals[i].at > a.at.Add(-w.w); i-- {
				w.count++
			}
		case e.kind == "aligned" && w.open/limit.Instant(w.w) != a.at/limit.Instant(w.w), e.kind == "fixed" && a.at >= w.open.Add(w.w), w.count == 0:
			w.open, w.count = a.at, 1
		default:
			w.count++ // R2: before the check
		}
		ok = ok && w.count <= w.n
	}
	if !ok && a.order >= 0 {
		e.rejected++
	}
	return ok
}

func header(windows []*edgeWindow) (limits, counts string) {
	var ls, cs []string
	for _, w := range windows {
		ls = append(ls, fmt.Sprintf("%d:%d", w.n, w.w/time.Second))
		cs = append(cs, fmt.Sprintf("%d:%d", w.count, w.w/time.Second))
	}
	return strings.Join(ls, ","), strings.Join(cs, ",")
}

// answer returns what the edge answers to a call that it has just counted.
func (e *edge) answer(ok bool) Answer {
	a := Answer{Status: 200}
	a.AppLimit, a.AppCount = header(e.app)
	a.MethodLimit, a.MethodCount = header(e.method)
	if !ok {
		a.Status, a.Type, a.RetryAfter = 429, "method", []string{"1"}
		for _, w := range e.app {
			if w.count > w.n {
				a.Type = "application"
			}
		}
	}
	return a
}

// change changes limits at run time: raised, lowered, removed, added.
func (e *edge) change(rng *rand.Rand) {
	list := &e.app
	if rng.IntN(2) == 0 {
		list = &e.method
	}
	i := rng.IntN(len(*list))
	switch w := (*list)[i]; rng.IntN(4) {
	case 0:
		w.n *= 2
	case 1:
		w.n = max(1, w.n/2)
	case 2:
		if len(*list) > 1 {
			e.gone = append(e.gone, w)
			*list = slices.Delete(*list, i, i+1)
		}
	case 3:
		length := time.Duration(2+rng.IntN(5)) * time.Second
		if !slices.ContainsFunc(*list, func(w *edgeWindow) bool { return w.w == length }) {
			*list = append(*list, &edgeWindow{n: 1 + rng.IntN(40), w: length})
		}
	}
}

// judge returns the first interval of a window's length that held more arrivals
// than the limit which the client knew when it admitted the last of them.
func (e *edge) judge() error {
	for _, w := range slices.Concat(e.app, e.method, e.gone) {
		// By sorted arrivals; those of one moment are in any order.
		all := slices.Clone(w.arrivals)
		slices.SortStableFunc(all, func(a, b arrival) int { return int(a.at - b.at) })
		for i, last := range all {
			if last.knownN == 0 {
				continue
			}
			lo, hi := i, i
			for lo > 0 && all[lo-1].at > last.at.Add(-w.w) {
				lo--
			}
			for hi < len(all)-1 && all[hi+1].at < last.at.Add(w.w) {
				hi++
			}
			var near []limit.Instant // admitted no later than last
			for _, a := range all[lo : hi+1] {
				if a.order >= 0 && a.order <= last.order {
					near = append(near, a.at)
				}
			}
			for k := last.knownN; k < len(near); k++ {
				if first := near[k-last.knownN]; near[k]-first < limit.Instant(w.w) && first <= last.at && last.at <= near[k] {
					return fmt.Errorf("window %d:%v: more than %d arrivals from %v to %v", w.n, w.w, last.knownN, time.Duration(first), time.Duration(near[k]))
				}
			}
		}
	}
	return nil
}
