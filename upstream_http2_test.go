package riftrelay_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"riftrelay"
	"riftrelay/riotsim"
)

const tournamentCodes = "https://americas.api.riotgames.com/lol/tournament/v5/codes"

// http2Upstream speaks HTTP/2 frame by frame. The edge behind it counts every
// request that comes, also those which the server then says it did not process:
// nobody knows whether Riot would count them.
type http2Upstream struct {
	edge     *riotsim.Edge
	listener net.Listener
	script   func(n int64, s *http2Stream) // told of the n-th request, from 1
	conns    atomic.Int64
	received atomic.Int64
	refused  atomic.Int64 // of them, those that the server said it did not process
	busy     sync.WaitGroup
}

func newHTTP2Upstream(t *testing.T, edge *riotsim.Edge, cert tls.Certificate, script func(int64, *http2Stream)) *http2Upstream {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	u := &http2Upstream{edge: edge, listener: l, script: script}
	u.busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			u.conns.Add(1)
			stop := context.AfterFunc(t.Context(), func() { conn.Close() })
			u.busy.Go(func() { defer stop(); u.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); u.busy.Wait() })
	return u
}

func (u *http2Upstream) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	begun := map[uint32]*http.Request{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		var s *http2Stream
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			_ = f.WritePing(true, frame.Data)
		case *http2.MetaHeadersFrame:
			begun[frame.StreamID] = requestOf(frame)
			if frame.StreamEnded() {
				s = &http2Stream{up: u, framer: f, conn: conn, id: frame.StreamID, request: begun[frame.StreamID]}
			}
		case *http2.DataFrame:
			r := begun[frame.StreamID]
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(append(body, frame.Data()...)))
			if frame.StreamEnded() {
				s = &http2Stream{up: u, framer: f, conn: conn, id: frame.StreamID, request: r}
			}
		}
		if s == nil {
			continue
		}
		s.recorder = httptest.NewRecorder()
		u.edge.ServeHTTP(s.recorder, s.request)
		u.script(u.received.Add(1), s)
	}
}

func requestOf(frame *http2.MetaHeadersFrame) *http.Request {
	r := &http.Request{
		Method: frame.PseudoValue("method"), Host: frame.PseudoValue("authority"), RequestURI: frame.PseudoValue("path"),
		Proto: "HTTP/2.0", Header: http.Header{}, Body: http.NoBody,
	}
	for _, field := range frame.RegularFields() {
		r.Header.Add(field.Name, field.Value)
	}
	return r
}

// http2Stream is one request, whole, and the edge's answer to it.
type http2Stream struct {
	up       *http2Upstream
	framer   *http2.Framer
	conn     net.Conn
	id       uint32
	request  *http.Request
	recorder *httptest.ResponseRecorder
}

func (s *http2Stream) answer() {
	s.head()
	_ = s.framer.WriteData(s.id, true, s.recorder.Body.Bytes())
}

func (s *http2Stream) head() {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	_ = enc.WriteField(hpack.HeaderField{Name: ":status", Value: fmt.Sprint(s.recorder.Code)})
	for name, values := range s.recorder.Header() {
		for _, v := range values {
			_ = enc.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: v})
		}
	}
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true})
}

// cut breaks off in the middle of the body.
func (s *http2Stream) cut() {
	s.head()
	_ = s.framer.WriteData(s.id, false, s.recorder.Body.Bytes()[:s.recorder.Body.Len()/2])
	s.reset(http2.ErrCodeInternal)
}

func (s *http2Stream) reset(code http2.ErrCode) { _ = s.framer.WriteRSTStream(s.id, code) }

// refuse returns the request back.
func (s *http2Stream) refuse() {
	s.up.refused.Add(1)
	s.reset(http2.ErrCodeRefusedStream)
}

// goAway says that this request is the last one, or that the one before was.
func (s *http2Stream) goAway(processed bool, code http2.ErrCode) {
	last := s.id
	if !processed {
		s.up.refused.Add(1)
		last = max(last, 2) - 2
	}
	_ = s.framer.WriteGoAway(last, code, nil)
}

