package sched

import (
	"fmt"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// counter is a machine before a store that a test plays.
type counter struct {
	t   *testing.T
	m   *Machine
	now limit.Instant
	at  int64 // of the latest stub
	let []*Permit
}

func newCounter(t *testing.T, keys int) *counter {
	c := &counter{t: t, now: limit.Instant(time.Hour)}
	c.m = New(Config{Keys: keys, Burst: 1, Margin: 20 * time.Millisecond, QueueCapacity: 10_000, QueueTotal: 100_000, Shared: true, Assumed: []limit.Quota{{N: 20, W: time.Second}}})
	c.m.SetHorizon(20 * time.Millisecond)
	return c
}

func (c *counter) wait(d time.Duration) { c.now = c.now.Add(d) }

// call has n calls wait, which are pinned to a key if pin isn't negative.
func (c *counter) call(method string, n, pin int) []*Waiter {
	c.t.Helper()
	waiters := make([]*Waiter, n)
	for i := range waiters {
		waiters[i] = new(Waiter)
		p, why := c.m.Enqueue(c.now, waiters[i], Request{Host: "euw1", Method: method, Pin: pin, Deadline: limit.Never})
		if p != nil || why.Reason != None {
			c.t.Fatalf("call %d does not wait: %v, %+v", i, p, why)
		}
	}
	return waiters
}

func (c *counter) poll() {
	c.m.Poll(c.now, func(_ *Waiter, p *Permit) { c.let = append(c.let, p) })
	checkMachine(c.t, c.m, c.now)
}

// ask returns all that is asked for now.
func (c *counter) ask() (list []*Ask) {
	for q := c.m.Ask(c.now); q != nil; q = c.m.Ask(c.now) {
		list = append(list, q)
	}
	return list
}

// reply grants n of what q wants, and has the rest wait.
func (c *counter) reply(q *Ask, n int) {
	known := limit.View{Known: true, Windows: []limit.WindowView{{Quota: limit.Quota{N: 1000, W: time.Second}}}}
	r := limit.Reply{Epoch: 1, App: known}
	for i, d := range q.Demands {
		wait := limit.Wait{}
		for class, want := range d.Want {
			for range want {
				if n == 0 {
					wait = limit.Wait{In: 500 * time.Millisecond, Why: limit.WaitCharges}
					break
				}
				n--
				c.at++
				r.Grants = append(r.Grants, limit.Grant{Demand: i, High: class == 1, Stub: limit.Stub{Method: d.Method, At: c.at}})
			}
		}
		r.Waits, r.Views = append(r.Waits, wait), append(r.Views, known)
	}
	c.m.Replied(c.now, c.now, q, r)
	c.poll()
}

// only returns the one Ask there is.
func (c *counter) only() *Ask {
	c.t.Helper()
	list := c.ask()
	if len(list) != 1 {
		c.t.Fatalf("%d questions, want one", len(list))
	}
	return list[0]
}

func TestDeskAsksForWhatWaits(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 5, -1)
	q := c.only()
	if len(q.Demands) != 1 || q.Demands[0].Want != [2]int{5, 0} || q.Key != 0 || q.Host != "euw1" {
		t.Fatalf("%+v", q.Ask)
	}
	c.call("/x", 3, -1)
	if list := c.ask(); len(list) > 0 {
		t.Error("asks again before the answer")
	}
	c.reply(q, 2)
	if len(c.let) != 2 {
		t.Errorf("%d calls went, want 2", len(c.let))
	}
	if list := c.ask(); len(list) > 0 {
		t.Error("asks before the time it was told")
	}
	c.wait(500 * time.Millisecond)
	if q = c.only(); q.Demands[0].Want[0] != 6 {
		t.Errorf("wants %v, want 6", q.Demands[0].Want)
	}
}

// Calls that any key will do for are asked for once; pinned ones on their key.
func TestDeskCountsPinnedAndShared(t *testing.T) {
	c := newCounter(t, 2)
	c.call("/x", 4, -1)
	c.call("/x", 3, 1)
	wants := map[int]int{}
	for _, q := range c.ask() {
		for _, d := range q.Demands {
			wants[q.Key] += d.Want[0]
		}
	}
	if wants[0]+wants[1] != 7 || wants[1] < 3 {
		t.Errorf("wants by key: %v; want 7 in all, of which 3 or more on key 1", wants)
	}
}

func TestDeskGivesBackWhatNobodyWaitsFor(t *testing.T) {
	c := newCounter(t, 1)
	waiters := c.call("/x", 5, -1)
	q := c.only()
	for _, w := range waiters[1:] {
		c.m.Cancel(w)
	}
	c.reply(q, 5)
	if len(c.let) != 1 {
		t.Fatalf("%d went, want 1", len(c.let))
	}
	c.wait(flushAfter)
	back := c.only()
	if len(back.Done) != 4 || len(back.Demands) > 0 {
		t.Fatalf("%d given back, want 4: %+v", len(back.Done), back.Ask)
	}
	for _, d := range back.Done {
		if !d.Unsent {
			t.Errorf("%+v", d)
		}
	}
}

