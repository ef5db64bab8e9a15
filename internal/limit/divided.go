package limit

import "strings"

// Divided returns headers of limits and counts with an nth part of each limit,
// rounded down but no less than one call. The counts are those of all parts
// together. Where the part's limits are not known yet, each part has so much of
// what was counted; later only the call itself, since counts of the other parts
// would seem to be strangers'. What is no list is returned as it is.
func Divided(limits, counts string, n int, known bool) (string, string) {
	return mapQuotas(limits, func(most int) int { return max(1, most/n) }), mapQuotas(counts, func(count int) int {
		if known {
			return 1
		}
		return (count + n - 1) / n
	})
}

func mapQuotas(header string, f func(int) int) string {
	quotas, err := ParseQuotas(header)
	if err != nil {
		return header
	}
	parts := make([]string, len(quotas))
	for i, q := range quotas {
		parts[i] = Quota{f(q.N), q.W}.String()
	}
	return strings.Join(parts, ",")
}
