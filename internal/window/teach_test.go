package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

func TestUrgency(t *testing.T) {
	limits := []limit.Quota{{N: 100, W: 10 * time.Second}}
	view := func(change func(*limit.View)) limit.View {
		v := limit.View{Known: true, Windows: []limit.WindowView{{Quota: limits[0], Used: 30, Base: 10}}} // 20 granted since the window was known
		change(&v)
		return v
	}
	as := func(*limit.View) {}
	for _, c := range []struct {
		name string
		view limit.View
		fact limit.Fact
		want Urgency
	}{
		{"nothing new", view(as), limit.Fact{Limits: limits}, Redundant},
		{"nothing at all", view(as), limit.Fact{}, Redundant},
		{"the count expected", view(as), limit.Fact{Limits: limits, Counts: []limit.Quota{{N: 30, W: limits[0].W}}, Bases: []limit.Basis{{W: limits[0].W, Base: 10, Used: 20}}}, Redundant},
		{"a stranger's call", view(as), limit.Fact{Limits: limits, Counts: []limit.Quota{{N: 31, W: limits[0].W}}, Bases: []limit.Basis{{W: limits[0].W, Base: 10, Used: 20}}}, Soon},
		{"strangers' calls, known", view(func(v *limit.View) { v.Windows[0].Others = 5 }), limit.Fact{Limits: limits, Counts: []limit.Quota{{N: 33, W: limits[0].W}}, Bases: []limit.Basis{{W: limits[0].W, Base: 10, Used: 20}}}, Later},
		{"a level", view(as), limit.Fact{Limits: limits, Level: 1}, Later},
		{"a stop", view(as), limit.Fact{Stop: time.Second}, AtOnce},
		{"another limit", view(as), limit.Fact{Limits: []limit.Quota{{N: 90, W: limits[0].W}}}, AtOnce},
		{"one limit more", view(as), limit.Fact{Limits: append(limits[:1:1], limit.Quota{N: 500, W: time.Minute})}, AtOnce},
		{"a scope that nothing is known of", view(func(v *limit.View) { v.Known = false }), limit.Fact{Limits: limits}, AtOnce},
		{"a call that went alone", view(func(v *limit.View) { v.Solo = true }), limit.Fact{Limits: limits}, AtOnce},
		{"a call that passed while there was a stop", view(func(v *limit.View) { v.Stop = time.Second }), limit.Fact{Limits: limits}, AtOnce},
	} {
		s := NewScope(0, nil)
		s.Lease(true, 0)
		s.Adopt(0, c.view)
		if got := s.Urgency(c.fact); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
