package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// answer ends a call with a random answer.
func (c *chaos) answer(p *Permit) {
	a := window.Answer{
		Status:   []int{200, 200, 200, 404, 503, 429}[c.r.IntN(6)],
		AppLimit: c.pick("", "5:1", "10:2", "3:1,20:10", "10:1"), MethodLimit: c.pick("", "3:1", "2:2,10:10"),
		// Often more than our own calls: others use the key as well.
		AppCount: c.pick("", "1:1", "4:1,9:10", "3:2", "10:1", "2:1,3:10", "30:10"), MethodCount: c.pick("", "1:1", "3:1", "1:2,5:10", "2:2", "11:10"),
	}
	if c.large {
		a = window.Answer{Status: 200, AppLimit: c.pick("50:10", "50:10", "60:10")}
	}
	if p.Key < 0 {
		a.AppLimit, a.AppCount = "", ""
	}
	if a.Status == 429 {
		a.Type = c.pick("application", "method", "service", "")
		a.RetryAfter = []string{c.pick("0", "1")}
	}
	said := Accepted
	switch c.r.IntN(24) {
	case 0:
		a, said = window.Answer{Status: 401}, Refused
	case 1, 2:
		a, said = window.Answer{Status: 403}, Refused
	case 3:
		a, said = window.Answer{Status: 502}, Unsaid
	}
	if other := c.m.Judge(c.now, p, said, a.Status); other >= 0 && (said != Refused || c.m.ring.places[other] == p.Key || c.m.ring.from[c.m.ring.places[other]] != 0) {
		c.t.Fatalf("key %d for verdict %d on %d", other, said, p.Key)
	}
	c.m.Answer(c.now, p, a)
}

// check holds that no lost wake-up keeps a call back. With a burst share the
// moment that limit gives is the latest, not the earliest: so then a call may
// be late.
func (c *chaos) check() {
	c.t.Helper()
	if len(c.bursts) > 1 {
		return
	}
	for _, b := range c.m.buckets {
		for _, l := range b.lanes {
			if l.n == 0 {
				continue
			}
			if !c.m.usable(b, l.line.class) {
				c.t.Fatalf("%s%s waits, and has no key", b.host.name, b.method)
			}
			at := earliest(c.m, c.now, l)
			if at <= c.now {
				c.t.Fatalf("%s%s could go now and still waits; the line is blocked for %v", b.host.name, b.method, l.line.blocked.Sub(c.now))
			}
			if at == limit.Never && len(c.permits) == 0 && (c.m.desk == nil || c.m.desk.alone) {
				c.t.Fatalf("%s%s waits for an event, and nothing is under way that could bring one", b.host.name, b.method)
			}
			if wake := c.m.NextWake(); wake > at {
				c.t.Fatalf("%s%s could go at %d, the next wake is at %d", b.host.name, b.method, at, wake)
			}
		}
	}
}
