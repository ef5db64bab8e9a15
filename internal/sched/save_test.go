package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

const second = limit.Instant(time.Second)

// savedMachine has made n calls of a method of limit 10:10, one a second.
func savedMachine(n int) *Machine {
	m := New(Config{Keys: 2, Burst: 1, Margin: 150 * time.Millisecond, MaxMargin: 2 * time.Second, QueueCapacity: 10, QueueTotal: 10})
	for i := range n {
		now := limit.Instant(i) * second
		p, why := m.Enqueue(now, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: 1, Deadline: limit.Never})
		if p == nil {
			panic(why)
		}
		m.Sent(now, p)
		m.Answer(now, p, window.Answer{Status: 200, AppLimit: "20:10", MethodLimit: "10:10"})
	}
	return m
}

func TestSaveAndRestoreMachine(t *testing.T) {
	old := savedMachine(9)
	v := old.Save(8 * second)
	if !v.Valid() || len(v.Scopes) != 2 || v.Scopes[0].Method != "" || v.Scopes[0].Key != 1 || v.Scopes[1].Method != "/m" {
		t.Fatalf("saved %+v", v)
	}
	restored := func(v Saved, gap Gap) (*Machine, int) {
		m := New(Config{Keys: 2, Burst: 1, Margin: 150 * time.Millisecond, MaxMargin: 2 * time.Second, Start: second / 10})
		n := m.Restore(0, v, gap)
		return m, n
	}
	used := func(m *Machine) (n int) {
		for _, s := range m.State(second / 10).Scopes {
			if s.Method == "/m" {
				n = s.Windows[0].Used
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		gap  Gap
		busy bool
		want int
	}{
		{"saved at the end", Gap{}, false, 9},
		{"one expired since", Gap{Elapsed: 2 * time.Second}, false, 8},
		{"busy and cut off", Gap{Elapsed: 2 * time.Second, Unsaved: 2 * time.Second}, true, 10},
		{"calm and cut off", Gap{Elapsed: time.Second, Unsaved: time.Second}, false, 10},
		{"cut off and long ago", Gap{Elapsed: 9 * time.Second, Unsaved: 5 * time.Second}, true, 6}, // five were free when it ended
		{"the clock set back", Gap{Elapsed: -time.Hour, Unsaved: 5 * time.Second}, true, 9},
		{"older than its windows", Gap{Elapsed: 30 * time.Second, Unsaved: 5 * time.Second}, true, 0},
	} {
		v := old.Save(8 * second)
		v.Hosts[0].Busy = c.busy
		m, n := restored(v, c.gap)
		if n != 2 {
			t.Errorf("%s: %d scopes taken", c.name, n)
		}
		if got := used(m); got != c.want {
			t.Errorf("%s: %d used, want %d", c.name, got, c.want)
		}
	}

	v.Scopes[0].Key, v.Scopes[1].Key = 7, 7
	if m, n := restored(v, Gap{}); n != 0 || len(m.hosts) != 0 {
		t.Errorf("scopes of an unknown key: %d taken, %d hosts", n, len(m.hosts))
	}
}

// A method is not charged for more than its application can have let go.
func TestRestoreChargesNoMoreThanTheApplication(t *testing.T) {
	app := limit.Saved{Windows: []limit.SavedWindow{{N: 20, W: time.Minute, Own: []limit.SavedCharge{{Age: 0, N: 13}}}}}
	method := limit.Saved{Windows: []limit.SavedWindow{{N: 20000, W: 10 * time.Second, Own: []limit.SavedCharge{{Age: 0, N: 13}}}}}
	v := Saved{
		Hosts:  []SavedHost{{Host: "euw1", Busy: true}},
		Scopes: []SavedScope{{Host: "euw1", Method: "/m", Limits: method}, {Host: "euw1", Limits: app}},
	}
	m := New(Config{Keys: 1, Burst: 1, Margin: 150 * time.Millisecond})
	m.Restore(0, v, Gap{Elapsed: 5 * time.Second, Unsaved: 5 * time.Second})
	for _, s := range m.State(0).Scopes {
		if used := s.Windows[0].Used; used != 20 {
			t.Errorf("%q: %d used, want the 13 and the 7 that there was room for", s.Method, used)
		}
	}
}

func TestRestoreMargin(t *testing.T) {
	v := savedMachine(9).Save(8 * second)
	for saved, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  150 * time.Millisecond, // careful after a start
		900 * time.Millisecond: 900 * time.Millisecond,
		time.Minute:            2 * time.Second,
	} {
		v.Hosts[0].Margin = saved
		m := New(Config{Keys: 2, Margin: 150 * time.Millisecond, MaxMargin: 2 * time.Second})
		m.Restore(0, v, Gap{})
		if got := m.hosts["euw1"].margin.J(); got != want {
			t.Errorf("J of %v became %v, want %v", saved, got, want)
		}
	}
}

func TestRestoreStops(t *testing.T) {
	old := savedMachine(1)
	p, _ := old.Enqueue(second, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: 0, Deadline: limit.Never})
	old.Sent(second, p)
	old.Answer(second, p, window.Answer{Status: 429, Type: "service", RetryAfter: []string{"30"}})
	v := old.Save(second)
	if len(v.Services) != 1 {
		t.Fatalf("saved %+v", v)
	}
	m := New(Config{Keys: 2, Margin: 150 * time.Millisecond})
	m.Restore(0, v, Gap{Elapsed: 10 * time.Second})
	e := m.Estimate(0, Request{Host: "euw1", Method: "/m", Pin: 1, Deadline: limit.Never}, 1)
	if d := e.Start.Sub(0); d < 20*time.Second || d > 21*time.Second {
		t.Errorf("may go in %v, want after what is left of the stop", d)
	}
}