// hangUp ends the connection; what was written arrives.
func (s *http2Stream) hangUp() { _ = s.conn.(*tls.Conn).CloseWrite() }

// overHTTP2 is a client of an edge behind an http2Upstream.
type overHTTP2 struct {
	counting
	up     *http2Upstream
	edge   *riotsim.Edge
	client *http.Client
}

func newOverHTTP2(t *testing.T, sim riotsim.Config, retry string, script func(int64, *http2Stream)) *overHTTP2 {
	t.Helper()
	sim.Table, sim.Requests, sim.Arrivals = table, -1, -1
	edge, err := riotsim.New(sim)
	if err != nil {
		t.Fatal(err)
	}
	cert, roots := certificate(t, "127.0.0.1")
	o := &overHTTP2{edge: edge, up: newHTTP2Upstream(t, edge, cert, script)}
	l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooksOf(o)})
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{RootCAs: roots})
	t.Cleanup(func() { l.Close(); base.CloseIdleConnections() })
	rt := &riftrelay.Transport{Limiter: l, Base: base, Upstream: "https://" + o.up.listener.Addr().String(), Timeout: 5 * time.Second}
	rt.Retry = retryOf(retry)
	o.client = &http.Client{Transport: rt}
	return o
}

// mustAccount fails the test unless each request that came had a charge of its
// own, and no POST came twice that the server may have processed.
func (o *overHTTP2) mustAccount(t *testing.T) {
	t.Helper()
	if admitted, received := o.admissions.Load(), o.up.received.Load(); admitted != received {
		t.Errorf("%d admissions for %d requests received", admitted, received)
	}
	if answers, admitted := o.answers.Load(), o.admissions.Load(); answers != admitted {
		t.Errorf("%d ends for %d tries", answers, admitted)
	}
	posts, bodies := 0, map[string]bool{}
	for _, r := range o.edge.Requests() {
		if r.Method == http.MethodPost {
			posts++
			bodies[string(r.Body)] = true
		}
	}
	if again := int64(posts - len(bodies)); again > o.up.refused.Load() {
		t.Errorf("%d POSTs came again, and the server refused %d", again, o.up.refused.Load())
	}
	if n := o.edge.Report().Violations; n > 0 {
		t.Errorf("%d own 429s", n)
	}
	if n := o.client.Transport.(*riftrelay.Transport).Limiter.Snapshot().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// mustBeOnce fails the test if the body of a POST arrived twice and returns all
// that did arrive.
func mustBeOnce(t testing.TB, edge *riotsim.Edge) (seen map[string]bool) {
	t.Helper()
	seen = map[string]bool{}
	for _, r := range edge.Requests() {
		if r.Method != http.MethodPost {
			continue
		}
		if seen[string(r.Body)] {
			t.Errorf("POST %s came twice", r.Body)
		}
		seen[string(r.Body)] = true
	}
	return seen
}

// What a server can do to a stream. A request that it did not process by its own
// word goes again, by an admission of its own (RFC 9113, 8.7), a POST too. A GET
// that it may have processed goes again only where RETRY says so, a POST never.
func TestUpstreamHTTP2(t *testing.T) {
	refused := (*http2Stream).refuse
	broken := func(s *http2Stream) { s.reset(http2.ErrCodeInternal) }
	goneBefore := func(s *http2Stream) { s.goAway(false, http2.ErrCodeNo); s.hangUp() }
	goneAfter := func(s *http2Stream) { s.goAway(true, http2.ErrCodeNo); s.hangUp() }
	brokenBefore := func(s *http2Stream) { s.goAway(false, http2.ErrCodeInternal); s.hangUp() }
	const once, always = 1, 1000
	for _, c := range []struct {
		name     string
		fault    func(*http2Stream)
		times    int64
		verb     string
		retry    string
		received int64 // of the call that the fault strikes
		ok       bool
	}{
		{"GOAWAY after it was processed, and its answer", func(s *http2Stream) { s.goAway(true, http2.ErrCodeNo); s.answer(); s.hangUp() }, once, "GET", "", 1, true},
		{"GOAWAY after it was processed, and its answer", func(s *http2Stream) { s.goAway(true, http2.ErrCodeNo); s.answer(); s.hangUp() }, once, "POST", "", 1, true},
		{"GOAWAY after it was processed, no answer", goneAfter, once, "GET", "", 1, false},
		{"GOAWAY after it was processed, no answer", goneAfter, once, "GET", "reset", 2, true},
		{"GOAWAY after it was processed, no answer", goneAfter, once, "POST", "reset", 1, false},
		{"GOAWAY before it was processed", goneBefore, once, "GET", "", 2, true},
		{"GOAWAY before it was processed", goneBefore, once, "POST", "", 2, true},
		{"GOAWAY with an error before it was processed", brokenBefore, once, "GET", "", 2, true},
		{"GOAWAY with an error before it was processed", brokenBefore, once, "POST", "", 2, true},
		{"GOAWAY with an error, no answer", func(s *http2Stream) { s.goAway(true, http2.ErrCodeInternal); s.hangUp() }, once, "POST", "reset", 1, false},
		{"REFUSED_STREAM", refused, once, "GET", "", 2, true},
		{"REFUSED_STREAM", refused, once, "HEAD", "", 2, true},
		{"REFUSED_STREAM", refused, once, "POST", "", 2, true},
		{"REFUSED_STREAM three times", refused, 3, "POST", "", 4, true},
		{"REFUSED_STREAM forever", refused, always, "GET", "reset", 5, false},
		{"REFUSED_STREAM forever", refused, always, "POST", "", 5, false},
		{"INTERNAL_ERROR", broken, once, "GET", "", 1, false},
		{"INTERNAL_ERROR", broken, once, "GET", "reset", 2, true},
		{"INTERNAL_ERROR for ever", broken, always, "GET", "reset", 3, false},
		{"INTERNAL_ERROR", broken, once, "POST", "reset", 1, false},
		{"PROTOCOL_ERROR", func(s *http2Stream) { s.reset(http2.ErrCodeProtocol) }, once, "GET", "", 2, true},
		{"PROTOCOL_ERROR", func(s *http2Stream) { s.reset(http2.ErrCodeProtocol) }, once, "POST", "reset", 1, false},
		{"ENHANCE_YOUR_CALM", func(s *http2Stream) { s.reset(http2.ErrCodeEnhanceYourCalm) }, once, "GET", "", 1, false},
		{"connection cut", func(s *http2Stream) { s.conn.Close() }, once, "GET", "reset", 2, true},
		{"connection cut", func(s *http2Stream) { s.conn.Close() }, once, "POST", "reset", 1, false},
		{"body cut", (*http2Stream).cut, once, "GET", "reset", 1, false},
	} {
		t.Run(c.name+" "+c.verb+" "+c.retry, func(t *testing.T) {
			t.Parallel()
			o := newOverHTTP2(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:60"}}}, c.retry, func(n int64, s *http2Stream) {
				if n > 1 && n <= 1+c.times {
					c.fault(s)
				} else {
					s.answer()
				}
			})
			url, body := byPUUID, ""
			if c.verb == "POST" {
				url, body = tournamentCodes, `{"the":"second"}`
				if _, _, err := call(t.Context(), o.client, c.verb, url, `{"the":"first"}`); err != nil {
					t.Fatal(err)
				}
			} else if err := get(t.Context(), o.client, url); err != nil {
				t.Fatal(err)
			}
			resp, _, err := call(t.Context(), o.client, c.verb, url, body)
			if c.ok != (err == nil && resp.StatusCode == 200) {
				t.Errorf("%v, %v; want success %v", resp, err, c.ok)
			}
			if rejected := (*riftrelay.RejectedError)(nil); errors.As(err, &rejected) {
				t.Errorf("%v, though it was sent", err)
			}
			if n := o.up.received.Load() - 1; n != c.received {
				t.Errorf("received %d times, want %d", n, c.received)
			}
			o.mustAccount(t)
		})
	}
}

