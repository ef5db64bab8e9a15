package limit

import (
	"strconv"
	"time"
)

// Quota is one limit as Riot writes it, N calls in W: "20:1" is 20 in one
// second.
type Quota struct {
	N int
	W time.Duration
}

// String writes q as Riot does.
func (q Quota) String() string {
	return strconv.Itoa(q.N) + ":" + strconv.FormatFloat(q.W.Seconds(), 'f', -1, 64)
}

// BasisFor returns what a list has for a window of that length.
func BasisFor(list []Basis, w time.Duration) (b Basis, ok bool) {
	for _, x := range list {
		if x.W == w {
			return x, true
		}
	}
	return Basis{}, false
}
