package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// chaos does random things to a machine and keeps account of every call.
type chaos struct {
	t       *testing.T
	r       *rand.Rand
	names   *rand.Rand // of clients: who calls changes nothing of the rest
	m       *Machine
	now     limit.Instant
	waiting map[*Waiter]int // by the order of their coming, from 1
	permits []*Permit
	bursts  []float64
	asked   int // calls that were neither refused nor cancelled
	let     int
	stops   map[string]bool // that were told to begin
	large   bool            // limits of which some slots are kept free for high priority
}

// TestRandomOperations checks, after each of many random steps, that the
// machine is consistent, that no call waits that could go, and that NextWake
// is never later than the moment at which one can; and, at the end, that
// everything is served in a bounded number of wake-ups.
func TestRandomOperations(t *testing.T) {
	seeds := []uint64{237, 263, 293, 357, 663, 794, 983} // which found late wake-ups that the first ones miss
	for seed := range uint64(128) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			c := &chaos{t: t, r: r, names: rand.New(rand.NewPCG(seed, 4)), waiting: map[*Waiter]int{}, now: limit.Instant(time.Hour), bursts: []float64{0}, stops: map[string]bool{}}
			if seed%4 == 0 {
				c.bursts = []float64{0, 0.25, 1}
			}
			cfg := Config{
				Keys: 1 + r.IntN(3), Burst: c.bursts[r.IntN(len(c.bursts))], Margin: 150 * time.Millisecond,
				Shares:  func(_, method string) []window.Share { return randomShares(method) },
				Assumed: []limit.Quota{{N: 5, W: time.Second}}, QueueCapacity: 20, QueueTotal: 60, Start: c.now.Add(150 * time.Millisecond),
				Watch: seed%3 > 0,
			}
			if seed%5 > 1 {
				cfg.Alias = func(_, method string) string { return map[string]string{"/x": "x"}[method] }
			}
			if seed%2 == 1 {
				cfg.Margin, cfg.MaxMargin = 5*time.Millisecond, 2*time.Second // J is learned
			}
			c.m = New(cfg)
			c.large = seed%4 == 3
			if c.large { // in use, so that not much is free
				for c.now < c.m.cfg.Start.Add(time.Second) {
					c.step()
					c.poll()
				}
				c.fill(45)
			}
			for range 400 {
				c.step()
				c.poll()
				c.hear()
			}
			c.finish()
		})
	}
}

// fill makes n calls of high priority.
func (c *chaos) fill(n int) {
	for range n {
		w := new(Waiter)
		p, _ := c.m.Enqueue(c.now, w, Request{Host: "euw1", Method: "/y", High: true, Pin: -1, Deadline: limit.Never})
		c.m.Cancel(w)
		if p != nil {
			c.m.Sent(c.now, p)
			c.m.Judge(c.now, p, Accepted, 200)
			c.m.Answer(c.now, p, window.Answer{Status: 200, AppLimit: "50:10"})
		}
	}
}

func (c *chaos) pick(from ...string) string { return from[c.r.IntN(len(from))] }

func (c *chaos) step() {
	switch n := c.r.IntN(20); {
	case n < 7:
		c.enqueue()
	case n < 9 && len(c.permits) > 0:
		c.m.Sent(c.now, c.permits[c.r.IntN(len(c.permits))])
	case n < 13 && len(c.permits) > 0:
		c.answer(c.take())
	case n == 13 && len(c.permits) > 0:
		c.m.Release(c.now, c.take())
	case n == 14:
		if w := c.longest(); w != nil {
			if !c.m.Cancel(w) || c.m.Cancel(w) {
				c.t.Fatal("a waiting call can be cancelled, once")
			}
			delete(c.waiting, w)
			c.asked--
		}
	case n == 15 && c.r.IntN(8) == 0:
		c.setKeys()
	case n == 15 && c.r.IntN(4) == 0:
		id := c.m.ring.places[c.r.IntN(len(c.m.ring.places))]
		switch c.r.IntN(4) {
		case 0:
			c.m.Disable(c.now, id, c.now)
		case 1:
			c.m.Recheck(c.now, id)
		default: // more often than the former
			c.m.Enable(c.now, id)
		}
	case n == 15 && c.r.IntN(10) == 0:
		c.m.SetBurst(c.now, c.bursts[c.r.IntN(len(c.bursts))])
	case n < 18 && c.m.NextWake() < limit.Never:
		c.now = max(c.now, c.m.NextWake())
	default:
		c.now = c.now.Add(time.Duration(c.r.IntN(300)) * time.Millisecond)
	}
	checkMachine(c.t, c.m, c.now)
}

