package window

import (
	"container/heap"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

var modelSeed = flag.Uint64("model.seed", 0, "run the model test with this seed alone")

// model is a client with a backlog before an edge, in virtual time.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	now     limit.Instant
	due     agenda
	policy  Policy
	least   time.Duration // one-way delay
	edge    edge
	service Gate
	app     *Scope
	method  *Scope

	waiting int
	order   int
	live    []*Hold
	answers int

	weather  *weather // nil: one delay, and nobody else uses the key
	changing bool     // the edge's limits change
	alone    bool     // nobody else uses the key: then no call of others may be seen
	wake     limit.Instant
}

type appointment struct {
	at limit.Instant
	do func()
}

type agenda []appointment

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (m *model) after(d time.Duration, do func()) {
	heap.Push(&m.due, appointment{m.now.Add(d), do})
}

// upTo returns a random time below d.
func (m *model) upTo(d time.Duration) time.Duration { return time.Duration(m.rng.Int64N(int64(d))) }

func (m *model) chance(p float64) bool { return m.rng.Float64() < p }

func (m *model) run(until limit.Instant) {
	for len(m.due) > 0 && m.due[0].at <= until {
		a := heap.Pop(&m.due).(appointment)
		m.now = a.at
		a.do()
		m.admit()
	}
}

// admit lets every call go that can.
func (m *model) admit() {
	for m.waiting > 0 {
		p := m.policy
		p.Unpaced = m.chance(0.1)
		p.High = p.Unpaced
		at := max(m.service.Next(m.now), m.app.Next(m.now, p), m.method.Next(m.now, p))
		if at > m.now {
			if at == limit.Never && len(m.live) == 0 {
				m.t.Fatalf("at %v: %d wait forever, and nothing is under way", time.Duration(m.now), m.waiting)
			}
			if at < limit.Never && (m.wake <= m.now || at < m.wake) {
				m.wake = at
				m.after(at.Sub(m.now), func() {})
			}
			return
		}
		m.waiting--
		m.call(p)
	}
}

// call lets one call go, with one of the fates that a call can have.
func (m *model) call(p Policy) {
	h := new(Hold)
	h.Take(m.now, p, &m.service, m.app, m.method)
	m.mustFit()
	m.live = append(m.live, h)
	a := arrival{admitted: m.now, order: m.order}
	m.order++
	known := m.known()

	dial := time.Duration(0)
	if m.chance(0.02) {
		dial = m.upTo(3 * time.Second) // a slow dial
	}
	if m.chance(0.02) {
		m.after(dial, func() { m.end(h, h.Refund) }) // never sent
		return
	}
	m.after(dial, func() {
		h.Sent(m.now, p.Margin)
		up := m.up()
		gone := false
		// Cancelled, perhaps on its way to Riot. (What is under way then isn't
		// charged on a window that appears meanwhile; its count shows it soon.)
		if !m.changing && m.chance(0.03) {
			m.after(m.upTo(2*up), func() {
				if !gone {
					gone = true
					m.end(h, h.Abandon)
				}
			})
		}
		m.after(up, func() {
			a.at = m.now
			ok := m.edge.arrive(a, m.app, m.method, known)
			answer := m.edge.answer(ok)
			m.after(m.down(), func() {
				if !gone {
					gone = true
					m.learn(h, answer)
				}
			})
		})
	})
}

func (m *model) up() time.Duration {
	if w := m.weather; w != nil {
		return w.base + m.upTo(m.policy.Margin-w.base)
	}
	return m.least + m.upTo(m.policy.Margin)
}

// down returns the delay of an answer: mostly short, sometimes slow, now and
// then hung.
func (m *model) down() time.Duration {
	switch {
	case m.weather != nil && m.weather.thinking:
		return 500*time.Millisecond + m.upTo(2500*time.Millisecond)
	case m.chance(0.01):
		return time.Minute
	case m.chance(0.05):
		return 500*time.Millisecond + m.upTo(2500*time.Millisecond)
	}
	return time.Millisecond + m.upTo(2*m.policy.Margin)
}

