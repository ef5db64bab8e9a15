package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// The table is there, and says the same each time.
func TestScale(t *testing.T) {
	args := []string{"-replicas", "5", "-hosts", "3", "-keys", "4", "-rate", "300", "-for", "2s"}
	var a, b strings.Builder
	for _, w := range []*strings.Builder{&a, &b} {
		if err := run(args, w); err != nil {
			t.Fatal(err)
		}
	}
	if a.String() != b.String() {
		t.Errorf("two runs differ:\n%s\n%s", &a, &b)
	}
	if !regexp.MustCompile(`(?m)^ +300 +\d+ +[0-9.]+ +[0-9.]+ms +\d+ % +\d+$`).MatchString(a.String()) {
		t.Error(a.String())
	}
	if run([]string{"-keys", "0"}, &a) == nil {
		t.Error("no keys, and no error")
	}
}

// No budget is exceeded, and calls that wait together are asked for together.
func TestSimulation(t *testing.T) {
	calm := plan{replicas: 10, hosts: 2, keys: 2, rate: 100, trip: time.Millisecond, riot: 60 * time.Millisecond, length: 3 * time.Second}
	full := calm
	full.rate = 2000 // ten times what the limits allow
	c, f := calm.simulate(), full.simulate()
	if w := c.meanWait(); w > 15*time.Millisecond || c.requests < 250 {
		t.Errorf("at a quiet time: %d requests, %v mean wait", c.requests, w)
	}
	if most := 4 * 500; f.requests > most { // within less than a window
		t.Errorf("%d requests; the limits allow %d", f.requests, most)
	}
	if f.callsPerSecond() > 800 { // 200 slots/s, for which ten replicas each asked once when nobody was told its turn
		t.Errorf("%.0f calls/s of the store under backlog, %.0f at a quiet time", f.callsPerSecond(), c.callsPerSecond())
	}
}

// After the store has lost everything, each replica tells of each budget that it
// has used, once, and asks no more than that.
func TestForgetting(t *testing.T) {
	p := plan{replicas: 10, hosts: 4, keys: 5, rate: 200, trip: time.Millisecond, riot: 60 * time.Millisecond, length: 5 * time.Second}
	before := p.simulate()
	p.forget = true
	after := p.simulate()
	more, budgets := after.calls-before.calls, p.replicas*p.hosts*p.keys
	t.Logf("%d questions, %d when the store forgets; %d replicas' budgets", before.calls, after.calls, budgets)
	if more < budgets/2 || more > 4*budgets {
		t.Errorf("%d questions more for %d budgets", more, budgets)
	}
}
