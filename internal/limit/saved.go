package limit

import (
	"slices"
	"time"
)

// aged returns v with all charges and the stop d older.
func (v Saved) aged(d time.Duration) Saved {
	v.Stop = max(0, v.Stop-d)
	v.Windows = slices.Clone(v.Windows)
	for i := range v.Windows {
		for _, list := range [...]*[]SavedCharge{&v.Windows[i].Own, &v.Windows[i].Others} {
			*list = slices.Clone(*list)
			for k := range *list {
				(*list)[k].Age += d
			}
		}
	}
	return v
}

// Saved is what of a scope outlives the process. All times are lengths, counted
// from the moment of saving.
type Saved struct {
	Windows []SavedWindow `json:"windows,omitempty"`
	Stop    time.Duration `json:"stop,omitempty"`  // left of a stop after a 429
	Cause   Kind          `json:"cause,omitempty"` // of the stop
	Strikes int           `json:"strikes,omitempty"`

	Halved     int             `json:"halved,omitempty"`     // how often the limits are halved: see breaker
	Calm       time.Duration   `json:"calm,omitempty"`       // since the last step of that, or the last violation
	Violations []time.Duration `json:"violations,omitempty"` // ages of those that count towards the next step, oldest first
}

// Empty reports whether v says nothing that a new scope doesn't know.
func (v Saved) Empty() bool {
	return len(v.Windows) == 0 && v.Stop == 0 && v.Strikes == 0 && v.Halved == 0 && len(v.Violations) == 0
}

// SavedWindow is one limit with its charges.
type SavedWindow struct {
	N      int           `json:"n"`
	W      time.Duration `json:"w"`
	Own    []SavedCharge `json:"own,omitempty"`    // oldest first
	Others []SavedCharge `json:"others,omitempty"` // oldest first
}

// SavedCharge is N charges that began to expire Age before the saving;
// negative for those that will.
type SavedCharge struct {
	Age time.Duration `json:"age"`
	N   int           `json:"n"`
}

// Valid reports whether v can have come from Save.
func (v Saved) Valid() bool {
	if v.Stop < 0 || v.Stop > MaxSeconds*time.Second || int(v.Cause) >= len(kindNames) || v.Strikes < 0 || len(v.Windows) > MaxQuotas {
		return false
	}
	if v.Halved < 0 || v.Halved > MaxHalvings || v.Calm < 0 || v.Calm > EaseAfter || len(v.Violations) > MaxSavedViolations {
		return false
	}
	for i, age := range v.Violations {
		if age < 0 || age > ViolationWindow || i > 0 && age > v.Violations[i-1] {
			return false
		}
	}
	for i, w := range v.Windows {
		if w.N < 1 || w.N > MaxCount || w.W < time.Second || w.W > MaxSeconds*time.Second || w.W%time.Second != 0 {
			return false
		}
		if slices.ContainsFunc(v.Windows[:i], func(o SavedWindow) bool { return o.W == w.W }) {
			return false
		}
		for _, list := range [...][]SavedCharge{w.Own, w.Others} {
			for k, c := range list {
				if c.N < 1 || c.N > MaxCount || c.Age > w.W || c.Age < -time.Minute || k > 0 && c.Age > list[k-1].Age {
					return false
				}
			}
		}
	}
	return true
}

// Since returns what of v was spent in the last d, and its limits.
func (v Saved) Since(d time.Duration) Saved {
	windows := make([]SavedWindow, len(v.Windows))
	for i, w := range v.Windows {
		windows[i] = SavedWindow{N: w.N, W: w.W}
		for _, c := range w.Own {
			if c.Age <= d {
				windows[i].Own = append(windows[i].Own, c)
			}
		}
	}
	v.Windows = windows
	return v
}
