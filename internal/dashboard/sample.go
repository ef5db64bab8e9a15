package dashboard

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"riftrelay"
)

// state is what the sampler owns.
type state struct {
	samples int
	first   time.Time
	at      time.Time // of the latest sample
	turned  time.Time // when the waits' half minute began
	history history
	rows    map[name]*row
	order   []*row // by id
	ids     int    // given so far
	general []byte // of the latest sample: what is not of a row
	clients clientPasts
	told    int // the last event that viewers have

	viewers int
	tail    *frame // what the next sample will bring
	hello   []byte // for those who come before the next sample; nil until somebody does
}

func newState() state {
	return state{rows: map[name]*row{}, clients: clientPasts{}, tail: newFrame()}
}

const (
	rateOver  = 5 * time.Second  // a rate is a mean that fades over this time
	waitsOver = 30 * time.Second // waits are those of the last half to whole minute
	idleFor   = 10 * time.Minute
)

// A snapshot of many scopes takes the limiter's lock for a while: when nobody
// looks, it is taken less often.
const (
	manyScopes  = 500
	whenNobodys = 5 * time.Second
)

// due reports whether it is time for a sample, when one could be taken each
// second.
func (d *Dashboard) due(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.viewers > 0 || len(d.order) < manyScopes || now.Sub(d.at) > whenNobodys-time.Second/2
}

