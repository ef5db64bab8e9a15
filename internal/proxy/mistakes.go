package proxy

import (
	"net/http"
	"strings"
)

// Keys and tokens that a client has put where none belongs must not reach Riot: a
// path or a query that has one is refused, a header that has one stays here.

// mistaken reports whether a text has a key, or the token of any client, in any
// case, escaped or not, and with whatever stands before and behind it.
func (h *Handler) mistaken(s string) bool { return atAnyLevel(s, h.holdsSecret) }

func (h *Handler) holdsSecret(s string) bool {
	return mentions(s, keyPrefix) || h.secret(s) || h.holdsToken(s)
}

// holdsToken reports whether somebody's token is within a text.
func (h *Handler) holdsToken(s string) bool {
	known := h.clients.Load()
	return known != nil && known.tokens.Within(s)
}

// atAnyLevel reports whether something holds of a text, as it is or unescaped: once,
// a few times, or until nothing is left to unescape (%2541 is %41, which is A).
func atAnyLevel(s string, holds func(string) bool) bool {
	const few = 3
	for range few {
		if holds(s) {
			return true
		}
		plain := unescape(s, false)
		if plain == s {
			return false
		}
		s = plain
	}
	return holds(s) || holds(unescape(s, true))
}

// unescape replaces the percent-encoded bytes of a text, and leaves a percent sign
// that encodes nothing. With whole, it does so too with what comes out.
func unescape(s string, whole bool) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	floor := 0 // of what may be a part of a code
	for i := range len(s) {
		out = append(out, s[i])
		for n := len(out); n-floor >= 3 && out[n-3] == '%'; n = len(out) {
			high, low := unhex(out[n-2]), unhex(out[n-1])
			if high < 0 || low < 0 {
				break
			}
			out = append(out[:n-3], byte(high<<4|low))
			if !whole {
				floor = len(out)
			}
		}
	}
	return string(out)
}

// checkMistakes refuses a call whose host, path or query would tell a secret.
func (h *Handler) checkMistakes(to target) error {
	if h.mistaken(to.host) || h.mistaken(to.path) || h.mistaken(to.query) {
		return invalidRoute(http.StatusBadRequest, "a key or a client's token stands in the host, the path or the query, so the call is not sent; "+
			"allowed: a token in X-Riot-Token, X-Relay-Token or Authorization")
	}
	return nil
}

// withoutMistakes drops the headers that would take a secret to Riot.
// Authorization is a player's own.
func (h *Handler) withoutMistakes(up http.Header) {
	for name, values := range up {
		if name == "Authorization" {
			continue
		}
		for _, v := range values {
			if h.mistaken(v) {
				delete(up, name)
				break
			}
		}
	}
	if _, named := up["User-Agent"]; !named {
		up["User-Agent"] = h.userAgent
	}
}
