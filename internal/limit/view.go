package limit

import (
	"fmt"
	"slices"
	"time"
)

// View is what a store knows of a scope.
type View struct {
	Known   bool
	Solo    bool          // calls go one by one, or one has gone ahead: its Fact is waited for
	Stop    time.Duration // left of a stop
	Cause   Kind
	Level   int
	Windows []WindowView
}

// Has reports whether the view's limits are these.
func (v View) Has(limits []Quota) bool {
	for _, q := range limits {
		if !slices.ContainsFunc(v.Windows, func(w WindowView) bool { return w.Quota == q }) {
			return false
		}
	}
	return len(limits) == len(v.Windows)
}

// Bases returns what is kept of a view for the counts of the calls granted with
// it.
func (v View) Bases() []Basis {
	list := make([]Basis, len(v.Windows))
	for i, w := range v.Windows {
		list[i] = Basis{W: w.W, Base: w.Base, Used: w.Used}
	}
	return list
}

func (v *View) check() error {
	if v.Stop < 0 || v.Stop > MaxSeconds*time.Second || int(v.Cause) >= len(kindNames) || v.Level < 0 || v.Level > MaxHalvings {
		return fmt.Errorf("limit: a store's answer has a stop of %v for cause %d, at level %d", v.Stop, v.Cause, v.Level)
	}
	if len(v.Windows) > mostWindows {
		return fmt.Errorf("limit: a store's answer has %d windows of one scope; allowed: %d", len(v.Windows), mostWindows)
	}
	for i, w := range v.Windows {
		if w.N < 1 || w.N > MaxCount || w.W < time.Millisecond || w.W > MaxSeconds*time.Second || w.Used < 0 || w.Others < 0 {
			return fmt.Errorf("limit: a store's answer has the limit %d in %v, of which %d and %d are used", w.N, w.W, w.Used, w.Others)
		}
		if slices.ContainsFunc(v.Windows[:i], func(o WindowView) bool { return o.W == w.W }) {
			return fmt.Errorf("limit: a store's answer has two limits in %v", w.W)
		}
	}
	return nil
}
