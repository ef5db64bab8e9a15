package proxy

import (
	"net/http"
	"slices"
)

// withoutSecrets takes the values out of an answer's headers that have a key or
// a client's token in them: an upstream that echoes what it is sent would tell
// the key to whoever calls. Bodies pass as they are.
func (h *Handler) withoutSecrets(c *call, header http.Header) {
	for name, vv := range header {
		if !slices.ContainsFunc(vv, func(v string) bool { return h.isSecret(c, v) }) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(vv), func(v string) bool { return h.isSecret(c, v) })
		if len(kept) > 0 {
			header[name] = kept
			continue
		}
		delete(header, name)
	}
}

func (h *Handler) isSecret(c *call, v string) bool {
	return h.mistaken(v) || c.withoutToken(v) != v
}
