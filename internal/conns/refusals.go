package conns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// bareError is what stands between the status line and the text of an error that
// net/http writes itself, before any handler. No handler's answer begins so: its
// Date comes first.
const bareError = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refusals say what net/http refuses by itself.
var refusals = map[int]struct{ reason, message string }{
	http.StatusBadRequest:                  {"malformed_request", "the request is malformed; allowed: HTTP/1.1 with one Host, and an escaped target: %20 for a space, %25 for %"},
	http.StatusRequestHeaderFieldsTooLarge: {"headers_too_large", "the request line and headers are too large; allowed: 32 kB"},
	http.StatusExpectationFailed:           {"expectation_failed", "the Expect header is not known; allowed: 100-continue"},
	http.StatusNotImplemented:              {"unsupported_encoding", "the transfer encoding is not known; allowed: chunked"},
	http.StatusHTTPVersionNotSupported:     {"unsupported_version", "the version of HTTP is not known; allowed: HTTP/1.0 and HTTP/1.1, and HTTP/2 over TLS"},
}

// refusal returns an error of net/http's own in the form of Riot's errors, so
// that every answer says who speaks. Anything else it returns as it is.
func refusal(answer []byte) []byte {
	const version = "HTTP/1.1 "
	if !bytes.HasPrefix(answer, []byte(version)) || len(answer) < len(version)+3 {
		return answer
	}
	line := bytes.IndexByte(answer, '\r')
	status, err := strconv.Atoi(string(answer[len(version) : len(version)+3]))
	known, ok := refusals[status]
	if err != nil || !ok || line < 0 {
		return answer
	}
	bare := bytes.HasPrefix(answer[line:], []byte(bareError))
	if status == http.StatusExpectationFailed { // written like an answer, by no handler of ours
		bare = !bytes.Contains(answer, []byte("\r\nX-Riftrelay-Source: "))
	}
	if !bare {
		return answer
	}
	var body struct {
		Status struct {
			Message    string `json:"message"`
			StatusCode int    `json:"status_code"`
		} `json:"status"`
	}
	body.Status.Message, body.Status.StatusCode = known.message, status
	text, err := json.Marshal(body)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: application/json;charset=utf-8\r\n"+
		"X-Content-Type-Options: nosniff\r\nX-Riftrelay-Reason: %s\r\nX-Riftrelay-Source: relay\r\n\r\n%s", status, http.StatusText(status), len(text), known.reason, text)
}
