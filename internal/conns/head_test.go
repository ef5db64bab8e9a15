package conns

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

const hosted = "Host: relay\r\n"

// heads are what the parser says of a head: "" = it is good, otherwise a part of
// the refusal.
var heads = map[string]string{
	"GET / HTTP/1.1\r\n" + hosted + "\r\n":                                                        "",
	"GET / HTTP/1.0\r\n\r\n":                                                                      "",
	"\r\nGET / HTTP/1.1\r\n" + hosted + "\r\n":                                                    "", // net/http refuses it, but after a POST
	"M-SEARCH_ * HTTP/1.1\r\n" + hosted + "\r\n":                                                  "",
	"GET /\xeb\xa1\xa4?a=%20 HTTP/1.1\r\n" + hosted + "\r\n":                                      "",
	"CONNECT euw1.api.riotgames.com:443 HTTP/1.1\r\n\r\n":                                         "",
	"POST / HTTP/1.1\r\nhOsT:relay\r\ncontent-LENGTH: \t007 \r\n\r\n":                             "",
	"POST / HTTP/1.1\r\n" + hosted + "transfer-encoding:\tCHUNKED \r\n\r\n":                       "",
	"GET / HTTP/1.1\r\n" + hosted + "Empty:\r\nX: a\tb \xff\r\nX: c\r\n\r\n":                      "",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 9223372036854775807\r\n\r\n":                "",
	"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n":                                       "HTTP/1.0 has no Transfer-Encoding",
	"POST / HTTP/1.0\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n":                  "HTTP/1.0 has no Transfer-Encoding",
	"GET / HTTP/1.0\r\nTransfer-Encoding: identity\r\n\r\n":                                       "HTTP/1.0 has no Transfer-Encoding",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n":    "both Content-Length and",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n":    "both Content-Length and",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n": "several Transfer-Encoding",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding: gzip, chunked\r\n\r\n":                   "encoding is not known",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding: identity\r\n\r\n":                        "encoding is not known",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding:\r\n\r\n":                                 "encoding is not known",
	"POST / HTTP/1.1\r\n" + hosted + "Transfer-Encoding: \x0bchunked\r\n\r\n":                     "control character",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n":             "several Content-Length",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 4, 4\r\n\r\n":                               "not a number",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: +4\r\n\r\n":                                 "not a number",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 4_0\r\n\r\n":                                "not a number",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 0x4\r\n\r\n":                                "not a number",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length:\r\n\r\n":                                    "not a number",
	"POST / HTTP/1.1\r\n" + hosted + "Content-Length: 9223372036854775808\r\n\r\n":                "not a number",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\r\n b\r\n\r\n":                                     "several lines",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\r\n\t\r\n\r\n":                                     "several lines",
	"GET / HTTP/1.1\r\n Host: relay\r\n\r\n":                                                      "several lines",
	"GET / HTTP/1.1\r\n" + hosted + "Accept : a\r\n\r\n":                                          "name of a header",
	"GET / HTTP/1.1\r\n" + hosted + ": a\r\n\r\n":                                                 "name of a header",
	"GET / HTTP/1.1\r\n" + hosted + "Accept\r\n\r\n":                                              "name of a header",
	"GET / HTTP/1.1\r\n" + hosted + "Acc\x00ept: a\r\n\r\n":                                       "name of a header",
	"GET / HTTP/1.1\r\n" + hosted + "Acc\xe9pt: a\r\n\r\n":                                        "name of a header",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\x00b\r\n\r\n":                                      "control character",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\rX: b\r\n\r\n":                                     "control character",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\r\r\n\r\n":                                         "control character",
	"GET / HTTP/1.1\r\n" + hosted + "Accept: a\x7f\r\n\r\n":                                       "control character",
	"GET / HTTP/1.1\r\n" + hosted + hosted + "\r\n":                                               "several Host",
	"GET / HTTP/1.0\r\n" + hosted + hosted + "\r\n":                                               "several Host",
	"GET / HTTP/1.1\r\n\r\n":                                                                      "no Host",
	"GET / HTTP/1.1\n" + hosted + "\r\n":                                                          "without a carriage return",
	"GET / HTTP/1.1\r\n" + hosted + "\n":                                                          "without a carriage return",
	"GET / HTTP/1.1\r\nHost: relay\n\r\n":                                                         "without a carriage return",
	"\n":                                                                                          "without a carriage return",
	"\r\n\r\nGET / HTTP/1.1\r\n" + hosted + "\r\n":                                                "empty lines",
	"GET / HTTP/1.1\rHost: relay\r\n\r\n":                                                         "first line",
	"GET /\r\n":                                                                                   "first line",
	"GET  / HTTP/1.1\r\n" + hosted + "\r\n":                                                       "first line",
	"GET /  HTTP/1.1\r\n" + hosted + "\r\n":                                                       "first line",
	"GET / HTTP/1.1 \r\n" + hosted + "\r\n":                                                       "first line",
	"GET /a b HTTP/1.1\r\n" + hosted + "\r\n":                                                     "first line",
	" GET / HTTP/1.1\r\n" + hosted + "\r\n":                                                       "first line",
	"GET\t/\tHTTP/1.1\r\n" + hosted + "\r\n":                                                      "first line",
	"GET /\x00 HTTP/1.1\r\n" + hosted + "\r\n":                                                    "first line",
	"GET /\x7f HTTP/1.1\r\n" + hosted + "\r\n":                                                    "first line",
	"get / HTTP/1.1\r\n" + hosted + "\r\n":                                                        "first line",
	"GE(T / HTTP/1.1\r\n" + hosted + "\r\n":                                                       "first line",
	"GET / http/1.1\r\n" + hosted + "\r\n":                                                        "first line",
	"GET / HTTP/1.10\r\n" + hosted + "\r\n":                                                       "first line",
	"GET / HTTP/11\r\n" + hosted + "\r\n":                                                         "first line",
	"GET / HTTP/1.2\r\n" + hosted + "\r\n":                                                        "version",
	"GET / HTTP/0.9\r\n" + hosted + "\r\n":                                                        "version",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                            "version",
	"GET /" + strings.Repeat("x", mostHead):                                                       "too large",
	"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", mostHead) + "\r\n\r\n":                          "too large",
	"GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", mostHead/6):                                 "too large",
	"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\n":                                              "without a carriage return",
}

