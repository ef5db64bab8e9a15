package riotsim

import (
	"fmt"
	"strings"

	"riftrelay/route"
)

// selectsMethod tells whether a selector, in the form of Rule.Method, selects a method; nil = a path
// that doesn't exist.
func selectsMethod(selector string, m *route.Method) bool {
	return selector == "" || m != nil && (selector == m.Service || strings.TrimPrefix(selector, "GET ") == m.String())
}

// checkMethod returns an error that helps if a selector selects nothing.
func (e *Edge) checkMethod(selector string) error {
	if selector == "" || selector == route.UnknownTemplate {
		return nil
	}
	nearest, most := "", -1
	for _, m := range e.table().Methods() {
		if selectsMethod(selector, m) {
			return nil
		}
		if n := alike(strings.TrimPrefix(selector, "GET "), m.String()); n > most {
			nearest, most = m.String(), n
		}
	}
	return fmt.Errorf("method %q: want a service (match-v5) or a path template, after its verb unless that is GET; the nearest is %s", selector, nearest)
}

// alike returns how many bytes a and b have in common at their beginning.
func alike(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
