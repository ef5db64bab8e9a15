package config

import "strings"

// nearest finds the setting that name is a misspelling of: at most two letters wrong, one in a short name, or another case.
// It finds nothing for the name of a setting. Of a family's names, one letter may be wrong round the id.
func nearest(name string, known []setting) (string, bool) {
	upper := strings.ToUpper(name)
	best, least := "", 3
	if inFamily(name, known) {
		return "", false
	}
	for _, s := range known {
		if s.isFamily() {
			if near, ok := s.nearest(name); ok {
				return near, true
			}
			continue
		}
		for _, n := range append([]string{s.name}, s.aliases...) {
			if n == name {
				return "", false
			}
			// Two letters of a name as short as PORT make another word.
			if d := slips(upper, n); d < least && d <= max(1, len(n)/3) {
				best, least = n, d
			}
		}
	}
	return best, best != ""
}

// nearest finds the name of the family's that name is a misspelling of: what stands round the id must begin or end at an
// underline, as the id may be any word.
func (s setting) nearest(name string) (string, bool) {
	before, after, _ := strings.Cut(s.name, familyID)
	upper := strings.ToUpper(name)
	for i := max(0, len(before)-1); i <= min(len(before)+1, len(name)); i++ {
		for j := max(i+1, len(name)-len(after)-1); j <= min(len(name)-len(after)+1, len(name)); j++ {
			head, tail := upper[:i], upper[j:]
			if !strings.HasSuffix(head, "_") || tail != "" && tail[0] != '_' || slips(head, before)+slips(tail, after) > 1 {
				continue
			}
			near := before + name[i:j] + after
			if _, ok := s.idOf(strings.ToUpper(near)); ok {
				return near, true
			}
		}
	}
	return "", false
}

// slips counts the letters missing, extra, wrong or swapped with their neighbour between a and b; 3 stands for more.
func slips(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+wrong)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], 3)
}