// sample looks at everything.
func (d *Dashboard) sample(now time.Time) {
	s := d.tally.take()
	snapshot := d.snapshot() // not under d.mu: it takes the limiter's lock
	var clients []Client
	if d.options.Clients != nil {
		clients = d.options.Clients()
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	over := time.Second
	if d.samples > 0 {
		over = min(max(now.Sub(d.at), time.Second/10), time.Minute)
	} else {
		d.first = now
	}
	d.samples++
	d.at = now
	d.hello = nil
	d.place(&snapshot)
	all, sent := d.count(s, now)
	d.age(over, now)
	d.history.add(d.point(s, &snapshot, &all, sent, over))
	d.general = general(&snapshot, d.clients.at(now, clients), d.options.Exposed(), d.options.Connections())
	gone := d.forget(now)
	if d.viewers > 0 {
		d.publish(d.tick(gone))
	}
	for _, r := range d.order {
		r.happening = 0
	}
	d.tally.giveBack(s)
}

// row finds or makes the row of that name.
func (s *state) row(n name) *row {
	r := s.rows[n]
	if r == nil {
		s.ids++
		r = &row{id: s.ids, name: n}
		s.rows[n] = r
		s.order = append(s.order, r)
	}
	return r
}

// place returns each row its part of the snapshot.
func (s *state) place(snapshot *riftrelay.Snapshot) {
	for _, r := range s.order {
		r.scope, r.queues = nil, r.queues[:0]
	}
	for i := range snapshot.Scopes {
		sc := &snapshot.Scopes[i]
		r := s.row(name{sc.Key, sc.Host, sc.Method})
		r.scope, r.seen = sc, s.samples
	}
	for _, q := range snapshot.Queues {
		// A method has one queue over all keys: the first of its rows has it.
		n := name{host: q.Host, method: q.Method}
		i, found := slices.BinarySearchFunc(snapshot.Scopes, n, func(sc riftrelay.ScopeState, n name) int {
			return cmp.Or(cmp.Compare(sc.Host, n.host), cmp.Compare(sc.Method, n.method), cmp.Compare(sc.Key, n.key))
		})
		if !found && i < len(snapshot.Scopes) && snapshot.Scopes[i].Host == q.Host && snapshot.Scopes[i].Method == q.Method {
			n.key = snapshot.Scopes[i].Key
		}
		r := s.row(n)
		r.queues, r.seen = append(r.queues, q), s.samples
	}
}

// count puts what happened in the rows, and sums it up.
func (s *state) count(what *second, now time.Time) (all waits, sent int) {
	for p, h := range what.places {
		if h.sent == 0 && h.status == 0 {
			continue
		}
		r := s.row(name{p.key, p.host, p.method.String()})
		r.happened(h, now)
		r.happening += h.sent
		app := s.row(name{p.key, p.host, ""})
		app.happened(&happened{sent: h.sent, waits: h.waits}, now)
		app.happening += h.sent
		all.add(&h.waits)
		sent += h.sent
	}
	all.add(&what.anywhere.waits)
	return all, sent + what.anywhere.sent
}

// age brings the recent counts up to now.
func (s *state) age(over time.Duration, now time.Time) {
	turn := now.Sub(s.turned) >= waitsOver
	if turn {
		s.turned = now
	}
	second := int(now.Sub(s.first).Round(time.Second) / time.Second)
	fade := math.Exp(-float64(over) / float64(rateOver))
	for _, r := range s.order {
		r.rate = r.rate*fade + float64(r.happening)/over.Seconds()*(1-fade)
		if turn {
			if r.waits[0].n > 0 {
				r.waits[1] = r.waits[0]
				r.waits[0] = waits{}
			} else if r.waits[1].n > 0 {
				r.waits[1] = waits{}
			}
		}
		r.remember(second)
	}
}

func (s *state) point(what *second, snapshot *riftrelay.Snapshot, all *waits, sent int, over time.Duration) Point {
	p := Point{
		At: s.at.Unix(), Over: math.Round(over.Seconds()*100) / 100, Calls: what.calls, Sent: sent, Ceiling: s.ceiling(), Queued: snapshot.Queued, InFlight: snapshot.InFlight,
		P50: all.percentile(0.5, nil), P95: all.percentile(0.95, nil),
		Limited: what.limited, Ours: what.ours, Retries: what.retries, Refused: what.refused, Failed: what.failed,
	}
	for _, q := range snapshot.Queues {
		p.Oldest = max(p.Oldest, q.Oldest.Milliseconds())
	}
	return p
}

// ceiling is how many calls a second the application limits allow in the long
// run, of the keys and hosts that are in use.
func (s *state) ceiling() float64 {
	total := 0.0
	for _, r := range s.order {
		if r.scope == nil || r.name.method != "" {
			continue
		}
		least, used := math.Inf(1), r.rate >= 0.05
		for _, w := range r.scope.Windows {
			n := max(1, w.Limit>>min(r.scope.Halved, 30))
			least = min(least, float64(n)/w.Window.Seconds())
			used = used || w.Used > 0
		}
		if used && !math.IsInf(least, 1) {
			total += least
		}
	}
	return math.Round(total*100) / 100
}

// forget drops the rows of which there is nothing left to tell.
func (s *state) forget(now time.Time) (gone []int) {
	s.order = slices.DeleteFunc(s.order, func(r *row) bool {
		if r.seen == s.samples || now.Sub(r.busy) < idleFor {
			return false
		}
		delete(s.rows, r.name)
		if r.sent != nil {
			gone = append(gone, r.id)
		}
		return true
	})
	return gone
}

// tick writes what has changed since the sample before: what every viewer has.
func (s *state) tick(gone []int) []byte {
	b := make([]byte, 0, 1<<10+64*len(s.order))
	b = s.begin(b)
	b = append(b, `,"point":`...)
	b = s.history.points[(s.history.n-1)%depth].appendJSON(b)
	b = append(b, `,"gone":`...)
	b = append(b, encode(append([]int{}, gone...))...)
	b = append(b, `,"rows":[`...)
	for _, r := range s.order {
		known := r.sent != nil
		if r.encode() {
			b = r.appendJSON(b, !known)
		}
	}
	return append(b, ']')
}

// all writes all rows and the whole past, for those who come.
func (s *state) all(b []byte) []byte {
	b = s.begin(b)
	b = append(b, `,"history":`...)
	b = s.history.appendJSON(b)
	b = append(b, `,"rows":[`...)
	for _, r := range s.order {
		if s.viewers == 0 || r.sent == nil {
			r.encode()
		}
		b = r.appendJSON(b, true)
	}
	return append(b, ']')
}

func (s *state) begin(b []byte) []byte {
	b = append(b, `"n":`...)
	b = strconv.AppendInt(b, int64(s.samples), 10)
	b = append(b, `,"at":`...)
	b = strconv.AppendInt(b, millis(s.at), 10)
	b = append(b, `,"general":`...)
	if s.general == nil {
		return append(b, "null"...)
	}
	return append(b, s.general...)
}
