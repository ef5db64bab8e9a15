package limit

func ClassIndex(high bool) int {
	if high {
		return 1
	}
	return 0
}
