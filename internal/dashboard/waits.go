package dashboard

import (
	"math"
	"time"
)

// waits counts lengths of time by size: four sizes an octave from a
// millisecond on, so that a percentile is right to a tenth.
type waits struct {
	n           int
	least, most int // sizes that were counted lie within
	sizes       [sizes]uint32
}

const sizes = 80 // the last begins at 15 minutes

func sizeOf(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 1 {
		return 0
	}
	return min(sizes-1, 1+int(4*math.Log2(ms)))
}

func (w *waits) count(d time.Duration) {
	i := sizeOf(d)
	w.widen(i, i)
	w.n++
	w.sizes[i]++
}

func (w *waits) widen(least, most int) {
	if w.n == 0 {
		w.least, w.most = least, most
		return
	}
	w.least, w.most = min(w.least, least), max(w.most, most)
}

func (w *waits) add(v *waits) {
	if v.n == 0 {
		return
	}
	w.widen(v.least, v.most)
	w.n += v.n
	for i := v.least; i <= v.most; i++ {
		w.sizes[i] += v.sizes[i]
	}
}

// unknown is a number of milliseconds that nobody can tell.
const unknown = -1

// percentile returns milliseconds that so large a share took at most, 0 for less
// than one; unknown when nothing was counted. v, if not nil, counts too.
func (w *waits) percentile(share float64, v *waits) float64 {
	all := w.n
	if v != nil {
		all += v.n
	}
	if all == 0 {
		return unknown
	}
	rank, seen := int(math.Ceil(share*float64(all))), 0
	for i := range w.sizes {
		seen += int(w.sizes[i])
		if v != nil {
			seen += int(v.sizes[i])
		}
		if seen >= rank {
			if i == 0 {
				return 0
			}
			return math.Round(math.Exp2((float64(i)-0.5)/4)*10) / 10
		}
	}
	return unknown
}
