package conns

import (
	"bytes"
	"strconv"
	"strings"
)

// mostHead is how long a request's head may be: request line and headers.
const mostHead = 32 << 10

// head reads one HTTP/1 head, line by line as it comes, and is stricter than
// net/http: whatever two programs may read differently is refused. The zero head
// has read nothing.
type head struct {
	at    int // up to where it has been read
	lines int
	blank bool // an empty line came first

	old       bool // HTTP/1.0
	connect   bool
	chunked   bool
	hasLength bool
	hasHost   bool
	length    int64
}

// read goes on in b, which holds the head from its beginning. It returns the
// head's end, or 0 while it isn't complete.
func (h *head) read(b []byte) (end int, bad *refused) {
	for {
		i := bytes.IndexByte(b[h.at:], '\n')
		if i < 0 {
			if len(b) > mostHead {
				return 0, tooLarge
			}
			return 0, nil
		}
		line, found := bytes.CutSuffix(b[h.at:h.at+i], []byte("\r"))
		h.at += i + 1
		switch {
		case h.at > mostHead:
			return 0, tooLarge
		case !found:
			return 0, malformed("a line ends without a carriage return")
		case len(line) > 0 && h.lines == 0:
			bad = h.requestLine(line)
		case len(line) > 0:
			bad = h.header(line)
		case h.lines == 0 && !h.blank:
			h.blank = true // some clients end a body so; net/http takes it after POST
			continue
		case h.lines == 0:
			bad = malformed("it begins with empty lines")
		default:
			if bad = h.whole(); bad == nil {
				return h.at, nil
			}
		}
		if bad != nil {
			return 0, bad
		}
		h.lines++
	}
}

const firstLine = "its first line is not verb, target and version with one space between; allowed in a target: %20 for a space, no control character"

// requestLine is strictly METHOD SP target SP version.
func (h *head) requestLine(line []byte) *refused {
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, version, found := bytes.Cut(rest, []byte(" "))
	if !found || len(target) == 0 || !all(method, isMethod) || !all(target, isTarget) {
		return malformed(firstLine)
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.old = true
	default:
		if len(version) == len("HTTP/1.1") && bytes.HasPrefix(version, []byte("HTTP/")) && isDigit(version[5]) && version[6] == '.' && isDigit(version[7]) {
			return unknownVersion
		}
		return malformed(firstLine)
	}
	h.connect = string(method) == "CONNECT"
	return nil
}

// header is strictly name ":" value, in one line.
func (h *head) header(line []byte) *refused {
	if line[0] == ' ' || line[0] == '\t' {
		return malformed("a header goes over several lines")
	}
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found || !all(name, isToken) {
		return malformed("the name of a header has a space or another character that names don't have")
	}
	if len(value) > 0 && !all(value, isValue) {
		return malformed("the value of a header has a control character")
	}
	value = bytes.Trim(value, " \t")
	switch {
	case is(name, "content-length"):
		if h.hasLength {
			return malformed("it has several Content-Length headers")
		}
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || !all(value, isDigit) {
			return malformed("its Content-Length is not a number of bytes")
		}
		h.hasLength, h.length = true, int64(n)
	case is(name, "transfer-encoding"):
		switch {
		case h.old:
			return malformed("HTTP/1.0 has no Transfer-Encoding")
		case h.chunked:
			return malformed("it has several Transfer-Encoding headers")
		case !is(value, "chunked"):
			return unknownEncoding
		}
		h.chunked = true
	case is(name, "host"):
		if h.hasHost {
			return malformed("it has several Host headers")
		}
		h.hasHost = true
	}
	return nil
}

// whole checks what no single line tells.
func (h *head) whole() *refused {
	switch {
	case h.chunked && h.hasLength:
		return malformed("it has both Content-Length and Transfer-Encoding")
	case !h.hasHost && !h.old && !h.connect:
		return malformed("it has no Host header")
	}
	return nil
}

// is reports whether b is lower, in capitals or not. lower has only letters of
// ASCII and "-".
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// all reports whether b has bytes, and all of them are in class.
func all(b []byte, class func(byte) bool) bool {
	for _, c := range b {
		if !class(c) {
			return false
		}
	}
	return len(b) > 0
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isMethod(c byte) bool { return 'A' <= c && c <= 'Z' || c == '-' || c == '_' }
func isTarget(c byte) bool { return c > ' ' && c != 0x7f }
func isValue(c byte) bool  { return c >= ' ' && c != 0x7f || c == '\t' }

// isToken reports whether c may be in a header's name (RFC 9110, 5.6.2).
func isToken(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