// The first request of a connection is no exception, whatever the GOAWAY says is
// wrong, and neither is a body of many frames.
func TestUpstreamHTTP2TakesBackTheFirst(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeInternal} {
		for _, verb := range []string{"GET", "POST"} {
			t.Run(verb+" "+code.String(), func(t *testing.T) {
				t.Parallel()
				o := newOverHTTP2(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:60"}}}, "", func(n int64, s *http2Stream) {
					if n == 1 {
						s.goAway(false, code)
						s.hangUp()
					} else {
						s.answer()
					}
				})
				url, body := byPUUID, ""
				if verb == "POST" {
					url, body = tournamentCodes, `"`+strings.Repeat("x", 40<<10)+`"`
				}
				if resp, _, err := call(t.Context(), o.client, verb, url, body); err != nil || resp.StatusCode != 200 || o.up.received.Load() != 2 {
					t.Errorf("%v, %v, received %d times", resp, err, o.up.received.Load())
				}
				o.mustAccount(t)
			})
		}
	}
}

// Writes without a body are no exception either: they go again if the server says
// that it did not process them, and otherwise not.
func TestUpstreamHTTP2TakesBackWritesWithoutBody(t *testing.T) {
	for _, c := range []struct {
		name     string
		fault    func(*http2Stream)
		received int64
	}{
		{"none", (*http2Stream).answer, 1},
		{"REFUSED_STREAM", (*http2Stream).refuse, 2},
		{"GOAWAY before", func(s *http2Stream) { s.goAway(false, http2.ErrCodeNo); s.hangUp() }, 2},
		{"GOAWAY after", func(s *http2Stream) { s.goAway(true, http2.ErrCodeNo); s.hangUp() }, 1},
		{"PROTOCOL_ERROR", func(s *http2Stream) { s.reset(http2.ErrCodeProtocol) }, 1},
		{"connection cut", func(s *http2Stream) { s.conn.Close() }, 1},
	} {
		for _, verb := range []string{"POST", "PUT"} {
			t.Run(c.name+" "+verb, func(t *testing.T) {
				t.Parallel()
				o := newOverHTTP2(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:60"}}}, "reset", func(n int64, s *http2Stream) {
					if n == 1 {
						c.fault(s)
					} else {
						s.answer()
					}
				})
				url := tournamentCodes
				if verb == "PUT" {
					url += "/x"
				}
				want := c.received == 2 || c.name == "none"
				resp, _, err := call(t.Context(), o.client, verb, url, "")
				if want != (err == nil && resp.StatusCode == 200) || o.up.received.Load() != c.received {
					t.Errorf("%v, %v, received %d times; want success %v, %d times", resp, err, o.up.received.Load(), want, c.received)
				}
				if n := o.client.Transport.(*riftrelay.Transport).Limiter.Snapshot().InFlight; n != 0 {
					t.Errorf("%d in flight", n)
				}
			})
		}
	}
}

// A call that the server took back, and for which there is no further slot,
// doesn't leave again; the other calls on its connection don't notice.
func TestUpstreamHTTP2NoSlotForAnother(t *testing.T) {
	t.Parallel()
	held := make(chan *http2Stream, 1)
	o := newOverHTTP2(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "3:600"}}}, "", func(n int64, s *http2Stream) {
		switch n {
		case 2:
			held <- s // while the third comes and goes
		case 3:
			s.refuse()
			(<-held).answer()
		default:
			s.answer()
		}
	})
	if err := get(t.Context(), o.client, byPUUID); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- get(t.Context(), o.client, byPUUID) }()
	comesTrue(t, "the second call", func() bool { return o.up.received.Load() == 2 })
	if err := get(t.Context(), o.client, byPUUID); err == nil {
		t.Error("the third call got an answer")
	}
	if err := <-second; err != nil {
		t.Errorf("the call beside it: %v", err)
	}
	if n := o.up.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	o.mustAccount(t)
}

// comesTrue waits for what happens soon on real sockets.
func comesTrue(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
