package limit

import (
	"testing"
	"time"
)

func TestUrgency(t *testing.T) {
	limits := []Quota{{100, 10 * time.Second}}
	view := func(change func(*View)) View {
		v := View{Known: true, Windows: []WindowView{{Quota: limits[0], Used: 30, Base: 10}}} // 20 granted since the window was known
		change(&v)
		return v
	}
	as := func(*View) {}
	for _, c := range []struct {
		name string
		view View
		fact Fact
		want Urgency
	}{
		{"nothing new", view(as), Fact{Limits: limits}, Redundant},
		{"nothing at all", view(as), Fact{}, Redundant},
		{"the count expected", view(as), Fact{Limits: limits, Counts: []Quota{{30, limits[0].W}}, Bases: []Basis{{limits[0].W, 10, 20}}}, Redundant},
		{"a stranger's call", view(as), Fact{Limits: limits, Counts: []Quota{{31, limits[0].W}}, Bases: []Basis{{limits[0].W, 10, 20}}}, Soon},
		{"strangers' calls, known", view(func(v *View) { v.Windows[0].Others = 5 }), Fact{Limits: limits, Counts: []Quota{{33, limits[0].W}}, Bases: []Basis{{limits[0].W, 10, 20}}}, Later},
		{"a level", view(as), Fact{Limits: limits, Level: 1}, Later},
		{"a stop", view(as), Fact{Stop: time.Second}, AtOnce},
		{"another limit", view(as), Fact{Limits: []Quota{{90, limits[0].W}}}, AtOnce},
		{"one limit more", view(as), Fact{Limits: append(limits[:1:1], Quota{500, time.Minute})}, AtOnce},
		{"a scope that nothing is known of", view(func(v *View) { v.Known = false }), Fact{Limits: limits}, AtOnce},
		{"a call that went alone", view(func(v *View) { v.Solo = true }), Fact{Limits: limits}, AtOnce},
		{"a call that passed while there was a stop", view(func(v *View) { v.Stop = time.Second }), Fact{Limits: limits}, AtOnce},
	} {
		s := NewScope(0, nil)
		s.Lease(true, 0)
		s.Adopt(0, c.view)
		if got := s.Urgency(c.fact); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