func (c *chaos) enqueue() {
	r := Request{
		Host: c.pick("euw1", "na1"), Method: c.pick("/x", "/y", "/z"), High: c.r.IntN(2) == 0, Pin: -1,
		Deadline: limit.Never, Front: c.r.IntN(10) == 0,
	}
	switch r.Group = c.r.IntN(len(c.m.ring.groups)); c.r.IntN(8) {
	case 0, 1:
		r.Pin = c.r.IntN(len(c.m.ring.places))
	case 2:
		r.First = true
	}
	switch c.r.IntN(6) {
	case 0, 1:
		r.Budget, r.Unbound = uint16(1+c.r.IntN(3)), r.High && c.r.IntN(2) == 0
	}
	if c.names.IntN(3) == 0 {
		r.Client = fmt.Sprint(c.names.IntN(2) * c.names.IntN(15))
	}
	if c.r.IntN(6) == 0 {
		r.Keyless, r.Method = true, "/me"
	}
	if c.r.IntN(3) == 0 {
		r.Deadline = c.now.Add(time.Duration(c.r.IntN(3000)) * time.Millisecond)
	}
	w := new(Waiter)
	p, why := c.m.Enqueue(c.now, w, r)
	switch {
	case p != nil:
		c.asked++
		c.let++
		c.permits = append(c.permits, p)
	case why.Reason == None:
		c.asked++
		c.waiting[w] = c.asked
	case why.Start < c.now:
		c.t.Fatalf("refused for a start in the past: %v", why)
	}
}

// longest returns the call that has waited longest; nil if none waits.
func (c *chaos) longest() (first *Waiter) {
	for w, n := range c.waiting {
		if first == nil || n < c.waiting[first] {
			first = w
		}
	}
	return first
}

// take returns a call under way, which ends now.
func (c *chaos) take() *Permit {
	i, last := c.r.IntN(len(c.permits)), len(c.permits)-1
	p := c.permits[i]
	c.permits[i] = c.permits[last]
	c.permits = c.permits[:last]
	return p
}

// setKeys puts a new key somewhere, takes one away, or moves one to the other
// group.
func (c *chaos) setKeys() {
	ids := slices.Clone(c.m.ring.places)
	switch i := c.r.IntN(len(ids)); {
	case c.r.IntN(2) == 0:
		ids[i] = c.m.AddKey(c.now, nil)
	case len(ids) > 1 && c.r.IntN(2) == 0:
		ids = slices.Delete(ids, i, i+1)
	case len(ids) < 4:
		ids = append(ids, c.m.AddKey(c.now, nil))
	}
	groups := make([]int, len(ids))
	for i := range groups {
		groups[i] = c.r.IntN(2)
	}
	c.m.SetKeys(c.now, ids, groups)
}

// poll lets go what can go; then nobody may be left who could, and nobody who
// has no key left.
func (c *chaos) poll() {
	c.t.Helper()
	c.m.Expel(c.now, func(w *Waiter, why Refusal) {
		late := why.Reason == Deadline && why.Start > w.deadline
		if c.waiting[w] == 0 || why.Reason != NoKey && why.Reason != QueueFull && !late || why.Start < c.now {
			c.t.Fatalf("refused: %+v, waiting %v for a start at %d at the latest", why, c.waiting[w], w.deadline)
		}
		delete(c.waiting, w)
		c.asked--
	})
	c.m.Poll(c.now, func(w *Waiter, p *Permit) {
		if c.waiting[w] == 0 {
			c.t.Fatal("a call was let go that doesn't wait")
		}
		delete(c.waiting, w)
		c.permits = append(c.permits, p)
		c.let++
	})
	checkMachine(c.t, c.m, c.now)
	c.check()
	if c.m.queued != len(c.waiting) || len(c.m.permits) != len(c.permits) || c.let+len(c.waiting) != c.asked {
		c.t.Fatalf("queued %d of %d, under way %d of %d", c.m.queued, len(c.waiting), len(c.m.permits), len(c.permits))
	}
}

// finish answers everything well until nobody waits.
func (c *chaos) finish() {
	for wakes := 0; len(c.waiting)+len(c.permits) > 0; wakes++ {
		if wakes > 1000 {
			c.t.Fatalf("%d still wait, %d are under way", len(c.waiting), len(c.permits))
		}
		if len(c.permits) > 0 {
			p := c.take()
			a := window.Answer{Status: 200, AppLimit: "100:1", MethodLimit: "100:1"}
			if p.Key < 0 {
				a.AppLimit = ""
			}
			c.m.Judge(c.now, p, Accepted, a.Status)
			c.m.Answer(c.now, p, a)
		} else {
			next := c.m.NextWake()
			if next == limit.Never || next <= c.now {
				c.t.Fatalf("%d wait, nothing is under way, and the next wake is at %d", len(c.waiting), next)
			}
			c.now = next
		}
		c.poll()
	}
	for c.m.NextWake() < limit.Never {
		c.now = c.m.NextWake()
		c.poll()
	}
	if c.hear(); len(c.stops) > 0 {
		c.t.Fatalf("nobody told that they are over: %v", c.stops)
	}
}
