package proxy

import "strings"

// dropAPIKey removes the client's key from a raw query.
//
// The name counts in any case: Riot has no parameter that differs from api_key
// in case only, so this costs nothing, and a key that a server might read is
// never passed on.
func dropAPIKey(query string) string { return drop(query, apiKey, nil) }

const apiKey = "api_key"

// drop removes from a raw query every parameter whose name decodes to name, in
// any case, and the separator that goes with it. All else stays as it is, byte
// for byte and in order. Without such a parameter it returns the same string and
// allocates nothing. '&', ';' and '?' separate: some parsers cut at each, and some
// programs write a second '?' for '&'.
//
// dropped, if not nil, is told the raw value of each.
func drop(query, name string, dropped func(value string)) string {
	var kept strings.Builder
	found, first := false, true // first: no parameter is kept yet
	for start := 0; start <= len(query); {
		end := start
		for end < len(query) && query[end] != '&' && query[end] != ';' && query[end] != '?' {
			end++
		}
		escaped, value, _ := strings.Cut(query[start:end], "=")
		if decodesTo(escaped, name) {
			if dropped != nil {
				dropped(value)
			}
			if !found { // the first one: keep what is before it
				found = true
				kept.Grow(len(query))
				kept.WriteString(query[:max(start-1, 0)])
			}
		} else {
			if found {
				if !first { // else what the separator parted from is gone
					kept.WriteByte(query[start-1])
				}
				kept.WriteString(query[start:end])
			}
			first = false
		}
		start = end + 1
	}
	if !found {
		return query
	}
	return kept.String()
}

// decodesTo reports whether an escaped name decodes to name, in any case, with
// blanks and control bytes around it or without: some servers trim names.
func decodesTo(escaped, name string) bool {
	n := 0
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%':
			if i+2 >= len(escaped) {
				return false
			}
			high, low := unhex(escaped[i+1]), unhex(escaped[i+2])
			if high < 0 || low < 0 {
				return false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch {
		case c <= ' ' && (n == 0 || n == len(name)): // around it
		case n < len(name) && c == name[n]:
			n++
		default:
			return false
		}
	}
	return n == len(name)
}

// oddQuery reports whether a raw query has what belongs in no request line: a
// blank, a control byte or #. Over HTTP/2 nobody else looks at it.
func oddQuery(query string) bool {
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c == 0x7f || c == '#' {
			return true
		}
	}
	return false
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
