package sched

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// story is a machine with calls that have names, on a clock of its own.
type story struct {
	t       *testing.T
	m       *Machine
	keys    int
	now     limit.Instant
	learned limit.Instant // the latest that "learn" told
	waiters map[string]*Waiter
	permits map[string]*Permit
	edge    *edge    // answers by itself, if there is one
	written []string // let go in this moment
	tally   map[string]int
	quiet   bool
	out     strings.Builder
	pending bool
}

// edge answers every call after a round trip, with the limits it tells.
type edge struct {
	rtt     time.Duration
	app     string
	methods map[string]string
	due     []due
}

type due struct {
	at   limit.Instant
	name string
}

// arguments of a command: words, and key=value.
type args struct {
	words []string
	named map[string]string
}

func parse(fields []string) args {
	a := args{named: map[string]string{}}
	for _, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok {
			a.named[k] = v
		} else {
			a.words = append(a.words, f)
		}
	}
	return a
}

func (a args) has(word string) bool { return slices.Contains(a.words, word) }

func (s *story) duration(v, otherwise string) time.Duration {
	if v == "" {
		v = otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *story) number(v string, otherwise int) int {
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) printf(format string, a ...any) { fmt.Fprintf(&s.out, format+"\n", a...) }

func clock(t limit.Instant) string {
	if t == limit.Never {
		return "who knows when"
	}
	return t.Sub(beginning).Round(time.Microsecond).String()
}

// A story begins long after the machine did. What "learn" tells was learned in
// between, one thing after another, so that nothing of it counts any longer.
const (
	beginning = limit.Instant(100 * time.Hour)
	apart     = 15 * time.Minute
	wide      = "100000:1" // limit of a method of which nothing is said
)

func (s *story) do(line string) {
	fields := strings.Fields(line)
	a := parse(fields[1:])
	switch fields[0] {
	case "machine":
		s.machine(a)
	case "learn": // learn euw1 /x app=20:1 method=10:1: every key has seen these limits long ago
		for key := range max(1, s.keys) {
			s.learned = s.learned.Add(apart)
			past := s.learned
			p, _ := s.m.Enqueue(past, new(Waiter), Request{Host: a.words[0], Method: a.words[1], Keyless: a.has("keyless"), Pin: key, Deadline: past})
			if p == nil {
				s.t.Fatalf("%s: can't learn", line)
			}
			s.m.Answer(past, p, window.Answer{Status: 200, AppLimit: a.named["app"], MethodLimit: cmp.Or(a.named["method"], wide)})
			s.m.Changes() // long ago as well
		}
	case "edge": // edge rtt=50ms app=20:1 /x=10:1: calls are answered by themselves
		e := &edge{rtt: s.duration(a.named["rtt"], "50ms"), app: a.named["app"], methods: a.named}
		s.edge = e
	case "call":
		s.call(a)
	case "estimate": // estimate euw1 /x: when could one more start?
		r := s.request(a.words, a)
		s.printf("would start at %s", clock(s.m.Estimate(s.now, r, 1).Start))
	case "at":
		s.until(beginning.Add(s.duration(a.words[0], "")))
	case "sent":
		s.m.Sent(s.now, s.permit(a.words[0]))
		s.poll()
	case "answer":
		s.answer(a)
	case "release":
		name := a.words[0]
		s.m.Release(s.now, s.permit(name))
		delete(s.permits, name)
		s.poll()
	case "cancel":
		if w := s.waiters[a.words[0]]; w != nil && s.m.Cancel(w) {
			s.printf("%s leaves the queue", a.words[0])
		} else {
			s.printf("%s waits no more", a.words[0])
		}
		delete(s.waiters, a.words[0])
	case "queue":
		s.queue()
	case "quiet": // grants are counted from here on, not told
		s.quiet = true
	case "tally": // grants since the last one, by name without number
		names := make([]string, 0, len(s.tally))
		for name, n := range s.tally {
			names = append(names, fmt.Sprintf("%s %d", name, n))
		}
		slices.Sort(names)
		s.printf("%s: %s", clock(s.now), strings.Join(names, ", "))
		clear(s.tally)
	case "pacing":
		b, err := strconv.ParseFloat(a.words[0], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.m.SetBurst(s.now, b)
		s.poll()
	case "drain":
		s.drain(a)
	case "keys":
		s.setKeys(a)
	case "health":
		s.health()
	case "disable": // disable 1: the key with this id
		s.m.Disable(s.now, s.number(a.words[0], 0), s.now)
		s.poll()
	case "enable":
		s.m.Enable(s.now, s.number(a.words[0], 0))
		s.poll()
	case "suspect":
		s.m.Suspect(s.now, s.number(a.words[0], 0), 401)
		s.poll()
	case "recheck":
		s.m.Recheck(s.now, s.number(a.words[0], 0))
		s.poll()
	default:
		s.t.Fatalf("no such command: %s", line)
	}
	s.changes()
}

func (s *story) machine(a args) {
	quotas, err := limit.ParseQuotas(a.named["limit"])
	if err != nil && a.named["limit"] != "" {
		s.t.Fatal(err)
	}
	burst := 0.0
	if a.has("burst") {
		burst = 1
	}
	s.now, s.learned, s.edge, s.quiet = beginning, 0, nil, false
	s.keys = s.number(a.named["keys"], 1)
	s.m = New(Config{
		Keys: s.keys, Burst: burst, Margin: s.duration(a.named["margin"], "150ms"), Assumed: quotas,
		QueueCapacity: s.number(a.named["capacity"], 2048), QueueTotal: s.number(a.named["total"], 100_000),
		Start: beginning.Add(s.duration(a.named["start"], "-100h")), Watch: a.has("watch"), Tolerance: s.number(a.named["tolerance"], 0),
	})
	s.waiters, s.permits, s.tally = map[string]*Waiter{}, map[string]*Permit{}, map[string]int{}
}

// several reads "a*30", the calls a1 to a30.
var several = regexp.MustCompile(`^(.*)\*(\d+)$`)

func (s *story) request(words []string, a args) Request {
	r := Request{
		Host: words[0], Method: words[1], High: a.has("high"), Keyless: a.has("keyless"), Front: a.has("front"),
		Pin: s.number(a.named["pin"], -1), Group: s.number(a.named["group"], 0), First: a.has("first"), Deadline: limit.Never,
	}
	if d := a.named["within"]; d != "" {
		r.Deadline = s.now.Add(s.duration(d, ""))
	}
	return r
}

func (s *story) call(a args) {
	r := s.request(a.words[1:], a)
	names := []string{a.words[0]}
	if many := several.FindStringSubmatch(a.words[0]); many != nil {
		names = nil
		for i := range s.number(many[2], 0) {
			names = append(names, fmt.Sprintf("%s%d", many[1], i+1))
		}
	}
	for _, name := range names {
		w := &Waiter{Data: name}
		p, why := s.m.Enqueue(s.now, w, r)
		if p != nil {
			s.granted(name, p)
			s.poll()
			continue
		}
		if why.Reason != None {
			s.refused(name, why)
			continue
		}
		s.waiters[name] = w
		s.poll()
		if s.waiters[name] != nil && r.Deadline <= s.now { // now or never
			s.m.Cancel(w)
			delete(s.waiters, name)
			s.refused(name, Refusal{Deadline, s.m.Estimate(s.now, r, 1).Start})
		}
		if s.waiters[name] != nil && !s.quiet {
			s.printf("%s waits: %s", name, s.why(w))
		}
	}
}

func (s *story) refused(name string, why Refusal) {
	if s.quiet {
		s.tally["refused"]++
		return
	}
	reason := [...]string{QueueFull: "the queue is full", Deadline: "too late", NoKey: "there is no such key", Draining: "shutting down"}[why.Reason]
	if why.Start == limit.Never {
		s.printf("%s is refused: %s", name, reason)
		return
	}
	s.printf("%s is refused: %s; could start at %s", name, reason, clock(why.Start))
}
