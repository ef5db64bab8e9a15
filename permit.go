package riftrelay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"riftrelay/internal/sched"
	"riftrelay/internal/window"
	"riftrelay/route"
)

// Permit is the leave to send one call. It ends with Observe or Release,
// whichever comes first; anything after that does nothing, also when its place
// serves another call by then, and a second end is counted
// (Snapshot.EndedTwice). One that never ends holds its place forever: see
// Limiter.OpenPermits. A Permit may be copied. The zero value does nothing.
type Permit struct {
	l   *Limiter
	p   *sched.Permit
	gen uint32
	key *held // nil without one
}

// permit makes the public form of p. l.mu is held.
func (l *Limiter) permit(p *sched.Permit) Permit {
	if p == nil {
		return Permit{}
	}
	permit := Permit{l: l, p: p, gen: p.Gen}
	if p.Key >= 0 {
		permit.key = l.held[p.Key]
	}
	return permit
}

// live reports whether the permit has not ended yet. l.mu is held.
func (p Permit) live() bool { return p.p.Gen == p.gen }

// Key returns the name of the key to send with; empty for a call without one
// (RSO).
func (p Permit) Key() string {
	if p.key == nil {
		return ""
	}
	return p.key.Name
}

// Authorize sets the key in the header of the call to be sent.
func (p Permit) Authorize(h http.Header) {
	if p.key != nil {
		h["X-Riot-Token"] = []string{p.key.Value}
	}
}

// Valid reports whether the call may still be sent: it is admitted, not yet
// ended, no 429 has stopped its application, method or service since, and
// nobody has disabled its key. Ask when all that may take time is done,
// connecting above all, and only the writing is left. When it is false, Release,
// which costs nothing, and Acquire again; Transport does so by itself.
//
//	for {
//		permit, err := limiter.Acquire(ctx, r, riftrelay.Options{})
//		if err != nil {
//			return err
//		}
//		connect() // as long as it takes
//		if permit.Valid() {
//			break
//		}
//		permit.Release()
//	}
func (p Permit) Valid() bool {
	if p.l == nil {
		return false
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	return p.live() && p.l.machine.Stands(p.l.now(), p.p)
}

// standsFor returns for how long the call may still be sent; 0 is no bound.
func (p Permit) standsFor() time.Duration {
	if p.l == nil || p.l.cluster == nil {
		return 0
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if !p.live() {
		return 0
	}
	return max(1, p.l.machine.StandsUntil(p.p).Sub(p.l.now()))
}

// Sent notes that the request has been written: from now on its charges
// expire. Without it they do only after Observe.
func (p Permit) Sent() {
	if p.l == nil {
		return
	}
	p.l.mu.Lock()
	defer p.l.unlock()
	if p.live() {
		now := p.l.now()
		p.l.machine.Sent(now, p.p)
		p.l.poll(now)
	}
}

// Observe ends the permit with the head of Riot's answer and learns from it,
// whatever its status: also how the key is.
func (p Permit) Observe(status int, h http.Header) { p.observe(status, h) }

// learned is what an answer taught.
type learned struct {
	window.Lesson
	elsewhere *held // a key that can serve the call, where its own can't
}

func (p Permit) observe(status int, h http.Header) learned {
	if p.l == nil {
		return learned{}
	}
	a := window.Answer{
		Status:      status,
		AppLimit:    joined(h, "X-App-Rate-Limit"),
		AppCount:    joined(h, "X-App-Rate-Limit-Count"),
		MethodLimit: joined(h, "X-Method-Rate-Limit"),
		MethodCount: joined(h, "X-Method-Rate-Limit-Count"),
	}
	said := verdict(status, a.AppLimit, h)
	if status == http.StatusTooManyRequests {
		a.Type, a.RetryAfter = first(h, "X-Rate-Limit-Type"), h["Retry-After"]
		a.Wall, a.Random = time.Now(), rand.Float64()
	}
	p.l.mu.Lock()
	defer p.l.unlock()
	if !p.live() {
		p.l.ended++
		return learned{}
	}
	p.p.Gen++
	now := p.l.now()
	var got learned
	if place := p.l.machine.Judge(now, p.p, said, status); place >= 0 {
		got.elsewhere = p.l.keys.Load().places[place]
	}
	got.Lesson = p.l.machine.Answer(now, p.p, a)
	p.l.poll(now)
	return got
}

// first is http.Header.Get for a name that is canonical already.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// joined is a list that may stand in several lines (RFC 9110 5.3).
func joined(h http.Header, name string) string {
	if v := h[name]; len(v) > 1 {
		return strings.Join(v, ",")
	}
	return first(h, name)
}

// Release ends the permit of a call that got no answer. If it was never Sent it
// costs nothing; otherwise Riot may have counted it, and it stays charged.
func (p Permit) Release() {
	if p.l == nil {
		return
	}
	p.l.mu.Lock()
	defer p.l.unlock()
	if !p.live() {
		p.l.ended++
		return
	}
	p.p.Gen++
	now := p.l.now()
	p.l.machine.Release(now, p.p)
	p.l.poll(now)
}

// deny notes, after the permit's end, that Riot doesn't know its key, and gives
// another that can serve the call.
func (p Permit) deny(r route.Route, status int) (elsewhere *held) {
	l := p.l
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	place := l.machine.Deny(now, p.key.id, r.Host, r.Method.String(), status)
	l.poll(now)
	if place < 0 {
		return nil
	}
	return l.keys.Load().places[place]
}

// OpenPermit is a Permit that has not ended yet: a call under way, or one that
// a loop has forgotten.
type OpenPermit struct {
	Host   string
	Method string        // as route.Method.String
	Key    string        // name; empty without a key (RSO)
	For    time.Duration // since its admission
	Sent   bool          // Permit.Sent was called
}

// String says it in a line: "euw1:/lol/status/v4/platform-data on main, for
// 2m0s, not sent".
func (p OpenPermit) String() string {
	sent := "not sent"
	if p.Sent {
		sent = "sent"
	}
	return fmt.Sprintf("%s:%s on %s, for %v, %s", p.Host, p.Method, cmp.Or(p.Key, "no key"), p.For.Round(time.Millisecond), sent)
}

// OpenPermits lists the permits that have ended by neither Observe nor Release,
// the oldest first. A test of a loop of your own should find none at its end: a
// forgotten permit holds its place in every window forever.
func (l *Limiter) OpenPermits() []OpenPermit {
	l.mu.Lock()
	now, open := l.now(), l.machine.Permits()
	list := make([]OpenPermit, len(open))
	slices.SortFunc(open, func(a, b sched.Open) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method))
	})
	for i, p := range open {
		list[i] = OpenPermit{Host: p.Host, Method: p.Method, For: now.Sub(p.Since), Sent: p.Sent}
		if p.Key >= 0 {
			list[i].Key = l.held[p.Key].Name
		}
	}
	l.mu.Unlock()
	return list
}
