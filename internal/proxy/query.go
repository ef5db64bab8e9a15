package proxy

import "strings"

// dropAPIKey removes from a raw query every parameter whose name decodes to
// api_key, and the separator that goes with it. All else stays as it is, byte
// for byte and in order. Without such a parameter it gives the same string and
// allocates nothing.
//
// The name counts in any case: Riot has no parameter that differs from api_key
// in case only, so this costs nothing, and a key that a server might read is
// never passed on. Both '&' and ';' separate, since some parsers cut at each.
func dropAPIKey(query string) string {
	var kept strings.Builder
	found, first := false, true // first: no parameter is kept yet
	for start := 0; start <= len(query); {
		end := start
		for end < len(query) && query[end] != '&' && query[end] != ';' {
			end++
		}
		name, _, _ := strings.Cut(query[start:end], "=")
		if isAPIKey(name) {
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

const apiKey = "api_key"

// isAPIKey reports whether an escaped name decodes to api_key, in any case.
func isAPIKey(name string) bool {
	if len(name) < len(apiKey) || len(name) > 3*len(apiKey) {
		return false
	}
	n := 0
	for i := 0; i < len(name); i++ {
		if n == len(apiKey) {
			return false
		}
		c := name[i]
		if c == '%' {
			if i+2 >= len(name) {
				return false
			}
			high, low := unhex(name[i+1]), unhex(name[i+2])
			if high < 0 || low < 0 {
				return false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != apiKey[n] {
			return false
		}
		n++
	}
	return n == len(apiKey)
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