func TestSavedMachineValid(t *testing.T) {
	for name, spoil := range map[string]func(*Saved){
		"host":          func(v *Saved) { v.Hosts[0].Host = "" },
		"margin":        func(v *Saved) { v.Hosts[0].Margin = -1 },
		"scope's host":  func(v *Saved) { v.Scopes[0].Host = "" },
		"long name":     func(v *Saved) { v.Scopes[1].Method = string(make([]byte, 1000)) },
		"limits":        func(v *Saved) { v.Scopes[0].Limits.Windows[0].N = -5 },
		"keyless app":   func(v *Saved) { v.Scopes[0].Keyless = true },
		"refusal":       func(v *Saved) { v.Refusals = []SavedRefusal{{Host: "euw1", API: "/m", N: 0}} },
		"far refusal":   func(v *Saved) { v.Refusals = []SavedRefusal{{Host: "euw1", API: "/m", N: 1, Left: 2 * time.Hour}} },
		"many services": func(v *Saved) { v.Services = make([]SavedScope, maxBuckets+1) },
	} {
		v := savedMachine(3).Save(3 * second)
		if spoil(&v); v.Valid() {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A key avoids an API on a host that it was refused over a restart, for what is
// left of that time. The next refusal goes on where the last one was, unless that
// was due too long ago.
func TestRestoreRefusals(t *testing.T) {
	old := savedMachine(0)
	refused := func(m *Machine, now limit.Instant) {
		p, why := m.Enqueue(now, new(Waiter), Request{Host: "euw1", Method: "/m", Pin: 1, Deadline: limit.Never})
		if p == nil {
			t.Fatal(why)
		}
		m.Sent(now, p)
		m.Judge(now, p, Refused, 403)
		m.Answer(now, p, window.Answer{Status: 403})
	}
	refused(old, second)
	refused(old, 2*second) // two in a row: two seconds
	v := old.Save(3 * second)
	if !v.Valid() || len(v.Refusals) != 1 || v.Refusals[0] != (SavedRefusal{1, "euw1", "/m", 403, time.Second, time.Second, 2}) {
		t.Fatalf("saved %+v", v.Refusals)
	}
	const now = 10_000 * second
	for elapsed, want := range map[time.Duration]limit.Instant{
		0:                      now + second,
		500 * time.Millisecond: now + second/2,
		time.Hour:              now.Add(time.Second - time.Hour), // due
		-time.Hour:             now + second,
		2 * time.Hour:          -1,
	} {
		m := New(Config{Keys: 2, Margin: 150 * time.Millisecond})
		m.Restore(now, v, Gap{Elapsed: elapsed})
		h := m.hosts["euw1"]
		if h == nil || h.endpoints["/m"] == nil {
			if want >= 0 {
				t.Errorf("after %v it is forgotten", elapsed)
			}
			continue
		}
		r := h.endpoints["/m"].keys[1]
		if r == nil {
			if want >= 0 {
				t.Errorf("after %v it is forgotten", elapsed)
			}
			continue
		}
		at := now.Add(-time.Second - max(0, elapsed))
		if r.next != want || r.n != 2 || !r.known || r.last != (Denial{at, 403, "euw1", "/m"}) || m.KeyHealth(1).Suspect {
			t.Errorf("after %v: %+v, want the next try at %v", elapsed, r, want)
		}
	}
	v.Refusals[0].Key = 7
	m := New(Config{Keys: 2})
	if m.Restore(now, v, Gap{}); len(m.buckets) != 0 || len(m.hosts) != 0 {
		t.Error("the refusal of an unknown key was taken")
	}
}

// R8: hosts of one budget have one again after a restart, with the charges of
// all of them, once.
func TestRestoreSharedBudget(t *testing.T) {
	alias := func(_, method string) string { return method }
	cfg := Config{Keys: 1, Burst: 1, Margin: 150 * time.Millisecond, Alias: alias, Start: second / 10}
	old := New(cfg)
	for i := range 6 {
		now := second.Add(time.Duration(i) * time.Second)
		host := []string{"euw1", "ru", "tr1"}[i%3]
		p, why := old.Enqueue(now, new(Waiter), Request{Host: host, Method: "/m", Pin: -1, Deadline: limit.Never})
		if p == nil {
			t.Fatal(host, why)
		}
		old.Sent(now, p)
		old.Answer(now, p, window.Answer{Status: 200, AppLimit: "20:600", MethodLimit: "10:600"})
	}
	used := func(m *Machine) map[string]int {
		n := map[string]int{}
		for _, s := range m.State(second / 10).Scopes {
			n[s.Host+s.Method] = s.Windows[0].Used
		}
		return n
	}
	m := New(cfg)
	m.Restore(0, old.Save(7*second), Gap{Elapsed: time.Second})
	for where, want := range map[string]int{"euw1": 2, "ru": 2, "tr1": 2, "euw1/m": 6, "ru/m": 6, "tr1/m": 6} {
		if got := used(m)[where]; got != want {
			t.Errorf("%s: %d used, want %d", where, got, want)
		}
	}
	if len(m.shared) != 1 || len(m.shared["/m"].buckets) != 3 {
		t.Fatalf("%d budgets", len(m.shared))
	}
	// Four are left, wherever they go; the first goes alone, for the counts.
	now, left := second, 0
	for i := range 8 {
		p, _ := m.Enqueue(now, new(Waiter), Request{Host: []string{"euw1", "ru", "tr1"}[i%3], Method: "/m", Pin: -1, Deadline: now})
		if p == nil {
			continue
		}
		left++
		m.Sent(now, p)
		m.Answer(now, p, window.Answer{Status: 200, AppLimit: "20:600", MethodLimit: "10:600"})
	}
	if left != 4 {
		t.Errorf("%d more calls went, want 4", left)
	}

	// Without the alias each has what all had: too careful, never too bold.
	cfg.Alias = nil
	m = New(cfg)
	m.Restore(0, old.Save(7*second), Gap{Elapsed: time.Second})
	if got := used(m); got["euw1/m"] != 6 || got["ru/m"] != 6 {
		t.Errorf("without the alias %v", got)
	}
}