func TestHeads(t *testing.T) {
	for raw, want := range heads {
		var whole head
		end, bad := whole.read([]byte(raw))
		if want == "" && (bad != nil || end != len(raw)) || want != "" && (bad == nil || !strings.Contains(bad.message, want)) {
			t.Errorf("%.100q: %d, %+v; want %q", raw, end, bad, want)
		}
		if want != "" && end != 0 {
			t.Errorf("%.100q: it ends at %d", raw, end)
		}
	}
}

// A head is read alike in one piece and byte by byte, and net/http sees the same
// request in it.
func FuzzHead(f *testing.F) {
	for raw := range heads {
		if len(raw) < 1000 {
			f.Add([]byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var whole, pieces head
		end, bad := whole.read(raw)
		for i := range raw {
			n, wrong := pieces.read(raw[:i+1])
			if n == 0 && wrong == nil {
				continue
			}
			if n != end || (wrong == nil) != (bad == nil) {
				t.Fatalf("%q: %d, %+v in pieces; %d, %+v at once", raw, n, wrong, end, bad)
			}
			break
		}
		if end == 0 || whole.blank {
			return
		}
		in := bytes.NewReader(raw[:end])
		r, err := http.ReadRequest(bufio.NewReader(in))
		if err != nil {
			return
		}
		chunked := len(r.TransferEncoding) > 0
		if chunked != whole.chunked || !chunked && r.ContentLength != whole.length || r.ProtoAtLeast(1, 1) == whole.old || (r.Method == http.MethodConnect) != whole.connect {
			t.Errorf("%q: %+v; net/http has %+v", raw, whole, r)
		}
	})
}
