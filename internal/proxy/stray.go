package proxy

import (
	"errors"
	"net/http"
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
func (h *Handler) stray(r *http.Request) bool {
	if h.clients.Load() == nil {
		return false
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	for _, text := range [...]string{path, dropAPIKey(query), r.Host, r.Method} {
		if atAnyLevel(text, h.holdsToken) {
			return true
		}
	}
	for _, name := range quoted {
		for _, text := range r.Header[name] {
			if atAnyLevel(text, h.holdsToken) {
				return true
			}
		}
	}
	return false
}
