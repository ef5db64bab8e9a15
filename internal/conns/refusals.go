package conns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// refused is why a request gets no further than its head.
type refused struct {
	status          int
	reason, message string
}

// malformed is the refusal of a request that two programs may read differently.
func malformed(why string) *refused {
	return &refused{http.StatusBadRequest, "malformed_request", "the request is malformed: " + why}
}

var (
	tooLarge        = &refused{http.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "the request line and headers are too large; allowed: 32 kB"}
	unknownEncoding = &refused{http.StatusNotImplemented, "unsupported_encoding", "the transfer encoding is not known; allowed: chunked"}
	unknownVersion  = &refused{http.StatusHTTPVersionNotSupported, "unsupported_version", "the version of HTTP is not known; allowed: HTTP/1.0 and HTTP/1.1, and HTTP/2 over TLS"}
)

// refusals say what net/http refuses by itself.
var refusals = map[int]*refused{
	tooLarge.status:        tooLarge,
	unknownEncoding.status: unknownEncoding,
	unknownVersion.status:  unknownVersion,
	http.StatusBadRequest: {http.StatusBadRequest, "malformed_request",
		"the request is malformed; allowed: HTTP/1.1 with one Host, and an escaped target: %20 for a space, %25 for %"},
	http.StatusExpectationFailed: {http.StatusExpectationFailed, "expectation_failed", "the Expect header is not known; allowed: 100-continue"},
}

// bareError is what stands between the status line and the text of an error that
// net/http writes itself, before any handler. No handler's answer begins so: its
// Date comes first.
const bareError = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refusal returns what net/http refuses with an answer of its own. It returns nil
// for every other answer.
func refusal(answer []byte) *refused {
	const version = "HTTP/1.1 "
	if !bytes.HasPrefix(answer, []byte(version)) || len(answer) < len(version)+3 {
		return nil
	}
	line := bytes.IndexByte(answer, '\r')
	status, err := strconv.Atoi(string(answer[len(version) : len(version)+3]))
	known, ok := refusals[status]
	if err != nil || !ok || line < 0 {
		return nil
	}
	bare := bytes.HasPrefix(answer[line:], []byte(bareError))
	if status == http.StatusExpectationFailed { // written like an answer, by no handler of ours
		bare = !bytes.Contains(answer, []byte("\r\nX-Riftrelay-Source: "))
	}
	if !bare {
		return nil
	}
	return known
}

// answer is r in the form of Riot's errors, so that every answer says who speaks.
func (r *refused) answer() []byte {
	var body struct {
		Status struct {
			Message    string `json:"message"`
			StatusCode int    `json:"status_code"`
		} `json:"status"`
	}
	body.Status.Message, body.Status.StatusCode = r.message, r.status
	text, err := json.Marshal(body)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: application/json;charset=utf-8\r\n"+
		"X-Content-Type-Options: nosniff\r\nX-Riftrelay-Reason: %s\r\nX-Riftrelay-Source: relay\r\n\r\n%s", r.status, http.StatusText(r.status), len(text), r.reason, text)
}
