package route

import (
	"strconv"
	"strings"
)

// A player's Riot ID is written Faker#KR1, and its two parts are two segments of the path. People put the whole of it
// into one, escaped or not.

// meant returns the path with / in place of its last separator of another kind, shown for a message, and the template of
// that path; "" if no method has it.
func (t *Table) meant(verb, path string) (shown, template string) {
	const most = 256
	if len(path) > most {
		return "", ""
	}
	lower := strings.ToLower(path)
	for _, separator := range [...]string{"#", "%23", "%2523", "%2f"} {
		i := strings.LastIndex(lower, separator)
		if i < 0 {
			continue
		}
		fixed := path[:i] + "/" + path[i+len(separator):]
		var buf [maxSegments]string
		n, bad := scan(fixed, &buf)
		if bad != "" || n > maxSegments {
			continue
		}
		if m := t.root.find(verb, buf[:n]); m != nil {
			return strconv.QuoteToASCII(fixed), m.Template
		}
	}
	return "", ""
}

// malformed refuses a path that breaks a rule, with the path that is meant where that is known.
func (t *Table) malformed(verb, path, rule string) *Error {
	e := malformed(path, rule)
	if verb == "" || verb == "HEAD" {
		verb = "GET"
	}
	if meant, template := t.meant(verb, path); meant != "" {
		e.Detail += "; want " + template + ", as in " + meant
		e.Nearest = template
	}
	return e
}
