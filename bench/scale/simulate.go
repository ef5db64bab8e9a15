package main

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
)

// plan is what is simulated.
type plan struct {
	replicas, hosts, keys int
	rate                  int // requests/s, spread evenly over all
	trip, riot, length    time.Duration
	forget                bool // the store loses everything when the measuring begins
}

// result is what came of it.
type result struct {
	requests, calls int
	waited          time.Duration // of all requests together
	length          time.Duration
}

func (r result) callsPerSecond() float64 { return float64(r.calls) / r.length.Seconds() }
func (r result) perRequest() float64     { return float64(r.calls) / float64(max(1, r.requests)) }
func (r result) meanWait() time.Duration { return r.waited / time.Duration(max(1, r.requests)) }

// event is what happens at a time.
type event struct {
	at limit.Instant
	do func()
}

type agenda []event

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

// world is the simulation.
type world struct {
	plan
	now    limit.Instant
	todo   agenda
	store  *memstore.MemoryStore
	desks  map[place]*desk
	users  map[limit.Budget][]*desk
	hints  <-chan limit.Hint
	began  limit.Instant // of what is measured
	result result
}

type place struct{ replica, key, host int }

// desk is a replica's side of one budget.
type desk struct {
	w       *world
	budget  limit.Budget
	replica string
	waiting []limit.Instant // since when
	done    []limit.Done
	at      []limit.Instant // of done
	facts   []limit.Fact
	sent    []limit.Instant // of facts
	asking  bool
	epoch   int64 // of the store, by its last answer
	hear    bool  // the store has another epoch
	flush   bool
	urgent  bool          // the store waits for what an answer teaches
	from    limit.Instant // not to ask before
}

// flushAfter is how long a relay keeps reports for company, with windows of ten
// seconds and more.
const flushAfter = 5 * time.Second

// warmUp is how long limits are learned before anything is measured.
const warmUp = 5 * time.Second

const method = "/lol/match/v5/matches/{matchId}"

var (
	appLimit    = []limit.Quota{{N: 500, W: 10 * time.Second}, {N: 30_000, W: 10 * time.Minute}}
	methodLimit = []limit.Quota{{N: 2000, W: 10 * time.Second}}
)

func (p plan) simulate() result {
	w := &world{plan: p, now: 1, desks: map[place]*desk{}, users: map[limit.Budget][]*desk{}}
	w.store = memstore.NewMemoryStore(func() limit.Instant { return w.now })
	w.hints = w.store.Hints(context.Background())
	w.began = w.now.Add(warmUp)
	if p.forget {
		w.after(warmUp, w.store.Forget)
	}
	end := w.began.Add(p.length)
	rng := rand.New(rand.NewPCG(1, uint64(p.rate)))
	var arrive func()
	arrive = func() {
		w.desk(place{rng.IntN(p.replicas), rng.IntN(p.keys), rng.IntN(p.hosts)}).request()
		w.after(time.Duration(rng.ExpFloat64()*float64(time.Second)/float64(p.rate)), arrive)
	}
	arrive()
	for range p.replicas { // each says every second that it lives
		var beat func()
		beat = func() {
			w.called()
			w.after(time.Second, beat)
		}
		w.after(time.Duration(rng.Int64N(int64(time.Second))), beat)
	}
	for len(w.todo) > 0 && w.todo[0].at < end {
		e := heap.Pop(&w.todo).(event)
		w.now = e.at
		e.do()
	}
	w.result.length = p.length
	return w.result
}

func (w *world) after(d time.Duration, do func()) { heap.Push(&w.todo, event{w.now.Add(d), do}) }

// tell passes on the store's hints to all who use the budget.
func (w *world) tell() {
	for len(w.hints) > 0 {
		h := <-w.hints
		for _, d := range w.users[h.Budget] {
			w.after(w.trip/2, func() { d.hint(h) })
		}
	}
}

func (w *world) called() {
	if w.now >= w.began {
		w.result.calls++
	}
}

