package limittest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Check plays random histories, so many steps in all, as Replay does. The seed
// of one that fails is told.
func Check(t *testing.T, harness func(t testing.TB) Harness, seed uint64, steps int) {
	t.Helper()
	for steps > 0 && !t.Failed() {
		data := make([]byte, 4+2*min(steps, 400))
		r := rand.New(rand.NewPCG(seed, 5))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		steps -= Replay(t, harness(t), data)
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
		seed++
	}
}

// Replay plays a history on a store, and compares it with Model: no permit is
// granted that the model forbids, and none is refused for longer than a slot's
// width and two milliseconds that it allows, where a single replica needs no
// pacing; otherwise for no longer than others may have a claim. The first bytes set
// the scene, each further two are a step. It returns how many there were.
func Replay(t testing.TB, h Harness, data []byte) (steps int) {
	t.Helper()
	p := &play{TB: t, Harness: h, data: data}
	p.begin()
	for len(p.data) > 1 && !t.Failed() {
		p.step()
		steps++
	}
	p.end()
	if t.Failed() {
		for _, line := range p.story[max(0, len(p.story)-30):] {
			t.Log(line)
		}
	}
	return steps
}

// play is a history being played.
type play struct {
	testing.TB
	Harness
	data  []byte
	model *Model
	story []string

	replicas int
	burst    float64
	limits   map[string][]limit.Quota
	live     []*Call // of which nothing has been reported
}

func (p *play) next() int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b)
}

func (p *play) logf(format string, args ...any) {
	p.story = append(p.story, fmt.Sprintf("%v: ", p.Now())+fmt.Sprintf(format, args...))
}

func (p *play) begin() {
	scenes := []map[string]string{
		{"": "5:1,12:3", "m": "100:1", "n": "3:2"},
		{"": "20:1,100:120", "m": "30:10", "n": "2000:10"},
		{"": "50:10", "m": "20:1", "n": "1:1"},
	}
	p.model, p.limits = NewModel(margin), map[string][]limit.Quota{}
	p.replicas = 1 + max(0, p.next()%4-1)
	p.burst = []float64{1, 1, 0, 0.5}[p.next()%4]
	scene := scenes[p.next()%len(scenes)]
	p.logf("%d replicas, burst %v, limits %v", p.replicas, p.burst, scene)
	p.admit(0, nil)
	p.Wait(settle)
	var facts []limit.Fact
	for _, method := range sorted(scene) {
		p.limits[method] = quotas(scene[method])
		p.model.Limit(method, p.limits[method])
		facts = append(facts, passed(method, scene[method]))
	}
	p.admit(0, func(ask *limit.Ask) { ask.Facts = facts })
	p.Wait(2 * time.Millisecond)
}

// admit puts a question of a replica, and holds its answer against the model.
func (p *play) admit(replica int, fill func(*limit.Ask)) limit.Reply {
	ask := asking(fmt.Sprint("r", replica))
	ask.Burst = p.burst
	if fill != nil {
		fill(ask)
	}
	r, err := p.Store.Admit(context.Background(), ask)
	if err != nil {
		p.Fatal(err)
	}
	now := p.Now()
	for _, g := range r.Grants {
		c, problem := p.model.Grant(now, g)
		p.logf("granted %s from %v", g.Stub.Method, c.Start)
		if problem != nil {
			p.Errorf("%v: a permit for %s from %v that the model forbids: %v", now, g.Stub.Method, c.Start, problem)
		}
		p.live = append(p.live, c)
	}
	return r
}

func (p *play) step() {
	op, arg := p.next(), p.next()
	method := []string{"m", "n"}[arg&1]
	switch op % 16 {
	case 0, 1, 2, 3, 4, 5:
		p.ask(op/16%p.replicas, method, 1+arg>>3, arg&2 > 0, arg&4 > 0)
	case 6: // a moment before the next charge ends, or after
		at := p.model.Next(p.Now()) + time.Duration(arg-128)*10*time.Microsecond
		p.Wait(max(0, at-p.Now()))
		p.ask(op/16%p.replicas, "m", 50, true, false)
		p.ask(op/16%p.replicas, "n", 50, true, false)
	case 7, 8: // up to 65 ms, of any fraction
		p.Wait(time.Duration(op/16*256+arg)*15*time.Microsecond + time.Duration(arg))
	case 9:
		p.Wait(time.Duration(arg) * 6 * time.Millisecond)
	case 10, 11: // some calls are written
		for i, c := range p.live {
			if now := p.Now(); (arg+i)%4 > 0 && c.Sent == 0 && c.Start <= now && now < c.Start+limit.SendBy {
				c.Sent = now
			}
		}
	case 12, 13:
		p.report(arg)
	case 14:
		p.relimit(op/16, arg)
	case 15:
		p.stop(op/16, arg)
	}
	p.model.forget(p.Now())
}

