package conns

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serveChecked serves one connection with net/http, and returns the client's end.
// The handler echoes, but for /slow, which waits a minute or until its client is
// gone.
func serveChecked(t *testing.T) (client net.Conn, gone *bool) {
	t.Helper()
	client, far := net.Pipe()
	in := make(fakes, 1)
	in <- fake{far, "192.0.2.1"}
	gone = new(bool)
	server := &http.Server{
		Handler: Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				select {
				case <-time.After(time.Minute):
				case <-r.Context().Done():
					*gone = true
				}
			}
			w.Header().Set("X-Riftrelay-Source", "riot")
			b, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %v\n", r.Method, r.RequestURI, b, err)
		})),
		ConnContext: Context, ConnState: Follow,
		ReadHeaderTimeout: headTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: mostHead,
	}
	go server.Serve(Check(Limit(in, Limits{Total: 10}, nil)))
	t.Cleanup(func() { server.Close(); client.Close(); synctest.Wait() })
	return client, gone
}

const (
	getA  = "GET /a HTTP/1.1\r\n" + hosted + "\r\n"
	postB = "POST /b HTTP/1.1\r\n" + hosted + "Content-Length: 5\r\n\r\nbytes"
	lastC = "POST /c HTTP/1.1\r\n" + hosted + "Transfer-Encoding: chunked\r\n\r\n2\r\nin\r\n6\r\n chunk\r\n0\r\n\r\n"
	bad   = "GET /bad HTTP/1.1\r\n" + hosted + "Accept: a\r\n b\r\n\r\n"
)

// However the bytes are cut, each request is answered, and nothing behind a bad
// one is read.
func TestCheckedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want []string // the answers' bodies, or parts of them
	}{
		"one after the other": {getA + postB + getA + postB + lastC + getA, []string{"GET /a ", "POST /b bytes", "GET /a ", "POST /b bytes", "POST /c in chunk"}},
		"a bad one behind":    {postB + bad + getA, []string{"POST /b bytes", "several lines"}},
		"a bad one first":     {bad + getA, []string{"several lines"}},
		"line ends behind":    {postB + "\r\n" + lastC, []string{"POST /b bytes", "POST /c in chunk"}},
		"net/http refuses":    {"GET /% HTTP/1.1\r\n" + hosted + "\r\n" + getA, []string{"escaped target"}},
		"an expectation":      {"GET /a HTTP/1.1\r\n" + hosted + "Expect: tea\r\n\r\n" + getA, []string{"Expect header"}},
		"large":               {getA + "GET /" + strings.Repeat("x", mostHead) + " HTTP/1.1\r\n" + hosted + "\r\n", []string{"GET /a ", "too large"}},
	} {
		for _, piece := range []int{1, 7, 64, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", name, piece), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, _ := serveChecked(t)
					go func() {
						for rest := c.raw; rest != ""; {
							n := min(piece, len(rest))
							if _, err := io.WriteString(client, rest[:n]); err != nil {
								return
							}
							rest = rest[n:]
						}
					}()
					in := bufio.NewReader(client)
					for _, want := range c.want {
						resp, err := http.ReadResponse(in, nil)
						if err != nil {
							t.Fatalf("no %q: %v", want, err)
						}
						body, _ := io.ReadAll(resp.Body)
						if !strings.Contains(string(body), want) || resp.Header.Get("X-Riftrelay-Source") == "" {
							t.Errorf("%v %s; want %q", resp.Header, body, want)
						}
					}
					if rest, err := io.ReadAll(in); len(rest) > 0 {
						t.Errorf("then %q, %v", rest, err)
					}
				})
			})
		}
	}
}

// A head of a connection that is kept has as long as the first one, also if it
// begins while the request before is being answered, and it never ends that one.
func TestLaterHeadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, gone := serveChecked(t)
		io.WriteString(client, getA)
		in := bufio.NewReader(client)
		read := func() {
			t.Helper()
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
		}
		read()
		time.Sleep(headTime + time.Minute) // idle
		io.WriteString(client, "GET /slow HTTP/1.1\r\n"+hosted+"\r\n")
		io.WriteString(client, "GET /never")
		read()
		if *gone {
			t.Error("the next head ended a request")
		}
		began := time.Now()
		io.ReadAll(in)
		if took := time.Since(began); took != headTime {
			t.Errorf("half a head lasts %v", took)
		}
	})
}

// A client that leaves is noticed, also behind half a head.
func TestCheckedClientLeaves(t *testing.T) {
	for _, more := range []string{"", "GET"} {
		synctest.Test(t, func(t *testing.T) {
			client, gone := serveChecked(t)
			io.WriteString(client, "GET /slow HTTP/1.1\r\n"+hosted+"\r\n"+more)
			synctest.Wait()
			client.Close()
			synctest.Wait()
			if !*gone {
				t.Errorf("behind %q: the client's end wasn't noticed", more)
			}
		})
	}
}

// A length near 2^63 doesn't overflow: the handler learns of it, with the body's
// first bytes.
func TestHugeLength(t *testing.T) {
	raw := "POST /a HTTP/1.1\r\n" + hosted + "Content-Length: 9223372036854775807\r\n\r\nfirst"
	var c checked
	if !c.advance([]byte(raw)) || c.ready != len(raw) || c.body != 1<<63-1-int64(len("first")) || c.refused.Load() != nil {
		t.Errorf("%d bytes are ready and %d are to come, want %d", c.ready, c.body, len(raw))
	}
}