func (m *model) learn(h *Hold, a Answer) {
	if !m.changing && m.chance(0.02) {
		a = Answer{Status: 502} // of the gateway: counted, but tells nothing
	}
	m.answers++
	lesson := Learn(m.now, a, h, &m.service, m.app, m.method, m.policy.Margin)
	if lesson.Fresh {
		for _, other := range m.live {
			other.Join(m.now, m.policy.Margin)
		}
	}
	if lesson.Kind.Own() && !m.changing && m.alone {
		m.t.Errorf("own 429 at %v: %+v", time.Duration(m.now), a)
	}
	m.end(h, func() { h.Settle(m.now, m.policy.Margin) })
	if !m.alone || m.changing {
		return
	}
	for _, w := range append(m.app.windows, m.method.windows...) {
		if w.others.n > 0 {
			m.t.Fatalf("at %v: %d calls of others seen on %v, but there are none", time.Duration(m.now), w.others.n, w.quota)
		}
	}
}

func (m *model) end(h *Hold, how func()) {
	how()
	for i, other := range m.live {
		if other == h {
			m.live = append(m.live[:i], m.live[i+1:]...)
			return
		}
	}
	m.t.Fatal("ended twice")
}

func (m *model) known() map[*edgeWindow]int {
	known := map[*edgeWindow]int{}
	look := func(s *Scope, windows []*edgeWindow) {
		for _, e := range windows {
			for _, w := range s.windows {
				if s.known && w.quota.W == e.w {
					known[e] = w.quota.N
				}
			}
		}
	}
	look(m.app, m.edge.app)
	look(m.method, m.edge.method)
	return known
}

// mustFit checks that a call was let go only where there was room.
func (m *model) mustFit() {
	for _, s := range []*Scope{m.app, m.method} {
		for _, w := range s.windows {
			if w.used() > w.quota.N || w.pending < 0 || w.sent.n < 0 || w.answered.n < 0 || w.others.n < 0 {
				m.t.Fatalf("at %v: %v: %d charges (%d pending)", time.Duration(m.now), w.quota, w.used(), w.pending)
			}
		}
	}
}

func newModel(t *testing.T, seed uint64) *model {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &model{t: t, rng: rng, alone: true, changing: rng.IntN(4) == 0}
	m.policy = Policy{Burst: []float64{0, 0.25, 1}[rng.IntN(3)], Margin: 5*time.Millisecond + m.upTo(300*time.Millisecond)}
	m.least = time.Millisecond + m.upTo(100*time.Millisecond)
	m.edge.kind = []string{"fixed", "sliding", "aligned"}[rng.IntN(3)]
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	m.edge.app = []*edgeWindow{{n: 5 + rng.IntN(40), w: second(1)}, {n: 40 + rng.IntN(60), w: second(8 + rng.IntN(20))}}
	m.edge.method = []*edgeWindow{{n: 10 + rng.IntN(60), w: second(1 + rng.IntN(10))}}
	start := limit.Instant(time.Second)
	m.app, m.method = NewScope(start, []limit.Quota{{N: 20, W: time.Second}, {N: 100, W: 2 * time.Minute}}), NewScope(start, nil)
	for at := time.Duration(0); at < 90*time.Second; at += m.upTo(10 * time.Second) { // bursts
		n := 1 + rng.IntN(150)
		m.after(at, func() { m.waiting += n })
	}
	if m.changing {
		for range 1 + rng.IntN(5) {
			m.after(m.upTo(90*time.Second), func() { m.edge.change(rng) })
		}
	}
	return m
}

// TestModel lets random schedules run before a naive judge: whatever happens
// to calls, no interval of a window's length holds more arrivals than the
// limit, and nobody is taken for another.
func TestModel(t *testing.T) {
	run := func(seed uint64) {
		m := newModel(t, seed)
		defer func() {
			if t.Failed() {
				t.Logf("-model.seed=%d: %s edge, changing %v, least delay %v, policy %+v", seed, m.edge.kind, m.changing, m.least, m.policy)
			}
		}()
		m.run(limit.Instant(120 * time.Second))
		if err := m.edge.judge(); err != nil {
			t.Errorf("%v", err)
		}
		if m.answers < 50 && !m.changing {
			t.Errorf("%d answers: the test tests nothing", m.answers)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if *modelSeed != 0 {
		run(*modelSeed)
		return
	}
	for seed := range uint64(300) {
		run(seed + 1)
	}
}
