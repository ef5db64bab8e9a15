package conns

import (
	"strings"
	"testing"
)

// Only what net/http writes itself is put into Riot's form.
func TestRefusal(t *testing.T) {
	for in, reason := range map[string]string{
		"HTTP/1.1 400 Bad Request" + bareError + "400 Bad Request":                                                             "malformed_request",
		"HTTP/1.1 400 Bad Request: missing required Host header" + bareError + "400 Bad Request: missing required Host header": "malformed_request",
		"HTTP/1.1 431 Request Header Fields Too Large" + bareError + "x":                                                       "headers_too_large",
		"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n":                                    "expectation_failed",
		"HTTP/1.1 417 Expectation Failed\r\nX-Riftrelay-Source: riot\r\n\r\n":                                                  "",
		"HTTP/1.1 400 Bad Request\r\nDate: x" + bareError + "x":                                                                "",
		"HTTP/1.1 200 OK" + bareError:                                                                                          "", "HTTP/1.1 400": "", "HTTP/1.1 ": "", "": "", "HTTP/1.1 4x0 x\r\n": "", "\x17\x03\x03HTTP/1.1 400 x\r\n": "",
	} {
		r := refusal([]byte(in))
		if reason == "" && r != nil || reason != "" && (r == nil || !strings.Contains(string(r.answer()), "\r\nX-Riftrelay-Reason: "+reason+"\r\n")) {
			t.Errorf("%q: %+v", in, r)
		}
	}
}
