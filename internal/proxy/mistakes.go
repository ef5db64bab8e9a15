package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// Keys and tokens that a client has put where none belongs must not reach Riot: a
// path or a query that has one is refused, a header that has one stays here.

// maxDecodings bounds how often a text is unescaped: %2541 is %41, which is A.
const maxDecodings = 3

// mistaken reports whether a text has a key of Riot's, the token that the client
// came in with, or the token of another client, be it escaped.
func (h *Handler) mistaken(s, token string) bool {
	for range maxDecodings {
		if h.plainMistake(s, token) {
			return true
		}
		plain, err := url.PathUnescape(s)
		if err != nil || plain == s {
			return false
		}
		s = plain
	}
	return h.plainMistake(s, token)
}

func (h *Handler) plainMistake(s, token string) bool {
	if lower := strings.ToLower(s); strings.Contains(lower, keyPrefix) || token != "" && strings.Contains(lower, strings.ToLower(token)) {
		return true
	}
	if h.clients.Load() == nil {
		return false
	}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("/?&;=:,+\"'()<> \t", r) }) {
		if h.isToken(part) {
			return true
		}
	}
	return h.isToken(s)
}

// checkMistakes refuses a call whose path or query would take a secret to Riot.
func (h *Handler) checkMistakes(to target, token string) error {
	if h.mistaken(to.path, token) || h.mistaken(to.query, token) {
		return invalidRoute(http.StatusBadRequest, "a key or a client's token stands in the path or the query, so the call is not sent; "+
			"allowed: a token in X-Riot-Token, X-Relay-Token or Authorization")
	}
	return nil
}

// withoutMistakes drops the headers that would take a secret to Riot.
// Authorization is a player's own.
func (h *Handler) withoutMistakes(up http.Header, token string) {
	for name, values := range up {
		if name == "Authorization" {
			continue
		}
		for _, v := range values {
			if h.mistaken(v, token) {
				delete(up, name)
				break
			}
		}
	}
	if _, named := up["User-Agent"]; !named {
		up["User-Agent"] = h.userAgent
	}
}
