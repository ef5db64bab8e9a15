package sched

import (
	"math"
	"slices"

	"riftrelay/internal/limit"
)

// unsaved is how many calls of a scope may have gone between the saving and the
// end of the process.
//
// Where calls waited, as many as the windows let go; otherwise those that came
// before the saving in as long a time, and half as many again: a process that
// ends when it has nothing to do must not cost its successor a window.
func unsaved(v limit.Saved, gap Gap, busy bool, burst float64) int {
	if gap.Unsaved <= 0 || len(v.Windows) == 0 {
		return 0
	}
	most := math.MaxInt
	for _, w := range v.Windows {
		n := int((burst+float64(gap.Unsaved)/float64(w.W))*float64(w.N)) + 2
		if gap.Unsaved < w.W {
			n = min(n, room(w, gap))
		} else {
			n = min(n, w.N*(1+int(gap.Unsaved/w.W)))
		}
		if !busy {
			recent := 0
			for _, c := range w.Own {
				if c.Age <= gap.Unsaved+w.W/32 { // entries are merged into the younger
					recent += c.N
				}
			}
			n = min(n, recent+recent/2+1)
		}
		most = min(most, n)
	}
	return max(0, most)
}

// room is what a window has left when the process ended.
func room(w limit.SavedWindow, gap Gap) int {
	n := w.N
	for _, list := range [...][]limit.SavedCharge{w.Own, w.Others} {
		for _, c := range list {
			if c.Age+gap.Unsaved < w.W {
				n -= c.N
			}
		}
	}
	return max(0, n)
}

// charged is what was saved and n calls more, as if they had gone in the
// process's last moment.
func charged(v limit.Saved, n int, gap Gap) limit.Saved {
	if n == 0 {
		return v
	}
	windows := slices.Clone(v.Windows)
	for i, w := range windows {
		if n := min(n, room(w, gap)); n > 0 {
			windows[i].Own = insert(w.Own, limit.SavedCharge{Age: -gap.Unsaved, N: n})
		}
	}
	v.Windows = windows
	return v
}

// insert returns the list, oldest first, with c in it.
func insert(list []limit.SavedCharge, c limit.SavedCharge) []limit.SavedCharge {
	i := len(list)
	for i > 0 && list[i-1].Age < c.Age {
		i--
	}
	return slices.Insert(slices.Clone(list), i, c)
}
