package route

import (
	"fmt"
	"slices"
	"strings"
)

// The messages of refused requests. This is off the fast path, and its work is bounded all the same, because a client
// chooses the input: see nearest.go.

// unknownHost refuses a host; m is the method of the path, nil if there is none.
func (t *Table) unknownHost(host string, m *Method) *Error {
	candidates, of := t.hostList, "known hosts"
	if m != nil && len(m.Hosts) > 0 {
		candidates, of = m.Hosts, "hosts that serve "+m.String()
	}
	near := nearestHost(host, candidates)
	detail := fmt.Sprintf("unknown host %s; ", quote(host))
	if near != "" {
		detail += fmt.Sprintf("the nearest is %s; ", near)
	}
	return refusal(404, UnknownHost, detail+of+": "+some(candidates), near)
}

// noMethod refuses a path that no method fits: m is the method that the host doesn't serve, or nil. segments are the
// first of n.
func (t *Table) noMethod(verb, host, path string, m *Method, segments []string, n int) *Error {
	if m != nil {
		if len(m.Hosts) == 0 {
			return refusal(404, NotServed, fmt.Sprintf("host %s does not serve %s, and no other listed host does", quote(host), m), "")
		}
		near := nearestHost(host, m.Hosts)
		return refusal(404, NotServed, fmt.Sprintf("host %s does not serve %s; these do: %s", quote(host), m, some(m.Hosts)), near)
	}
	if n == len(segments) {
		if others := t.root.all(segments, nil); len(others) > 0 {
			var verbs []string
			for _, o := range others {
				verbs = append(verbs, o.Verb)
			}
			return refusal(404, UnknownVerb, fmt.Sprintf("%s has no method %s; it has %s", others[0].Template, verb, some(sortedSet(verbs))), others[0].Template)
		}
	}
	if meant, template := t.meant(verb, path); meant != "" {
		return refusal(404, UnknownPath, "unknown path "+quote(path)+"; the nearest known is "+template+", as in "+meant, template)
	}
	near := t.nearestPath(segments, n)
	detail := "unknown path " + quote(path)
	if near != "" {
		detail += "; the nearest known is " + near
	}
	return refusal(404, UnknownPath, detail, near)
}

// some lists names, not too many.
func some(names []string) string {
	const most = 30
	if n := len(names); n > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}
