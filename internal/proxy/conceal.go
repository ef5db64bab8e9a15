package proxy

import "strings"

// What must show nowhere, wherever a client has put it: keys of Riot's, and the
// token that the client came in with. It is in a path or in a control header by
// mistake, and messages quote these.

const keyPrefix = "rgapi-"

// redact takes everything that looks like a key of Riot's out of a text.
func redact(s string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) { // letters that change their length in lower case
		s = lower
	}
	if !strings.Contains(lower, keyPrefix) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(lower, keyPrefix)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(keyPrefix)
		b.WriteString(s[:end])
		b.WriteString("…")
		for end < len(s) && keyByte(lower[end]) {
			end++
		}
		s, lower = s[end:], lower[end:]
	}
}

func keyByte(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}

// conceal takes the client's token and all keys out of a text.
func (c *call) conceal(s string) string { return redact(c.withoutToken(s)) }

// withoutToken takes the client's token out of a text, in any case, since a host
// is read so.
func (c *call) withoutToken(s string) string {
	if c.token == "" {
		return s
	}
	return replaceFold(s, c.token, "…")
}

// replaceFold is strings.ReplaceAll for an ASCII word in any case.
func replaceFold(s, word, with string) string {
	if !mentions(s, strings.ToLower(word)) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= len(word) && strings.EqualFold(s[:len(word)], word) {
			b.WriteString(with)
			s = s[len(word):]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// verb is a request's method for the log: one of HTTP's, or "other".
func verb(s string) string {
	if strings.Contains(", "+allowedVerbs+", CONNECT, TRACE, ", ", "+s+", ") {
		return s
	}
	return "other"
}
