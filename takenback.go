package riftrelay

import "strings"

// takenBack reports whether the server has said that it did not process the
// request: it reset the stream with REFUSED_STREAM, or ended the connection with
// a GOAWAY that names an earlier stream as the last (RFC 9113, 8.7). Such a
// request can be sent again, a POST too.
//
// net/http tells this in the texts of errors alone. A text that isn't known here
// means that the request isn't sent again. A GET doesn't come this far, because
// net/http sends it again by itself: see attempt.gotConn, and call.barewrite.
func takenBack(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	if strings.HasPrefix(text, "http2: Transport received GOAWAY from server ErrCode:") {
		return true // the first stream of a connection, above the last one
	}
	text, ok := strings.CutPrefix(text, "http2: Transport: cannot retry err [")
	if !ok {
		return false
	}
	text, ok = strings.CutSuffix(text, "] after Request.Body was written; define Request.GetBody to avoid this error")
	return ok && (text == "http2: Transport received Server's graceful shutdown GOAWAY" ||
		strings.HasPrefix(text, "stream error: stream ID ") && strings.HasSuffix(text, "; REFUSED_STREAM; received from peer"))
}
