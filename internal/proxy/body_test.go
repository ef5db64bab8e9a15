package proxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Bodies go up as they are, their length kept or chunked as the client did.
func TestRequestBodies(t *testing.T) {
	const codes = "/americas/lol/tournament-stub/v5/codes"
	for _, tt := range []struct{ name, request, body, line string }{
		{"length", request("POST", codes, "{\"a\":1}", "Content-Length: 7"), "{\"a\":1}", "Content-Length: 7"},
		{"chunked", request("POST", codes, "3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), "abc", "Transfer-Encoding: chunked"},
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

// The transport's read of the body may outlive the handler: it must find the
// body closed.
func TestRequestBodyIsClosed(t *testing.T) {
	for name, answer := range map[string]roundTrip{
		"answered": func(*http.Request) (*http.Response, error) { return answerOf("{}"), nil },
		"failed":   func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		h, err := New(Options{Table: table(t), Transport: answer})
		if err != nil {
			t.Fatal(err)
		}
		body := &closing{Reader: strings.NewReader("abc")}
		r := httptest.NewRequest("POST", "/americas/lol/tournament-stub/v5/codes", body)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !body.closed {
			t.Errorf("%s: the body is open", name)
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }
