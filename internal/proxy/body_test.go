package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Bodies go up as they are, with their length.
func TestRequestBodies(t *testing.T) {
	const codes = "/americas/lol/tournament-stub/v5/codes"
	for _, tt := range []struct{ name, request, body, line string }{
		{"length", request("POST", codes, "{\"a\":1}", "Content-Length: 7"), "{\"a\":1}", "Content-Length: 7"},
		{"chunked", request("POST", codes, "3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), "abc", "Content-Length: 3"},
		{"empty", request("POST", codes, "", "Content-Length: 0"), "", "Content-Length: 0"},
		{"large", request("POST", codes, strings.Repeat("x", 300_000), "Content-Length: 300000"), strings.Repeat("x", 300_000), "Content-Length: 300000"},
		{"expecting", request("POST", codes, "abc", "Content-Length: 3", "Expect: 100-continue"), "abc", "Content-Length: 3"},
	} {
		up := newUpstream(t, say(plainAnswer))
		raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}), tt.request)
		head := up.last(t)
		if up.bodies[0] != tt.body || !strings.Contains(head, "\r\n"+tt.line) {
			t.Errorf("%s: upstream got %q with %.50q", tt.name, head, up.bodies[0])
		}
		if !strings.Contains(raw, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: %.200q", tt.name, raw)
		}
		if strings.Contains(head, "Expect") {
			t.Errorf("%s: Expect went up: %q", tt.name, head)
		}
	}
}

// A body that fails is the client's fault, not the upstream's.
func TestBrokenRequestBodies(t *testing.T) {
	const codes = "/americas/lol/tournament-stub/v5/codes"
	obs := newSeen()
	up := newUpstream(t, say(plainAnswer))
	address := serve(t, Options{Transport: viaUpstream(t, up), Observer: obs})
	if res, _ := parse(t, sendRaw(t, address, request("POST", codes, "zz\r\nabc", "Transfer-Encoding: chunked"))); res.StatusCode != 400 ||
		res.Header.Get("X-Riftrelay-Reason") != reasonInvalidBody {
		t.Errorf("malformed: %d %v", res.StatusCode, res.Header)
	}
	<-obs.ended

	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, request("POST", codes, "abc", "Content-Length: 10"))
	c.(*net.TCPConn).CloseWrite()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, _ := io.ReadAll(c); len(got) > 0 {
		t.Errorf("a client that left got %q", got)
	}
	c.Close()
	<-obs.ended
	if obs.done[1] != "499 relay americas:POST /lol/tournament-stub/v5/codes" {
		t.Errorf("observer saw %q", obs.done)
	}
}

// A body that isn't wanted, or is too large, is refused before the call asks for
// a slot, and without being read where its length says so.
func TestRefusedRequestBodies(t *testing.T) {
	const codes = "/americas/lol/tournament-stub/v5/codes"
	chunks := "3\r\nabc\r\n0\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
	}{
		{"GET", request("GET", status, "abc", "Content-Length: 3"), 400},
		{"GET in chunks", request("GET", status, chunks, "Transfer-Encoding: chunked"), 400},
		{"HEAD", request("HEAD", status, "abc", "Content-Length: 3"), 400},
		{"large", request("POST", codes, strings.Repeat("x", 1001), "Content-Length: 1001"), 413},
		{"huge", request("POST", codes, "", "Content-Length: 9223372036854775807"), 413},
		{"large in chunks", request("POST", codes, "3e9\r\n"+strings.Repeat("x", 1001), "Transfer-Encoding: chunked"), 413},
		{"cut chunks", request("POST", codes, "3\r\nab\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 400},
		{"no method", request("POST", "/americas/lol/no", "0123456789", "Content-Length: 10"), 404},
		{"no method, expecting", request("POST", "/americas/lol/no", "", "Content-Length: 10", "Expect: 100-continue"), 404},
	} {
		up := newUpstream(t, say(plainAnswer))
		address := serve(t, Options{Transport: viaUpstream(t, up), MaxBody: 1000})
		raw := sendRaw(t, address, tt.request)
		if !strings.HasPrefix(raw, fmt.Sprintf("HTTP/1.1 %d ", tt.status)) || !strings.Contains(raw, "X-Riftrelay-Source: relay\r\n") {
			t.Errorf("%s: %.300q, want %d", tt.name, raw, tt.status)
		}
		if len(up.heads) > 0 {
			t.Errorf("%s: upstream got %q", tt.name, up.heads)
		}
	}
	up := newUpstream(t, say(plainAnswer))
	raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), MaxBody: 1000}), request("POST", codes, strings.Repeat("x", 1000), "Content-Length: 1000"))
	if res, _ := parse(t, raw); res.StatusCode != 200 || len(up.bodies[0]) != 1000 {
		t.Errorf("a body of the largest size: %s", res.Status)
	}
	up = newUpstream(t, say(plainAnswer))
	raw = sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up)}), request("GET", status, "0\r\n\r\n", "Transfer-Encoding: chunked"))
	if res, _ := parse(t, raw); res.StatusCode != 200 || strings.Contains(up.last(t), "chunked") {
		t.Errorf("no chunk at all: %s", res.Status)
	}
}

// The bodies of waiting calls have a bound together.
func TestBodiesAreBounded(t *testing.T) {
	room := bodyRoom{most: 8 << 10}
	read := func() ([]byte, error) {
		return room.read(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 8<<10))))
	}
	var held [][]byte
	for range roomForBodies - 1 { // each has a byte more than its body
		data, err := read()
		if err != nil || len(data) != 8<<10 {
			t.Fatalf("a body that there is room for: %d bytes, %v", len(data), err)
		}
		held = append(held, data)
	}
	data, err := read()
	if a := replyFor(err, false, ""); a.status != 429 || a.retryAfter != 1 {
		t.Errorf("one more: %v", err)
	}
	for _, data := range append(held, data) {
		room.release(data)
	}
	if data, err = read(); err != nil {
		t.Errorf("after them: %v", err)
	}
	room.release(data)
	if n := room.used.Load(); n != 0 {
		t.Errorf("%d bytes are lost", n)
	}
}

// Over HTTP/2 net/http takes a length that is no number, or one of several, for
// none, and would hand an empty body on.
func TestWrongLengths(t *testing.T) {
	for _, tt := range []struct {
		told  []string
		major int
		wrong bool
	}{
		{nil, 2, false}, {[]string{"3"}, 2, false}, {[]string{"003"}, 2, false}, {[]string{"2"}, 2, true}, {[]string{"+3"}, 2, true},
		{[]string{""}, 2, true}, {[]string{"3", "3"}, 2, true}, {[]string{"9223372036854775808"}, 2, true}, {[]string{"2"}, 1, false},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("abc"))
		r.ProtoMajor = tt.major
		if tt.told != nil {
			r.Header["Content-Length"] = tt.told
		}
		if got := wrongLength(r); got != tt.wrong {
			t.Errorf("HTTP/%d, %q: %v", tt.major, tt.told, got)
		}
	}
}
