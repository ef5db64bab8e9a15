package route

import "strings"

// maxSegments is the longest template, in segments. A longer path has no method.
const maxSegments = 12

// Split cuts the escaped path of a request to the relay after its first segment: "/euw1/lol/…" is "euw1" and "/lol/…".
// Both are parts of escapedPath, byte for byte; nothing is allocated unless it fails.
//
// A path with one segment or none ("/", "/favicon.ico", "/euw1/") is an *[Error] with Status 404 and Problem [NoPath];
// host is then that segment, so the caller can tell them apart. A malformed first segment ("//lol", "/../lol") or a missing
// leading slash is a 400. Whether the host exists is Match's business.
func (t *Table) Split(escapedPath string) (host, rest string, err error) {
	if escapedPath == "" || escapedPath == "/" {
		return "", "", refusal(404, NoPath, "no host: want a path like /euw1/lol/status/v4/platform-data", "")
	}
	if escapedPath[0] != '/' {
		return "", "", malformed(escapedPath, "a path starts with /")
	}
	host, _, found := strings.Cut(escapedPath[1:], "/")
	if host == "" {
		return "", "", malformed(escapedPath, emptySegment)
	}
	if !isHostName(host) {
		// The first segment obeys the rules of the others: "/../lol" and "/%00/lol" are malformed, not unknown.
		if _, bad := scan(escapedPath[:len("/")+len(host)], new([maxSegments]string)); bad != "" {
			return "", "", malformed(escapedPath, bad)
		}
	}
	rest = escapedPath[len("/")+len(host):]
	if !found || rest == "/" {
		return host, "", refusal(404, NoPath, "no path after "+quote(host)+": want a path like /euw1/lol/status/v4/platform-data", "")
	}
	return host, rest, nil
}

// Match finds the route of a request for escapedPath at host. The path is Riot's, without the host in front and without
// the query, escaped as the caller will send it ([net/url.URL.EscapedPath]). An empty verb is GET, as in net/http; HEAD is
// counted as the GET method of its path.
//
// The error is an *[Error]. On success nothing is allocated, except one short string for a host that isn't listed
// ([Options.ForwardUnknownHosts]).
func (t *Table) Match(verb, host, escapedPath string) (Route, error) {
	var buf [maxSegments]string
	n, bad := scan(escapedPath, &buf)
	if bad != "" {
		return Route{}, t.malformed(verb, escapedPath, bad)
	}
	if n == 0 {
		return Route{}, refusal(404, NoPath, "no path after "+quote(host)+": want a path like /lol/status/v4/platform-data", "")
	}
	switch verb {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	case "", "HEAD":
		verb = "GET"
	default:
		return Route{}, refusal(400, Malformed, "verb "+quote(verb)+": want GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS", "")
	}
	var m *Method
	if n <= maxSegments {
		m = t.root.find(verb, buf[:n])
	}
	listed, ok := t.hosts[host]
	if !ok && (!t.forwardHosts || !isHostName(host)) {
		return Route{}, t.unknownHost(host, m)
	}
	served := m != nil && (!ok || m.serves(listed.number))
	if !served {
		if t.unknown == nil {
			return Route{}, t.noMethod(verb, host, escapedPath, m, buf[:min(n, maxSegments)], n)
		}
		m = t.unknown
	}
	if !ok {
		// A part of the request's path would keep all of it in memory as long as the caller keeps the bucket.
		return Route{Host: strings.Clone(host), Method: m}, nil
	}
	return Route{Host: listed.name, Method: m}, nil
}

const emptySegment = "a path has no empty segment (//)"

// scan checks a whole path and cuts it into segments. It returns their number, of which the first maxSegments are in to,
// or what is wrong with the path. One trailing slash adds no segment.
func scan(path string, to *[maxSegments]string) (n int, bad string) {
	if path == "" {
		return 0, ""
	}
	if path[0] != '/' {
		return 0, "a path starts with /"
	}
	for i := 1; i < len(path); i++ {
		start, dots, parts := i, true, false // dots: the segment holds nothing but "." and "%2e" so far; parts: it has a / or \\ in it
		for ; i < len(path) && path[i] != '/'; i++ {
			switch byteClass[path[i]] {
			case plain:
				dots = false
				for i+1 < len(path) && byteClass[path[i+1]] == plain { // nearly every byte is
					i++
				}
			case dot:
			case backslash:
				dots, parts = false, true
			case percent:
				if i+2 >= len(path) || hex(path[i+1]) < 0 || hex(path[i+2]) < 0 {
					return 0, "% starts an escape of two hexadecimal digits"
				}
				decoded := hex(path[i+1])<<4 | hex(path[i+2])
				if decoded < 0x20 || decoded == 0x7f {
					return 0, "a path has no control byte, escaped or not"
				}
				dots = dots && decoded == '.'
				parts = parts || decoded == '/' || decoded == '\\'
				i += 2
			default:
				return 0, "a path has no raw control byte, space, ? or #"
			}
		}
		switch {
		case start == i:
			return 0, emptySegment
		case dots && dotSegment(path[start:i]):
			return 0, "a path has no segment . or .., escaped or not"
		case parts && dotPart(path[start:i]):
			return 0, "a segment has no . or .. between slashes or backslashes, escaped or not"
		}
		if n < maxSegments {
			to[n] = path[start:i]
		}
		n++
	}
	return n, ""
}

// dotSegment reports whether a segment of nothing but dots, escaped or not, is one or two of them.
func dotSegment(segment string) bool {
	count := 0
	for i := 0; i < len(segment); i++ {
		if segment[i] == '%' {
			i += 2
		}
		count++
	}
	return count <= 2
}

// dotPart reports whether a segment has . or .. between its slashes and backslashes, escaped or not. A server that decodes
// the segment before it splits the path would leave the method that is charged.
func dotPart(segment string) bool {
	length, dots := 0, true
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' {
			c = byte(hex(segment[i+1])<<4 | hex(segment[i+2]))
			i += 2
		}
		if c != '/' && c != '\\' {
			length++
			dots = dots && c == '.'
			continue
		}
		if dots && (length == 1 || length == 2) {
			return true
		}
		length, dots = 0, true
	}
	return dots && (length == 1 || length == 2)
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

const (
	plain = iota
	dot
	percent
	slash
	backslash
	forbidden
)

// byteClass sorts the bytes of a path. Raw bytes above 0x7f are plain: they are no separators and no controls.
var byteClass = [256]uint8{
	forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, // 0x00
	forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden,
	forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, // 0x10
	forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden,
	' ': forbidden, '?': forbidden, '#': forbidden, 0x7f: forbidden,
	'.': dot, '%': percent, '/': slash, '\\': backslash,
}

func malformed(path, rule string) *Error {
	return refusal(400, Malformed, "path "+quote(path)+": "+rule, "")
}
