package riotsim

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"riftrelay/route"
)

const riotDomain = ".api.riotgames.com"

// inbound is a request on its way to the counters, read off whatever carried it, so that it arrives
// even if the client is gone by then.
type inbound struct {
	call   Call
	params params
	gzip   bool
	raw    Request
}

// read takes in all of a request but its body.
func (e *Edge) read(verb, hostHeader, uri, proto string, h http.Header) *inbound {
	in := &inbound{}
	if e.raw.max != 0 {
		in.raw = Request{Method: verb, Host: hostHeader, URI: uri, Proto: proto, Header: h.Clone()}
	}
	in.gzip = e.cfg.Gzip && strings.Contains(h.Get("Accept-Encoding"), "gzip")

	path, query, _ := strings.Cut(uri, "?")
	if !strings.HasPrefix(path, "/") { // absolute form
		_, path, _ = strings.Cut(path, "://")
		_, path, _ = strings.Cut(path, "/")
		path = "/" + path
	}
	if name, _, err := net.SplitHostPort(hostHeader); err == nil {
		hostHeader = name
	}
	host, named := strings.CutSuffix(strings.ToLower(hostHeader), riotDomain)
	if !named {
		host, path, _ = strings.Cut(path[1:], "/")
		path = "/" + path
	}
	in.call = Call{Key: h.Get("X-Riot-Token"), Host: host}
	if in.call.Key == "" {
		in.call.Key = keyInQuery(query)
	}
	to, err := e.table().Match(verb, host, path)
	if err != nil {
		return in // Method stays nil: it doesn't exist
	}
	in.call.Method = to.Method
	if to.Method.Auth == route.AuthRSO {
		in.call.Key = "" // R5
		in.call.barred = !strings.HasPrefix(h.Get("Authorization"), "Bearer ")
	}
	if !e.body.tiny || e.cfg.CheckIDs || query != "" || strings.Contains(path, "/missing") {
		in.params = readParams(host, in.call.Key, to.Method.Template, path, query)
		in.call.status, in.call.word = in.params.deserves(to.Method, e.cfg.CheckIDs)
	}
	return in
}

// keyInQuery finds ?api_key=, which Riot takes as well as the header.
func keyInQuery(query string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if key, found := strings.CutPrefix(pair, "api_key="); found {
			return key
		}
	}
	return ""
}

// arrive counts the request at this moment.
func (e *Edge) arrive(in *inbound) Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now() // under the lock, so that arrivals are in the order of their times
	if e.raw.max != 0 {
		in.raw.Time = now
		e.raw.add(in.raw)
	}
	return e.arriveLocked(now, in.call)
}

// broke notes a request that broke off before it had arrived whole.
func (e *Edge) broke() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.totals.Broken++
}

// reply writes head and body of an answer that isn't a reset.
func (e *Edge) reply(in *inbound, a *Answer) (http.Header, content) {
	h := make(http.Header, 12)
	var body content
	f := a.fault
	if f == nil {
		f = &Fault{}
	}
	switch {
	case f.Gateway:
		h["Content-Type"] = []string{"text/html"}
		h["Server"] = []string{"cloudflare"}
		body.head = gatewayPage(a.Status)
	default:
		h["Content-Type"] = []string{"application/json;charset=utf-8"}
		a.writeHeader(h)
		if a.Status >= 400 {
			body.head = errorBody(f.Schema, a.Status, a.word)
		} else {
			body = e.body.of(in.call.Method, in.params)
		}
	}
	if e.cfg.Noise {
		noise(h, e.cfg.Seed)
	}
	if f.Body != nil {
		body = content{tail: f.Body}
	}
	if a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		body = content{}
	} else if in.gzip {
		body = content{head: compress(body)}
		h["Content-Encoding"] = []string{"gzip"} // and chunked, as Riot does (R15)
	} else {
		h["Content-Length"] = []string{strconv.Itoa(body.len())}
	}
	for name, values := range f.Header {
		if name = http.CanonicalHeaderKey(name); len(values) == 0 {
			delete(h, name)
		} else {
			h[name] = values
		}
	}
	return h, body
}

// noise adds what else Riot sends (R15).
func noise(h http.Header, seed uint64) {
	now := time.Now()
	date := now.UTC().Format(http.TimeFormat)
	h["Date"] = []string{date, date}
	h["Set-Cookie"] = []string{"__cf_bm=simulated; path=/; HttpOnly; Secure"}
	h["Access-Control-Allow-Origin"] = []string{"*", "*"}
	x := mix(seed ^ uint64(now.UnixNano()))
	h["X-Riot-Edge-Trace-Id"] = []string{fmt.Sprintf("%08x-%04x-4000-8000-%012x", x>>32, x>>16&0xffff, mix(x)>>16)}
}

func compress(c content) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err1 := w.Write(c.head)
	_, err2 := w.Write(c.tail)
	if err := errors.Join(err1, err2, w.Close()); err != nil {
		panic("BUG: riotsim: writing to memory failed: " + err.Error())
	}
	return out.Bytes()
}
