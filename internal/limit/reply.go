package limit

import (
	"fmt"
	"time"
)

// MostWait is the longest wait that a Store tells: who waits asks again then,
// also where a hint was lost.
const MostWait = time.Second

// Check reports what a Store may not answer to ask: more than was asked for,
// permits at times that nobody asked for, waits without end, limits that can be
// none. Such an answer is of no use, and nothing of it should be taken over.
func (r *Reply) Check(ask *Ask) error {
	n := len(ask.Demands)
	if len(r.Waits) != n || len(r.Views) != n {
		return fmt.Errorf("limit: a store's answer has %d waits and %d views for %d demands", len(r.Waits), len(r.Views), n)
	}
	if r.Margin < 0 {
		return fmt.Errorf("limit: a store's answer has the margin %v; allowed: 0 and more", r.Margin)
	}
	if err := r.checkGrants(ask); err != nil {
		return err
	}
	if err := r.App.check(); err != nil {
		return err
	}
	for _, v := range r.Views {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkGrants also checks the waits of what was not granted.
func (r *Reply) checkGrants(ask *Ask) error {
	var buf [MostDemands][2]int
	left := buf[:0]
	for _, d := range ask.Demands {
		left = append(left, d.Want)
	}
	for i := range r.Grants {
		g := &r.Grants[i]
		if g.Demand < 0 || g.Demand >= len(left) {
			return fmt.Errorf("limit: a store's answer grants to demand %d of %d", g.Demand, len(left))
		}
		d := &ask.Demands[g.Demand]
		if g.Stub.Method != d.Method {
			return fmt.Errorf("limit: a store's answer grants %q to a demand for %q", g.Stub.Method, d.Method)
		}
		// Stores have whole milliseconds.
		if g.Start < 0 || g.Start > ask.Horizon+time.Millisecond {
			return fmt.Errorf("limit: a store's answer has a permit start in %v; allowed: 0 to the horizon of %v", g.Start, ask.Horizon)
		}
		class := ClassIndex(g.High)
		if left[g.Demand][class]--; left[g.Demand][class] < 0 {
			return fmt.Errorf("limit: a store's answer grants more than the %d of %s that were asked for", d.Want[class], d.Method)
		}
	}
	for i, n := range left {
		w, waits := r.Waits[i], n != [2]int{}
		if w.In < 0 || w.In > MostWait || (w.In > 0) != waits || (w.Why != WaitNone) != waits || w.Why > WaitShare {
			return fmt.Errorf("limit: a store's answer has a wait of %v (%d) for %v that were not granted; allowed: up to %v, and 0 for none", w.In, w.Why, n, MostWait)
		}
	}
	return nil
}

// mostWindows bounds those of one view: several headers' in a store that has
// seen several.
const mostWindows = 4 * MaxQuotas
