package limit

import (
	"math"
	"testing"
	"time"
)

// What no store may answer is refused, each thing by itself.
func TestReplyCheck(t *testing.T) {
	ask := &Ask{Horizon: 50 * time.Millisecond, Demands: []Demand{{Method: "/a", Want: [2]int{2, 1}}, {Method: "/b", Want: [2]int{1, 0}}}}
	window := WindowView{Quota: Quota{100, time.Second}, Used: 3}
	sane := func() *Reply {
		return &Reply{
			Grants: []Grant{
				{Demand: 0, Stub: Stub{Method: "/a"}}, {Demand: 0, Start: 51 * time.Millisecond, Stub: Stub{Method: "/a"}},
				{Demand: 0, High: true, Stub: Stub{Method: "/a"}},
			},
			Waits: []Wait{{}, {In: time.Second, Why: WaitShare}},
			App:   View{Known: true, Windows: []WindowView{window, {Quota: Quota{1, time.Minute}}}}, Views: make([]View, 2),
			Margin: time.Hour, Epoch: -1,
		}
	}
	if err := sane().Check(ask); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(r *Reply){
		"a wait missing":            func(r *Reply) { r.Waits = r.Waits[:1] },
		"a view missing":            func(r *Reply) { r.Views = nil },
		"a demand that isn't there": func(r *Reply) { r.Grants[0].Demand = 2 },
		"a demand below 0":          func(r *Reply) { r.Grants[0].Demand = -1 },
		"another method":            func(r *Reply) { r.Grants[0].Stub.Method = "/b" },
		"more than asked":           func(r *Reply) { r.Grants = append(r.Grants, r.Grants[0]) },
		"more than asked of high":   func(r *Reply) { r.Grants[0].High = true },
		"more than asked, and a wait": func(r *Reply) {
			r.Grants, r.Waits[0] = append(r.Grants, r.Grants[0]), Wait{In: time.Second, Why: WaitShare}
		},
		"a start before now":       func(r *Reply) { r.Grants[0].Start = -1 },
		"a start beyond":           func(r *Reply) { r.Grants[0].Start = time.Second },
		"no wait for what is left": func(r *Reply) { r.Waits[1] = Wait{} },
		"a wait for nothing":       func(r *Reply) { r.Waits[0] = Wait{1, WaitPace} },
		"a wait of hours":          func(r *Reply) { r.Waits[1].In = time.Hour },
		"a wait below 0":           func(r *Reply) { r.Waits[1].In = -1 },
		"a wait for no reason":     func(r *Reply) { r.Waits[1].Why = 0 },
		"a reason that is none":    func(r *Reply) { r.Waits[1].Why = 9 },
		"a margin below 0":         func(r *Reply) { r.Margin = -1 },
		"a stop below 0":           func(r *Reply) { r.App.Stop = -1 },
		"a stop without end":       func(r *Reply) { r.Views[1].Stop = math.MaxInt64 },
		"a cause that is none":     func(r *Reply) { r.App.Cause = 99 },
		"a level below 0":          func(r *Reply) { r.App.Level = -1 },
		"a level beyond":           func(r *Reply) { r.App.Level = 4 },
		"a limit of 0":             func(r *Reply) { r.App.Windows[0].N = 0 },
		"a limit beyond":           func(r *Reply) { r.App.Windows[0].N = math.MaxInt },
		"a window of no length":    func(r *Reply) { r.App.Windows[0].W = 0 },
		"a window without end":     func(r *Reply) { r.App.Windows[0].W = math.MaxInt64 },
		"the same window twice":    func(r *Reply) { r.App.Windows[1].W = time.Second },
		"used less than nothing":   func(r *Reply) { r.App.Windows[0].Used = -1 },
		"others less than nothing": func(r *Reply) { r.App.Windows[0].Others = -1 },
		"windows without number":   func(r *Reply) { r.Views[0].Windows = make([]WindowView, 65) },
	} {
		r := sane()
		spoil(r)
		if r.Check(ask) == nil {
			t.Errorf("%s is let pass", what)
		}
	}
}
