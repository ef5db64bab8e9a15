package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/internal/window"
)

// TestRandomOperationsWithAStore is TestRandomOperations for a machine whose
// calls a store judges. After each step no call may wait without a question under
// way, or one that will be asked.
func TestRandomOperationsWithAStore(t *testing.T) {
	for seed := range uint64(128) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 4))
			c := &chaos{t: t, r: r, names: rand.New(rand.NewPCG(seed, 5)), waiting: map[*Waiter]int{}, now: limit.Instant(time.Hour), bursts: []float64{0}, stops: map[string]bool{}}
			d := &deskChaos{chaos: c}
			d.store = memstore.NewMemoryStore(func() limit.Instant { return c.now })
			c.m = New(Config{
				Keys: 1 + r.IntN(3), Margin: 20 * time.Millisecond,
				Shares:  func(_, method string) []window.Share { return randomShares(method) },
				Assumed: []limit.Quota{{N: 5, W: time.Second}}, QueueCapacity: 20, QueueTotal: 60, Shared: true,
			})
			c.m.SetHorizon(20 * time.Millisecond)
			for range 400 {
				d.step()
			}
			d.finish()
		})
	}
}

// deskChaos is chaos before a store, which answers when it likes.
type deskChaos struct {
	*chaos
	store *memstore.MemoryStore
	open  []*Ask
}

func (d *deskChaos) step() {
	switch c := d.chaos; c.r.IntN(6) {
	case 0, 1:
		if len(d.open) > 0 {
			d.reply(c.r.IntN(len(d.open)), c.r.IntN(10) > 0)
		}
	case 2:
		if at := c.m.NextAsk(); at < limit.Never {
			c.now = max(c.now, at)
		}
	case 3:
		switch n := c.r.IntN(30); {
		case n == 0:
			c.m.GoAlone(c.now, 1+c.r.IntN(3))
		case n < 5:
			c.m.Rejoin(c.now, c.now.Add(2*time.Second))
		}
	default:
		c.step()
	}
	d.look()
}

// look lets go what can go, asks what is to be asked, and checks.
func (d *deskChaos) look() {
	d.t.Helper()
	d.m.Expel(d.now, func(w *Waiter, _ Refusal) { delete(d.waiting, w) })
	d.m.Poll(d.now, func(w *Waiter, p *Permit) {
		delete(d.waiting, w)
		d.permits = append(d.permits, p)
	})
	checkMachine(d.t, d.m, d.now)
	for q := d.m.Ask(d.now); q != nil; q = d.m.Ask(d.now) {
		q.Budget, q.Replica = limit.Budget{Key: fmt.Sprint(q.Key), Host: q.Host}, "r"
		if q.Key < 0 {
			q.Budget.Key = ""
		}
		d.open = append(d.open, q)
	}
	d.check()
	d.checkSought()
}

// reply answers the i-th question, or has it fail.
func (d *deskChaos) reply(i int, good bool) {
	q := d.open[i]
	d.open = append(d.open[:i], d.open[i+1:]...)
	r, err := d.store.Admit(context.Background(), &q.Ask)
	if err == nil {
		err = r.Check(&q.Ask)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	if good {
		d.m.Replied(d.now, d.now, q, r)
	} else {
		d.m.Failed(d.now, q)
	}
}

// checkSought holds that while calls wait something is under way or will happen:
// a question is open, or one will be asked within seekEvery, or the machine, while
// it judges, wakes or has calls under way.
func (d *deskChaos) checkSought() {
	d.t.Helper()
	m := d.m
	if len(d.waiting) == 0 || len(d.open) > 0 {
		return
	}
	if m.desk.alone {
		if m.NextWake() == limit.Never && len(d.permits) == 0 {
			d.t.Fatalf("%d wait without the store, nothing is under way, and nothing wakes", len(d.waiting))
		}
	} else if at := m.NextAsk(); at > d.now.Add(seekEvery) {
		d.t.Fatalf("%d wait, no question is open, and the next is in %v", len(d.waiting), at.Sub(d.now))
	}
}

// finish answers everything well until nobody waits.
func (d *deskChaos) finish() {
	d.m.Rejoin(d.now, d.now)
	for d.look(); len(d.waiting)+len(d.permits)+len(d.open) > 0; d.look() {
		switch {
		case len(d.permits) > 0:
			p := d.take()
			a := window.Answer{Status: 200, AppLimit: "100:1", MethodLimit: "100:1"}
			if p.Key < 0 {
				a.AppLimit = ""
			}
			d.m.Sent(d.now, p)
			d.m.Judge(d.now, p, Accepted, a.Status)
			d.m.Answer(d.now, p, a)
		case len(d.open) > 0:
			d.reply(0, true)
		default:
			next := min(d.m.NextWake(), d.m.NextAsk())
			if next == limit.Never || next > d.now.Add(time.Minute) {
				d.t.Fatalf("%d wait, nothing is under way, and the next wake is in %v", len(d.waiting), next.Sub(d.now))
			}
			d.now = max(d.now+1, next)
		}
	}
}
