package top

import (
	"cmp"
	"slices"
	"strings"
)

// row is a scope of Riot's with what waits for it, or what waits alone.
type row struct {
	key, host, method string
	windows           []window
	stopped           seconds
	cause             string
	halved, inFlight  int
	waiting           int
	oldest            seconds
	queues            []queue
}

func (r row) id() string { return r.key + "\x00" + r.host + "\x00" + r.method }

// name is the method's, or what stands for the application's own scope.
func (r row) name() string { return cmp.Or(r.method, "application") }

// rows lists the scopes. A queue of a method is shown at each key that serves
// it: who goes next goes where there is room first.
func (s *state) rows() []row {
	var rows []row
	for _, sc := range s.Scopes {
		r := row{
			key: string(sc.Key), host: string(sc.Host), method: string(sc.Method),
			stopped: sc.Cooldown, cause: string(sc.Cause), halved: sc.Halved, inFlight: sc.InFlight, windows: sc.Windows,
		}
		rows = append(rows, r)
	}
	for _, q := range s.Queues {
		found := false
		for i := range rows {
			if r := &rows[i]; r.host == string(q.Host) && r.method == string(q.Method) {
				found = true
				r.add(q)
			}
		}
		if !found {
			rows = append(rows, row{host: string(q.Host), method: string(q.Method)})
			rows[len(rows)-1].add(q)
		}
	}
	return rows
}

func (r *row) add(q queue) {
	r.waiting += q.Depth
	r.oldest = max(r.oldest, q.Oldest)
	r.queues = append(r.queues, q)
}

// fullest is the window of which the largest share is used; of those alike the
// longest.
func (r row) fullest() (w window, found bool) {
	for _, c := range r.windows {
		if !found || c.share() > w.share() || c.share() == w.share() && c.Window > w.Window {
			w, found = c, true
		}
	}
	return w, found
}

func (w window) share() float64 { return float64(w.Used) / float64(max(1, w.Limit)) }

// pressure is how much a row deserves to be looked at: what is stopped, then
// what calls wait for, then what is full.
func (r row) pressure() float64 {
	w, _ := r.fullest()
	p := w.share()
	if r.waiting > 0 {
		p += 10
	}
	if r.stopped > 0 {
		p += 100
	}
	return p
}

// matches finds all words of a filter in a row.
func (r row) matches(filter string) bool {
	in := strings.ToLower(r.key + " " + r.host + " " + r.name())
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}

// order is how rows are sorted.
type order int

const (
	byPressure order = iota
	byWaiting
	byName
	orders
)

func (o order) String() string { return [...]string{"pressure", "waiting", "name"}[o] }

func (o order) apply(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		first := 0
		switch o {
		case byPressure:
			first = cmp.Compare(b.pressure(), a.pressure())
		case byWaiting:
			first = cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(b.oldest, a.oldest))
		}
		return cmp.Or(first, cmp.Compare(a.host, b.host), cmp.Compare(a.method, b.method), cmp.Compare(a.key, b.key))
	})
}