// A lease is not used after SendBy, and reported as never sent.
func TestDeskLeasesExpire(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 1, -1)
	q := c.only()
	known := limit.View{Known: true}
	c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 1, App: known, Views: []limit.View{known}, Waits: []limit.Wait{{}}, Grants: []limit.Grant{{Start: 10 * time.Millisecond, Stub: limit.Stub{Method: "/x", At: 1}}}})
	c.poll()
	if len(c.let) > 0 {
		t.Fatal("went before its start")
	}
	c.wait(limit.SendBy + 10*time.Millisecond)
	c.poll()
	if len(c.let) > 0 {
		t.Fatal("went on a lease that is too old")
	}
	if q = c.only(); len(q.Done) != 1 || !q.Done[0].Unsent || len(q.Demands) != 1 {
		t.Errorf("%+v", q.Ask)
	}
}

// A permit whose lease has become too old on the way must not be sent, nor one
// of a time without the store.
func TestDeskOldPermitsDontStand(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 1, -1)
	c.reply(c.only(), 1)
	if !c.m.Stands(c.now, c.let[0]) {
		t.Fatal("a new permit doesn't stand")
	}
	if until := c.m.StandsUntil(c.let[0]); until != c.now.Add(limit.SendBy) {
		t.Errorf("it stands for %v", until.Sub(c.now))
	}
	c.wait(limit.SendBy)
	if c.m.Stands(c.now, c.let[0]) {
		t.Error("an old one does")
	}
	c.m.Release(c.now, c.let[0])
	c.m.GoAlone(c.now, 1)
	c.let = nil
	c.wait(5 * time.Second)
	p, why := c.m.Enqueue(c.now, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: limit.Never})
	if p == nil {
		t.Fatalf("nothing goes without the store: %+v", why)
	}
	if c.wait(limit.SendBy); c.m.Stands(c.now, p) {
		t.Error("an old one of without the store stands")
	}
}

func TestDeskBoundsWhatItAsks(t *testing.T) {
	c := newCounter(t, 1)
	for i := range 40 {
		c.call(fmt.Sprint("/m", i), 1, -1)
	}
	asked := map[string]int{}
	for range 2 {
		q := c.only()
		if len(q.Demands) > limit.MostDemands {
			t.Fatalf("%d demands", len(q.Demands))
		}
		for _, d := range q.Demands {
			asked[d.Method]++
		}
		c.reply(q, 1000)
	}
	if len(asked) != 40 || len(c.let) != 40 {
		t.Errorf("%d methods asked for, %d calls went", len(asked), len(c.let))
	}
	c.call("/many", 2500, -1)
	for range 3 {
		c.reply(c.only(), 1000)
	}
	if len(c.let) != 2540 {
		t.Fatalf("%d went", len(c.let))
	}
	for _, p := range c.let {
		c.m.Sent(c.now, p)
		c.m.Answer(c.now, p, window.Answer{Status: 200})
	}
	told := 0
	for told < 2540 {
		q := c.only()
		if len(q.Done) > limit.MostDone || len(q.Facts) > limit.MostFacts {
			t.Fatalf("%d reports, %d facts", len(q.Done), len(q.Facts))
		}
		told += len(q.Done)
		c.reply(q, 0)
	}
}

// Of methods that wait for one budget, that is asked for first which was served
// longest ago.
func TestDeskAsksInTurn(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 50, -1)
	c.call("/y", 50, -1)
	had := map[string]int{}
	for range 20 {
		c.reply(c.only(), 1)
		c.wait(time.Second)
	}
	for _, p := range c.let {
		had[p.bucket.method]++
	}
	if had["/x"] < 9 || had["/y"] < 9 {
		t.Errorf("%v", had)
	}
}

func TestDeskStopReachesLeases(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 3, -1)
	q := c.only()
	known := limit.View{Known: true}
	r := limit.Reply{Epoch: 1, App: known, Views: []limit.View{known}, Waits: []limit.Wait{{}}}
	for i := range 3 {
		r.Grants = append(r.Grants, limit.Grant{Start: 100 * time.Millisecond, Stub: limit.Stub{Method: "/x", At: int64(i + 1)}})
	}
	c.m.Replied(c.now, c.now, q, r)
	c.m.Hint(c.now, 0, "euw1", 0)
	c.call("/y", 1, -1)
	q = c.only()
	stopped := limit.View{Known: true, Stop: 2 * time.Second, Cause: limit.Application}
	views := make([]limit.View, len(q.Demands))
	waits := make([]limit.Wait, len(q.Demands))
	for i := range views {
		views[i], waits[i] = known, limit.Wait{In: time.Second, Why: limit.WaitStop}
	}
	c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 1, App: stopped, Views: views, Waits: waits})
	c.wait(200 * time.Millisecond)
	c.poll()
	if len(c.let) > 0 {
		t.Errorf("%d calls went against another replica's stop", len(c.let))
	}
}

