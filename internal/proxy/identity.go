package proxy

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
)

const requestID = "X-Request-Id"

// identify returns a request its id: the client's, if that can be logged and sent
// back, or one of our own. The answer has it, whoever answers.
func (h *Handler) identify(to http.Header, r *http.Request) string {
	if vv := r.Header[requestID]; len(vv) == 1 && saneID(vv[0]) && !h.mistaken(vv[0]) {
		to[requestID] = vv
		return vv[0]
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	id := hex.EncodeToString(b[:])
	to[requestID] = []string{id}
	return id
}

// saneID takes visible ASCII of a line's length, and nothing that looks like a
// key.
func saneID(id string) bool {
	const most = 64
	if id == "" || len(id) > most {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(id), keyPrefix)
}
