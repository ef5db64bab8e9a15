package route

import "strings"

// Bounds on what a suggestion looks at, because a client chooses the input. With the built-in table the costliest refusal
// takes about 10 µs (BenchmarkRefuse).
const (
	nearestPaths   = 512 // templates compared
	nearestSegment = 48  // bytes of a segment compared
	longestHost    = 24  // longer names resemble no host
)

// path is a distinct template.
type path struct {
	template string
	segments []string
}

func (t *Table) addPath(m *Method) {
	if len(t.paths) == nearestPaths {
		return
	}
	for _, p := range t.paths {
		if p.template == m.Template {
			return
		}
	}
	t.paths = append(t.paths, path{m.Template, segmentsOf(m.Template)})
}

// nearestPath returns the template that differs least from a path of n segments, of which the first are given; "" if all
// differ in more than half.
func (t *Table) nearestPath(segments []string, n int) string {
	best, least := "", 100*n/2+1
	for _, p := range t.paths {
		if d := distance(segments, p.segments) + 100*(n-len(segments)); d < least {
			best, least = p.template, d
		}
	}
	return best
}

// distance is 100 for each segment that is missing, extra or wholly different, and less for one that is misspelt and for
// a missing parameter. It
// takes off what fits at both ends and compares the rest pairwise: linear, and right for one mistake in one place.
func distance(path, template []string) int {
	d := 0
	for len(path) > 0 && len(template) > 0 && fits(path[0], template[0], &d) {
		path, template = path[1:], template[1:]
	}
	for len(path) > 0 && len(template) > 0 && fits(path[len(path)-1], template[len(template)-1], &d) {
		path, template = path[:len(path)-1], template[:len(template)-1]
	}
	for len(path) > 0 && len(template) > 0 {
		if !fits(path[0], template[0], &d) {
			d += unlike(path[0], template[0])
		}
		path, template = path[1:], template[1:]
	}
	for _, want := range template {
		if isParam(want) {
			d += 40 // a value is forgotten, or a client took it for a fragment: #KR1
		} else {
			d += 100
		}
	}
	return d + 100*len(path)
}

// fits reports whether segment matches want. A parameter fits everything, so it says a little less than a literal.
func fits(segment, want string, d *int) bool {
	if isParam(want) {
		*d++
		return true
	}
	return segment == want
}

// unlike compares by the common beginning and end, ignoring case: 0 = alike, 100 = nothing in common.
func unlike(a, b string) int {
	a, b = a[:min(len(a), nearestSegment)], b[:min(len(b), nearestSegment)]
	longest := max(len(a), len(b))
	common := 0
	for len(a) > 0 && len(b) > 0 && lower(a[0]) == lower(b[0]) {
		a, b, common = a[1:], b[1:], common+1
	}
	for len(a) > 0 && len(b) > 0 && lower(a[len(a)-1]) == lower(b[len(b)-1]) {
		a, b, common = a[:len(a)-1], b[:len(b)-1], common+1
	}
	return 100 - 100*common/longest
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// nearestHost returns the candidate at the least edit distance, case ignored; "" if all differ in more than half of host.
func nearestHost(host string, candidates []string) string {
	if host == "" || len(host) > longestHost {
		return ""
	}
	host = strings.ToLower(host)
	best, least := "", max(len(host)/2, 1)+1
	for _, c := range candidates {
		if d := edits(host, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a to b; b is a host name.
func edits(a, b string) int {
	var buf [12]int // host names have at most 11 bytes
	row := buf[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
