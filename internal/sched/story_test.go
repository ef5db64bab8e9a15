package sched

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// why tells in words what a call waits for.
func (s *story) why(w *Waiter) string {
	l := w.queue.lane
	if w.queue.head != w {
		n := 0
		for x := w.queue.head; x != w; x = x.next {
			n++
		}
		return fmt.Sprintf("%d before it", n)
	}
	at := s.m.find(s.now, l, policyOf(s.m, l))
	switch {
	case at.app > s.now:
		return "the application has no room before " + clock(at.app)
	case at.method > s.now:
		return "the method has no room before " + clock(at.method)
	case at.at > s.now:
		return "no key has room for both before " + clock(at.at)
	}
	return "others are first"
}

func (s *story) granted(name string, p *Permit) {
	if s.quiet {
		s.tally[strings.TrimRight(name, "0123456789")]++
	} else {
		key := "without a key"
		if p.Key >= 0 {
			key = fmt.Sprintf("on key %d", p.Key)
		}
		s.printf("%s: %s goes %s", clock(s.now), name, key)
	}
	s.permits[name] = p
	delete(s.waiters, name)
	s.written = append(s.written, name)
}

// poll does as a shell does after every event. With an edge, whatever was let
// go is written at once.
func (s *story) poll() {
	refused := map[string]Refusal{}
	s.m.Expel(s.now, func(w *Waiter, why Refusal) {
		refused[w.Data.(string)] = why
		delete(s.waiters, w.Data.(string))
		if why.Start < s.now {
			s.t.Fatalf("%s is refused: %+v", w.Data, why)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if why := refused[name]; why.Reason == NoKey {
			s.printf("%s is refused: no key is left", name)
		} else {
			s.refused(name, why)
		}
	}
	for {
		s.m.Poll(s.now, func(w *Waiter, p *Permit) { s.granted(w.Data.(string), p) })
		s.changes()
		if s.edge == nil || len(s.written) == 0 {
			s.written = nil
			return
		}
		for _, name := range s.written {
			s.m.Sent(s.now, s.permits[name])
			s.edge.due = append(s.edge.due, due{s.now.Add(s.edge.rtt), name})
		}
		s.written = nil
	}
}

// until lets time pass, as a shell does: it wakes when the machine asks for
// it, and when an answer comes.
func (s *story) until(end limit.Instant) {
	for {
		next := s.m.NextWake()
		answer := false
		if e := s.edge; e != nil && len(e.due) > 0 && e.due[0].at <= next {
			next, answer = e.due[0].at, true
		}
		if next > end {
			break
		}
		s.now = max(s.now, next)
		if answer {
			name := s.edge.due[0].name
			s.edge.due = s.edge.due[1:]
			p := s.permit(name)
			a := window.Answer{Status: 200, MethodLimit: cmp.Or(s.edge.methods[p.bucket.method], wide)}
			if p.Key >= 0 {
				a.AppLimit = s.edge.app
			}
			s.m.Answer(s.now, p, a)
			delete(s.permits, name)
		}
		s.poll()
	}
	s.now = end
}

func (s *story) permit(name string) *Permit {
	p := s.permits[name]
	if p == nil {
		s.t.Fatalf("%s is not under way", name)
	}
	return p
}

func (s *story) answer(a args) {
	name := a.words[0]
	answer := window.Answer{
		Status: s.number(a.words[1], 0), AppLimit: a.named["app"], AppCount: a.named["appcount"],
		MethodLimit: a.named["method"], MethodCount: a.named["methodcount"], Type: a.named["type"],
	}
	if v := a.named["retry"]; v != "" {
		answer.RetryAfter = []string{v}
	}
	said := Unsaid
	switch {
	case a.has("html"):
	case answer.Status == 401 || answer.Status == 403:
		said = Refused
	case answer.Status < 300 || answer.Status == 404:
		said = Accepted
	}
	if other := s.m.Judge(s.now, s.permit(name), said, answer.Status); other >= 0 {
		s.printf("%s may go on key %d instead", name, s.m.ring.places[other])
	}
	lesson := s.m.Answer(s.now, s.permit(name), answer)
	delete(s.permits, name)
	if lesson.Kind != limit.NotLimited {
		s.printf("%s met a limit of kind %s: a stop until %s", name, lesson.Kind, clock(lesson.Until))
	}
	s.poll()
}

func (s *story) queue() {
	state := s.m.State(s.now)
	if state.Queued == 0 {
		s.printf("nobody waits")
	}
	var lines []string
	for _, q := range state.Queues {
		line := fmt.Sprintf("%s %s: %d", q.Host, q.Method, q.Depth)
		if q.High {
			line += " high"
		}
		if q.Pin >= 0 {
			line += fmt.Sprintf(" for key %d", q.Pin)
		}
		lines = append(lines, line+fmt.Sprintf(", the first for %v", q.Oldest))
	}
	slices.Sort(lines)
	for _, line := range lines {
		s.printf("%s", line)
	}
}

// setKeys reads "keys 0 new 2 groups=0,0,1": ids, in the order of the list.
func (s *story) setKeys(a args) {
	var ids, groups []int
	for _, word := range a.words {
		if word == "new" {
			ids = append(ids, s.m.AddKey(s.now, nil))
		} else {
			ids = append(ids, s.number(word, 0))
		}
	}
	if v := a.named["groups"]; v != "" {
		for g := range strings.SplitSeq(v, ",") {
			groups = append(groups, s.number(g, 0))
		}
	}
	s.m.SetKeys(s.now, ids, groups)
	s.printf("the keys are %d", ids)
	s.poll()
}

// health tells how the keys are.
func (s *story) health() {
	for _, id := range s.m.ring.places {
		h := s.m.KeyHealth(id)
		line := fmt.Sprintf("key %d is fine", id)
		if h.Suspect {
			line = fmt.Sprintf("key %d is suspect, its next probe at %s", id, clock(h.Probe))
		}
		if h.Disabled {
			line += fmt.Sprintf(", disabled since %s", clock(h.Since))
		}
		for _, d := range h.Reasons {
			line += fmt.Sprintf(", %d from %s on %s at %s", d.Status, d.API, d.Host, clock(d.At))
		}
		s.printf("%s", line)
	}
}

func (s *story) drain(a args) {
	var refused []string
	s.m.Drain(s.now, s.now.Add(s.duration(a.words[0], "")), func(w *Waiter, start limit.Instant) {
		refused = append(refused, fmt.Sprintf("%s is refused: shutting down; could start at %s", w.Data, clock(start)))
		delete(s.waiters, w.Data.(string))
	})
	slices.Sort(refused)
	for _, line := range refused {
		s.printf("%s", line)
	}
	s.poll()
}
