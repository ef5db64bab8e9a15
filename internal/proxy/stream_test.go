package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"testing"
	"testing/iotest"

	"riftrelay"
)

func answerOf(body string) *http.Response {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}, "Content-Length": {fmt.Sprint(len(body))}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
}

// What Riot says goes down as it is: headers doubled and odd, body untouched.
func TestAnswersPass(t *testing.T) {
	const h = "Date: D\r\nX-Riot: 1\r\n"
	for _, tt := range []struct {
		name, verb, answer string
		want               string // of the raw answer, less Connection and our own two headers, sorted by nobody
	}{
		{"plain", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 3\r\nContent-Type: t\r\n\r\nabc",
			"200|Content-Length: 3|Content-Type: t|Date: D||abc"},
		{"doubled headers (R15)", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\nDate: E\r\nLink: a\r\nLink: b\r\nContent-Length: 0\r\n\r\n",
			"200|Content-Length: 0|Date: D|Date: E|Link: a|Link: b||"},
		{"about the name", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\nSet-Cookie: a=1\r\nSet-Cookie2: b\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3=\":443\"\r\nClear-Site-Data: *\r\nContent-Length: 0\r\n\r\n",
			"200|Content-Length: 0|Date: D||"},
		{"rate headers", "GET", "HTTP/1.1 429 x\r\nDate: D\r\nX-App-Rate-Limit: 100:120,20:1\r\nX-App-Rate-Limit-Count: 1:1\r\nX-Method-Rate-Limit: 5:10\r\nX-Rate-Limit-Type: method\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n",
			"429|Content-Length: 0|Date: D|Retry-After: 2|X-App-Rate-Limit-Count: 1:1|X-App-Rate-Limit: 100:120,20:1|X-Method-Rate-Limit: 5:10|X-Rate-Limit-Type: method||"},
		{"redirect", "GET", "HTTP/1.1 302 Found\r\nDate: D\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n",
			"302|Content-Length: 0|Date: D|Location: http://10.0.0.1/||"},
		{"hop by hop", "GET", "HTTP/1.1 200 OK\r\n" + h + "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authenticate: x\r\nUpgrade: y\r\nContent-Length: 0\r\n\r\n",
			"200|Content-Length: 0|Date: D|X-Riot: 1||"},
		{"no type is guessed", "GET", "HTTP/1.1 502 x\r\nDate: D\r\nContent-Length: 6\r\n\r\n<html>",
			"502|Content-Length: 6|Date: D||<html>"},
		{"gzip untouched", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
			"200|Content-Encoding: gzip|Content-Length: 4|Date: D||\x1f\x8b\x08\x00"},
		{"204", "GET", "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n", "204|Date: D||"},
		{"304", "GET", "HTTP/1.1 304 Not Modified\r\nDate: D\r\nEtag: x\r\n\r\n", "304|Date: D|Etag: x||"},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 1234\r\n\r\n", "200|Content-Length: 1234|Date: D||"},
		{"103 first", "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 1\r\n\r\na",
			"200|Content-Length: 1|Date: D||a"},
		{"until the connection ends", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\n\r\nabc", "200|Date: D|Transfer-Encoding: chunked||3\r\nabc\r\n0\r\n\r\n"},
		{"trailer", "GET", "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n1\r\na\r\n0\r\nX-T: v\r\n\r\n",
			"200|Date: D|Transfer-Encoding: chunked||1\r\na\r\n0\r\nX-T: v\r\n\r\n"},
		{"520 of the edge", "GET", "HTTP/1.1 520 \r\nDate: D\r\nContent-Length: 1\r\n\r\nx", "520|Content-Length: 1|Date: D||x"},
		{"error of Riot's", "GET", "HTTP/1.1 404 x\r\nDate: D\r\nContent-Length: 1\r\n\r\nx", "404|Content-Length: 1|Date: D||x"},
	} {
		up := newUpstream(t, say(tt.answer))
		obs := newSeen()
		target := status
		o := Options{Transport: viaUpstream(t, up), Observer: obs}
		raw := sendRaw(t, serve(t, o), request(tt.verb, target, ""))
		<-obs.ended
		if got := flat(raw); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
		if !strings.Contains(raw, "X-Riftrelay-Source: riot\r\n") || !strings.Contains(raw, "X-Riftrelay-Key: key0\r\n") {
			t.Errorf("%s: who speaks? %q", tt.name, raw)
		}
	}
}

// flat writes an answer on one line: status, headers in the order sent, body.
func flat(raw string) string {
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	if len(lines[0]) < 12 {
		return raw
	}
	var kept []string
	for _, l := range lines[1:] {
		if !strings.HasPrefix(l, "Connection:") && !strings.HasPrefix(l, requestID) && !strings.HasPrefix(l, "X-Riftrelay-") {
			kept = append(kept, l)
		}
	}
	sort.Strings(kept)
	return strings.Join(append([]string{lines[0][9:12]}, kept...), "|") + "||" + body
}

// A status that is no answer's.
func TestOddStatus(t *testing.T) {
	for _, code := range []int{0, 99, 101, 199} {
		address := serve(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			res := answerOf("x")
			res.StatusCode = code
			return res, nil
		})})
		if res, _ := parse(t, sendRaw(t, address, get(status))); res.StatusCode != 502 {
			t.Errorf("upstream's status %d became %d, want 502", code, res.StatusCode)
		}
	}
}

