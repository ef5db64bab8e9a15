package sched

import (
	"riftrelay/internal/window"
)

// randomShares has three budgets: calls of the second are also calls of the first. Those of the third count for the first,
// whose share is less than theirs and doesn't hold them back.
func randomShares(method string) []window.Share {
	shares := []window.Share{{Of: 0.2}, {Of: 0.1 * float64(1+len(method)%3)}, {Of: 0.6}}
	if method == "" {
		shares[0].On, shares[0].Bind = []uint16{1, 3}, 1
		shares[1].On, shares[1].Bind = []uint16{2, 1, 3}, 2
		shares[2].On, shares[2].Bind = []uint16{3, 1}, 1
	}
	return shares
}
