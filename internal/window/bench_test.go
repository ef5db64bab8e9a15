package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// call lets one call go through two scopes of two windows each, in a steady
// state of one call in 2 ms of which none has to wait.
func (r *rig) call(now limit.Instant, h *Hold, p Policy, a *Answer) {
	if at := max(r.service.Next(now), r.app.Next(now, p), r.method.Next(now, p)); at > now {
		panic("BUG: the call has to wait")
	}
	h.Take(now, p, &r.service, r.app, r.method)
	h.Sent(now.Add(time.Millisecond/2), p.Margin)
	if a != nil {
		Learn(now.Add(time.Millisecond), *a, h, &r.service, r.app, r.method, p.Margin)
	}
	h.Settle(now.Add(time.Millisecond), p.Margin)
}

func steady() (*rig, *Hold, Policy) {
	r := rigWith("30000:10,180000:60", "20000:10,120000:60")
	h, p := new(Hold), Policy{Burst: 1, Margin: j150}
	for i := range 40_000 { // more than the longest window
		r.call(limit.Instant(i)*limit.Instant(2*time.Millisecond), h, p, nil)
	}
	return r, h, p
}

const steadyFrom = 40_000

func BenchmarkCall(b *testing.B) {
	r, h, p := steady()
	b.ReportAllocs()
	i := limit.Instant(steadyFrom)
	for b.Loop() {
		r.call(i*limit.Instant(2*time.Millisecond), h, p, nil)
		i++
	}
}

// BenchmarkCallAndLearn is BenchmarkCall with four headers to read.
func BenchmarkCallAndLearn(b *testing.B) {
	r, h, p := steady()
	a := steadyAnswer()
	b.ReportAllocs()
	i := limit.Instant(steadyFrom)
	for b.Loop() {
		r.call(i*limit.Instant(2*time.Millisecond), h, p, &a)
		i++
	}
}

func steadyAnswer() Answer {
	return Answer{
		Status:   200,
		AppLimit: "180000:60,30000:10", AppCount: "1000:60,1000:10",
		MethodLimit: "120000:60,20000:10", MethodCount: "1000:60,1000:10",
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	r, h, p := steady()
	a := steadyAnswer()
	i := limit.Instant(steadyFrom)
	if n := testing.AllocsPerRun(10_000, func() {
		r.call(i*limit.Instant(2*time.Millisecond), h, p, &a)
		i++
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
