package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// oddReply is an answer to q that Check lets pass, and no store of ours gives.
func oddReply(q *Ask, next func() int) limit.Reply {
	long := func() time.Duration {
		return []time.Duration{0, 1, time.Millisecond, time.Second, time.Hour, 365 * 24 * time.Hour, math.MaxInt64}[next()%7]
	}
	number := func() int { return []int{0, 1, 2, 99, 1 << 30, math.MaxInt}[next()%6] }
	view := func() limit.View {
		v := limit.View{
			Known: next()%4 > 0, Solo: next()%4 == 0, Stop: min(long(), 7*24*time.Hour), Cause: limit.Kind(next() % 6), Level: next() % 4,
		}
		for i := range next() % 4 {
			v.Windows = append(v.Windows, limit.WindowView{
				Quota: limit.Quota{N: max(1, min(number(), 1_000_000_000)), W: time.Duration(1+i) * []time.Duration{time.Millisecond, time.Second, 24 * time.Hour}[next()%3]},
				Used:  number(), Others: number(), Base: number(),
			})
		}
		return v
	}
	r := limit.Reply{Epoch: int64(number()), Margin: long(), App: view()}
	for i, d := range q.Demands {
		left := 0
		for class, want := range d.Want {
			n := want
			if next()%3 > 0 {
				n = min(want, next()%8)
			}
			left += want - n
			for range n {
				r.Grants = append(r.Grants, limit.Grant{
					Demand: i, High: class == 1, Start: min(long(), q.Horizon), Stub: limit.Stub{Method: d.Method, At: int64(number()), Due: int64(-number())},
				})
			}
		}
		wait := limit.Wait{}
		if left > 0 {
			wait = limit.Wait{In: max(1, min(long(), limit.MostWait)), Why: limit.WaitKind(1 + next()%5)}
		}
		r.Waits, r.Views = append(r.Waits, wait), append(r.Views, view())
	}
	return r
}

// Whatever a store answers within what is allowed, no more calls go than it
// has granted, none waits forever once it answers as it should, and nothing
// breaks. Inputs are short: for each one that is new Go's fuzzer tries to leave
// out every part of it, which are as many tries as its length squared, and none
// of them is counted. TestReplied has the long ones.
func FuzzReplied(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { replay(t, data[:min(len(data), 64)]) })
}

func TestReplied(t *testing.T) {
	found, err := filepath.Glob("testdata/replied/*")
	if err != nil || len(found) == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, name := range found {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) { replay(t, data) })
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		data := make([]byte, 1000)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { replay(t, data) })
	}
}

// replay takes bytes for what callers and the store do.
func replay(t *testing.T, data []byte) {
	t.Helper()
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	c := newCounter(t, 2)
	granted := 0
	answer := func(q *Ask, r limit.Reply) {
		if err := r.Check(&q.Ask); err != nil {
			t.Fatal(err)
		}
		granted += len(r.Grants)
		c.m.Replied(c.now, c.now, q, r)
		c.poll()
		if len(c.let) > granted {
			t.Fatalf("%d calls went, %d were granted", len(c.let), granted)
		}
	}
	settle := func() {
		for _, p := range slices.Clone(c.m.permits) {
			c.m.Sent(c.now, p)
			c.m.Answer(c.now, p, window.Answer{Status: 200, AppLimit: "100:1", AppCount: "1:1", MethodLimit: "50:1", MethodCount: "1:1"})
		}
		c.poll()
	}
	for steps := 0; len(data) > 0 && steps < 300; steps++ {
		switch next() % 5 {
		case 0:
			c.call([]string{"/a", "/b"}[next()%2], next()%12, next()%3-1)
		case 1, 2:
			for _, q := range c.ask() {
				answer(q, oddReply(q, next))
			}
		case 3:
			settle()
		case 4:
			c.wait([]time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute}[next()%4])
		}
		c.poll()
	}
	// From here on a store as it should be.
	c.wait(8 * 24 * time.Hour) // of any stop
	for range 50 {
		for _, q := range c.ask() {
			r := oddReply(q, func() int { return 0 })
			known := limit.View{Known: true, Windows: []limit.WindowView{{Quota: limit.Quota{N: 1000, W: time.Second}}}}
			r.App = known
			for i := range r.Views {
				r.Views[i] = known
			}
			answer(q, r)
		}
		settle()
		c.wait(time.Second)
		c.poll()
	}
	if c.m.queued > 0 {
		t.Fatalf("%d calls still wait", c.m.queued)
	}
}
