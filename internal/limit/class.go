package limit

// ClassIndex returns the index of a priority in arrays by class: 0 is normal, 1
// is high.
func ClassIndex(high bool) int {
	if high {
		return 1
	}
	return 0
}