// A large body, and one read in single bytes, arrive whole.
func TestBodiesArriveWhole(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	for name, in := range map[string]func(io.Reader) io.Reader{
		"at once":                 func(r io.Reader) io.Reader { return r },
		"in halves":               iotest.HalfReader,
		"end comes with the data": iotest.DataErrReader,
		"empty reads":             func(r io.Reader) io.Reader { return &pausing{r: r} },
	} {
		for _, known := range []bool{true, false} {
			address := serve(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				res := answerOf(large)
				res.Body = io.NopCloser(in(strings.NewReader(large)))
				if !known {
					res.Header.Del("Content-Length")
					res.ContentLength = -1
				}
				return res, nil
			})})
			if _, got := parse(t, sendRaw(t, address, get(status))); got != large {
				t.Errorf("%s, length known %v: %d bytes arrived, want %d", name, known, len(got), len(large))
			}
		}
	}
}

// pausing returns nothing at every other read.
type pausing struct {
	r io.Reader
	n int
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.n++; p.n%2 == 0 {
		return 0, nil
	}
	return p.r.Read(b)
}

// A client sees what the upstream has sent, while the upstream pauses.
func TestFlushWhenTheUpstreamPauses(t *testing.T) {
	for _, head := range []string{"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", "Content-Length: 11\r\n\r\nfirst"} {
		goOn := make(chan struct{})
		up := newUpstream(t, func(c net.Conn, _ *http.Request) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head)
			<-goOn
			if strings.HasPrefix(head, "T") {
				io.WriteString(c, "6\r\nsecond\r\n0\r\n\r\n")
			} else {
				io.WriteString(c, "second")
			}
		})
		res, err := http.Get("http://" + serve(t, Options{Transport: viaUpstream(t, up)}) + status)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 5)
		if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "first" {
			t.Fatalf("%q, %v; want the first piece before the second is sent", first, err)
		}
		close(goOn)
		rest, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(rest) != "second" {
			t.Errorf("then %q, %v", rest, err)
		}
	}
}

// counting counts the writes to a connection.
type counting struct {
	http.ResponseWriter
	flushes int
}

func (c *counting) Flush() { c.flushes++ }

func (c *counting) Header() http.Header { return http.Header{} }

func (c *counting) Write(p []byte) (int, error) { return len(p), nil }

func (c *counting) WriteHeader(int) {}

func TestNoFlushForABodyThatIsWhole(t *testing.T) {
	h, err := New(Options{Table: table(t), Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		res := answerOf("{}")
		res.Body = io.NopCloser(iotest.DataErrReader(strings.NewReader("{}")))
		return res, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	w := &counting{}
	r, _ := http.NewRequest("GET", "/", nil)
	r.RequestURI = status
	h.ServeHTTP(w, r)
	if w.flushes != 0 {
		t.Errorf("%d flushes, want 0", w.flushes)
	}
}

// An answer that breaks off never looks complete, and one that breaks before
// its first byte is a 502.
func TestBrokenBodies(t *testing.T) {
	const bucket = "euw1:/lol/status/v4/platform-data"
	for _, tt := range []struct {
		name, answer string
		whole        int    // status, when a whole answer is wanted
		done         string // what the observer sees
	}{
		{"nothing of the length said", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 502, "Bad Gateway relay " + bucket},
		{"nothing of the chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 502, "Bad Gateway relay " + bucket},
		{"half of the length said", "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("x", 50000), 0, "Bad Gateway riot " + bucket},
		{"half of the chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 0, "Bad Gateway riot " + bucket},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 502, "Bad Gateway relay " + bucket},
		{"no HTTP", "garbage\r\n\r\n", 502, "Bad Gateway relay " + bucket},
		{"no answer", "", 502, "Bad Gateway relay " + bucket},
	} {
		obs := newSeen()
		up := newUpstream(t, say(tt.answer))
		raw := sendRaw(t, serve(t, Options{Transport: viaUpstream(t, up), Observer: obs}), get(status))
		<-obs.ended
		if obs.done[0] != tt.done {
			t.Errorf("%s: observer saw %q, want %q", tt.name, obs.done, tt.done)
		}
		if tt.whole > 0 {
			if res, body := parse(t, raw); res.StatusCode != tt.whole || !strings.Contains(body, "euw1.api.riotgames.com") {
				t.Errorf("%s: %q", tt.name, raw)
			}
			continue
		}
		res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
		if err == nil {
			_, err = io.ReadAll(res.Body)
		}
		if err == nil {
			t.Errorf("%s: the client takes %q for a whole answer", tt.name, raw)
		}
	}
}

func TestBodyThatStandsStill(t *testing.T) {
	address := serve(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		res := answerOf("x")
		res.Body = io.NopCloser(iotest.ErrReader(fmt.Errorf("body: %w", riftrelay.ErrUpstreamTimeout)))
		return res, nil
	})})
	if res, _ := parse(t, sendRaw(t, address, get(status))); res.StatusCode != 504 {
		t.Errorf("status %d, want 504", res.StatusCode)
	}
}

// The client leaves in mid-answer: the upstream's body is closed.
func TestClientLeavesInMidAnswer(t *testing.T) {
	obs := newSeen()
	closed := make(chan struct{})
	address := serve(t, Options{Observer: obs, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: &endless{r.Context(), closed}}, nil
	})})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, get(status))
	io.ReadFull(c, make([]byte, 1000))
	c.Close()
	<-closed
	<-obs.ended
	if obs.done[0] != "499 riot euw1:/lol/status/v4/platform-data" {
		t.Errorf("observer saw %q", obs.done)
	}
}

type endless struct {
	ctx    context.Context
	closed chan struct{}
}

func (e *endless) Read(b []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, e.ctx.Err()
	}
	return len(b), nil
}

func (e *endless) Close() error { close(e.closed); return nil }