func TestDeskFailureTellsStopsAgain(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 1, -1)
	c.reply(c.only(), 1)
	c.m.Sent(c.now, c.let[0])
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 429, Type: "method", RetryAfter: []string{"3"}})
	q := c.only()
	if len(q.Done) != 1 || len(q.Facts) != 1 {
		t.Fatalf("%+v", q.Ask)
	}
	c.m.Failed(c.now, q)
	c.wait(flushAfter)
	q = c.only()
	if len(q.Done) > 0 || len(q.Facts) != 1 || q.Facts[0].Stop == 0 {
		t.Errorf("after a failure: %+v", q.Ask)
	}
}

func TestDeskLostStoreIsToldAll(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 2, -1)
	c.reply(c.only(), 1)
	c.m.Sent(c.now, c.let[0])
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 200, AppLimit: "20:1", MethodLimit: "10:1"})
	c.wait(500 * time.Millisecond)
	q := c.only()
	c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 2, Views: []limit.View{{}}, Waits: []limit.Wait{{In: time.Second, Why: limit.WaitStop}}})
	q = c.only()
	if q.Merge == nil || len(q.Merge.Scopes) == 0 {
		t.Error("nothing merged in a new epoch")
	}
}

// RSO calls (R5) have accounts of their own.
func TestDeskKeylessCalls(t *testing.T) {
	c := newCounter(t, 1)
	w := new(Waiter)
	if p, why := c.m.Enqueue(c.now, w, Request{Host: "euw1", Method: "/rso", Keyless: true, Deadline: limit.Never}); p != nil || why.Reason != None {
		t.Fatal(p, why)
	}
	q := c.only()
	if q.Key != -1 || len(q.Assumed) > 0 || len(q.Demands) != 1 {
		t.Fatalf("%+v", q)
	}
	c.reply(q, 1)
	if len(c.let) != 1 || c.let[0].Key != -1 {
		t.Errorf("%v", c.let)
	}
}

// Where hosts come and go, so do the accounts.
func TestDeskForgetsHosts(t *testing.T) {
	c := newCounter(t, 1)
	for i := range maxHosts + 50 {
		c.wait(3 * time.Second)
		w := new(Waiter)
		if p, why := c.m.Enqueue(c.now, w, Request{Host: fmt.Sprint("h", i), Method: "/x", Pin: -1, Deadline: limit.Never}); p != nil || why.Reason != None {
			t.Fatalf("host %d: %+v", i, why)
		}
		for _, q := range c.ask() {
			c.reply(q, 0)
		}
		c.m.Cancel(w)
		c.wait(time.Second)
		for _, q := range c.ask() {
			c.reply(q, 0)
		}
	}
	if n := len(c.m.desk.accounts); n > maxHosts {
		t.Errorf("%d accounts of %d hosts", n, len(c.m.hosts))
	}
	for _, a := range c.m.desk.accounts {
		if c.m.hosts[a.host.name] != a.host {
			t.Fatalf("an account of %s, which is forgotten", a.host.name)
		}
	}
}

// A key that gets the id of one long gone reports nothing of that one's calls.
func TestDeskForgetsKeys(t *testing.T) {
	c := newCounter(t, 2)
	c.call("/x", 1, 1)
	c.reply(c.only(), 1)
	c.m.Sent(c.now, c.let[0])
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 200, AppLimit: "20:1", MethodLimit: "10:1"})
	c.m.SetKeys(c.now, []int{0}, nil)
	c.wait(5 * time.Second)
	if id := c.m.AddKey(c.now, nil); id == 1 {
		t.Fatal("the id is given away while there is something to tell of its calls")
	} else {
		c.m.SetKeys(c.now, []int{0, id}, nil)
	}
	for _, q := range c.ask() {
		c.reply(q, 0)
	}
	c.wait(time.Minute)
	if id := c.m.AddKey(c.now, nil); id != 1 {
		t.Fatalf("id %d, want that of the key long gone", id)
	}
	for id := range c.m.desk.accounts {
		if id.key == 1 {
			t.Error("the account of the key long gone is there still")
		}
	}
}

// Calls that go on a lease while the machine drains, and those that can't.
func TestDeskDrains(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 3, -1)
	q := c.only()
	refused := 0
	c.m.Drain(c.now, c.now.Add(2*time.Second), func(*Waiter, limit.Instant) { refused++ })
	c.reply(q, 3)
	if len(c.let)+refused != 3 || len(c.let) == 0 {
		t.Errorf("%d went, %d were refused", len(c.let), refused)
	}
}