func (p *play) ask(replica int, method string, n int, high, ahead bool) {
	now := p.Now()
	room := p.model.Room(now, method)
	r := p.admit(replica, func(ask *limit.Ask) {
		ask.Demands = []limit.Demand{want(method, n)}
		if high {
			ask.Demands[0] = wantHigh(method, n)
		}
		if ahead {
			ask.Horizon = 40 * time.Millisecond
		}
	})
	p.logf("r%d wants %d %s, high %v: %d granted, %+v", replica, n, method, high, len(r.Grants), r.Waits)
	if !high {
		room -= p.model.kept(now, method)
	} else if len(r.Grants) > 0 {
		p.model.urgent(now, method)
	}
	if p.replicas == 1 && p.burst == 1 && len(r.Grants) < min(n, room) {
		p.Errorf("%v: %d of %d calls of %s granted, the model allows %d; %+v", now, len(r.Grants), n, method, room, r.Waits)
	}
}

// report tells what became of calls: of all that were written or can no
// longer be, or of one that was not.
func (p *play) report(arg int) {
	now := p.Now()
	var done []limit.Done
	var facts []limit.Fact
	unwritten := 0
	p.live = slices.DeleteFunc(p.live, func(c *Call) bool {
		if c.Sent == 0 {
			if unwritten++; now < c.Start+limit.SendBy && (unwritten > 1 || arg%3 > 0) {
				return false
			}
		}
		d := p.model.Done(now, c, arg%7 > 0)
		done = append(done, d)
		p.logf("done %+v", d)
		if c.Sent == 0 {
			return true
		}
		for _, name := range []string{"", c.Stub.Method} {
			// Too near to a stop, whole milliseconds don't tell which was first.
			if d := c.Sent - p.model.scopes[name].since; d > -3*time.Millisecond && d < 3*time.Millisecond {
				continue
			}
			ok := arg%5 > 0
			facts = append(facts, limit.Fact{Method: name, SentAgo: now - c.Sent, Passed: ok, Counted: ok})
			p.model.Answered(name, c, ok)
		}
		return true
	})
	for len(facts) > 0 || len(done) > 0 {
		n, k := min(len(facts), limit.MostFacts), min(len(done), limit.MostDone)
		p.admit(0, func(ask *limit.Ask) { ask.Done, ask.Facts = done[:k], facts[:n] })
		done, facts = done[k:], facts[n:]
	}
}

// relimit changes a limit.
func (p *play) relimit(scope, arg int) {
	method := []string{"", "m", "n"}[scope%3]
	list := slices.Clone(p.limits[method])
	q := &list[arg%len(list)]
	q.N = 1 + arg%40
	p.limits[method] = list
	p.logf("limits of %q are %v", method, list)
	p.model.Limit(method, list)
	p.admit(0, func(ask *limit.Ask) {
		ask.Facts = []limit.Fact{{Method: method, Passed: false, Limits: list, SentAgo: 0}}
	})
	// An answer was seen, if not that of a call that passed.
	if s := p.model.scopes[method]; s.since <= p.Now() {
		s.alone = nil
	}
}

func (p *play) stop(scope, arg int) {
	if arg%4 > 0 { // rarely
		return
	}
	method := []string{"", "m", "n"}[scope%3]
	d := time.Duration(100+arg*4) * time.Millisecond
	p.logf("%q stops for %v", method, d)
	p.admit(0, func(ask *limit.Ask) {
		ask.Facts = []limit.Fact{{Method: method, Stop: d, Cause: limit.Method}}
	})
	p.model.Stop(p.Now(), method, d)
	p.Wait(time.Millisecond)
}

// end has everything expire: then a call of each method goes, when it is told.
func (p *play) end() {
	longest := time.Duration(0)
	for _, list := range p.limits {
		for _, q := range list {
			longest = max(longest, q.W)
		}
	}
	p.Wait(longest + patience + 3*time.Second)
	for _, method := range []string{"m", "n"} {
		for tries := 0; ; tries++ {
			r := p.admit(0, func(ask *limit.Ask) { ask.Demands = []limit.Demand{want(method, 1)} })
			if len(r.Grants) > 0 {
				c := p.live[len(p.live)-1]
				c.Sent = p.Now()
				p.report(1) // it passes
				break
			}
			if tries == 8+int(longest/time.Second) { // N 1, spread
				p.Errorf("nothing granted in the end for %s: %+v, %+v", method, r.Waits, r.Views)
				break
			}
			p.Wait(r.Waits[0].In)
		}
		p.Wait(patience + 10*time.Millisecond)
	}
}