func (w *world) desk(p place) *desk {
	d := w.desks[p]
	if d == nil {
		d = &desk{w: w, budget: limit.Budget{Key: fmt.Sprint("k", p.key), Host: fmt.Sprint("h", p.host)}, replica: fmt.Sprint("r", p.replica)}
		w.desks[p] = d
		w.users[d.budget] = append(w.users[d.budget], d)
	}
	return d
}

func (d *desk) request() {
	d.waiting = append(d.waiting, d.w.now)
	d.ask()
}

// hint has the replica ask at once, if it waits, or if it has used a budget that
// is new in the store. That it then has anything to tell is taken for granted.
func (d *desk) hint(h limit.Hint) {
	d.hear = d.hear || h.Epoch != 0 && d.epoch != 0 && d.epoch != h.Epoch
	d.from = 0
	d.ask()
}

// ask asks for what waits, and reports. One question is under way at a time.
func (d *desk) ask() {
	w := d.w
	if d.asking || len(d.waiting) == 0 && !d.flush && !d.hear || w.now < d.from {
		return
	}
	a := &limit.Ask{Budget: d.budget, Replica: d.replica, Burst: 0, Margin: 20 * time.Millisecond, Horizon: 2*w.trip + 20*time.Millisecond}
	if n := min(len(d.waiting), limit.MostWanted); n > 0 {
		a.Demands = []limit.Demand{{Method: method, Want: [2]int{n, 0}}}
	}
	for i, x := range d.done {
		x.Ago = w.now.Sub(d.at[i])
		a.Done = append(a.Done, x)
	}
	for i, f := range d.facts {
		f.SentAgo = w.now.Sub(d.sent[i])
		a.Facts = append(a.Facts, f)
	}
	d.done, d.at, d.facts, d.sent, d.flush, d.hear = nil, nil, nil, nil, false, false
	d.asking = true
	w.after(w.trip/2, func() {
		w.called()
		r, err := w.store.Admit(context.Background(), a)
		if err != nil {
			panic(err)
		}
		w.tell()
		w.after(w.trip/2, func() { d.answered(a, r) })
	})
}

func (d *desk) answered(a *limit.Ask, r limit.Reply) {
	w := d.w
	d.asking = false
	d.hear = d.hear || d.epoch != 0 && d.epoch != r.Epoch // to tell what was spent
	d.epoch = r.Epoch
	d.urgent = !r.App.Known || r.App.Solo
	for _, v := range r.Views {
		d.urgent = d.urgent || !v.Known || v.Solo
	}
	for _, g := range r.Grants {
		since := d.waiting[0]
		d.waiting = d.waiting[1:]
		w.after(g.Start, func() { d.call(g.Stub, since) })
	}
	if len(a.Demands) > 0 && len(d.waiting) > 0 && r.Waits[0].In > 0 {
		d.from = w.now.Add(r.Waits[0].In)
		w.after(r.Waits[0].In, d.ask)
		return
	}
	d.ask()
}

// call is one at Riot.
func (d *desk) call(stub limit.Stub, since limit.Instant) {
	w := d.w
	if w.now >= w.began {
		w.result.requests++
		w.result.waited += w.now.Sub(since)
	}
	sent := w.now
	w.after(w.riot, func() {
		d.done, d.at = append(d.done, limit.Done{Stub: stub}), append(d.at, min(w.now, sent.Add(20*time.Millisecond)))
		if len(d.facts) == 0 { // what is the same is told once
			for _, f := range []limit.Fact{{Limits: appLimit}, {Method: method, Limits: methodLimit}} {
				f.Passed, f.Counted = true, true
				d.facts, d.sent = append(d.facts, f), append(d.sent, sent)
			}
		}
		w.after(flushAfter, func() {
			d.flush = len(d.done) > 0 && w.now.Sub(d.at[0]) >= flushAfter-w.riot
			d.ask()
		})
		d.flush = d.flush || d.urgent
		d.ask()
	})
}
