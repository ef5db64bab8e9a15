package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// A client's token that stands where none belongs, its own or another's, shows in
// no message and no log. Messages quote what a client sent, in part: so a request
// that has such a token gets a message that quotes nothing.

const strayMessage = "a client's token stands where none belongs: in the path, the query, the host or a control header"

var errStray = errors.New(strayMessage)

// quoted are the headers that messages quote.
var quoted = [...]string{"X-Max-Wait", "X-Rate-Budget", "X-Priority", "X-Riot-Token-Index", "X-Request-Id", "Upgrade", "Origin"}

// stray reports whether a request has a client's token in what messages quote.
func (h *Handler) stray(r *http.Request, token string) bool {
	if h.clients.Load() == nil {
		return false
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	for _, text := range [...]string{path, dropAPIKey(query), r.Host, r.Method} {
		if h.holdsTokenEscaped(text, token) {
			return true
		}
	}
	for _, name := range quoted {
		for _, text := range r.Header[name] {
			if h.holdsTokenEscaped(text, token) {
				return true
			}
		}
	}
	return false
}

// mostScanned is how much of a text is looked at: more than a message quotes of it
// and a token together have.
const mostScanned = 640

// holdsTokenEscaped is holdsToken for a text that may be escaped, once or more
// often. Own is the token that the client showed, which is found in any case.
func (h *Handler) holdsTokenEscaped(text, own string) bool {
	text = text[:min(len(text), mostScanned)]
	for range maxDecodings {
		if h.holdsToken(text) || own != "" && mentions(text, strings.ToLower(own)) {
			return true
		}
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			return false
		}
		text = plain
	}
	return false
}

// holdsToken reports whether somebody's token is within a text. Tokens are known
// by digests and lengths only, so each part of such a length is looked up.
func (h *Handler) holdsToken(text string) bool {
	known := h.clients.Load()
	if known == nil {
		return false
	}
	for _, n := range known.lengths {
		for i := 0; i+n <= len(text); i++ {
			if known.of(text[i:i+n]) != nil {
				return true
			}
		}
	}
	return known.of(text) != nil
}
