package riftrelay

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultUpstream is Riot's API.
const DefaultUpstream = "https://{host}" + riotDomain

const riotDomain = ".api.riotgames.com"

// BaseOptions are what NewBase leaves open.
type BaseOptions struct {
	Proxy        *url.URL       // nil: none; the environment's proxy variables are never read. For an upstream of plain http only socks5:// works
	RootCAs      *x509.CertPool // nil: the system's
	DisableHTTP2 bool
}

// keepAlive finds a peer that has vanished without a word within 25 s, also
// under a call that waits for its answer; HTTP/2 asks by pings of its own.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// NewBase makes a transport that suits a relay: connections are kept, answers
// come as they were sent (no decompression), and no proxy is taken from the
// environment.
func NewBase(o BaseOptions) *http.Transport {
	t := &http.Transport{
		DialContext:            dialer((&net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: keepAlive}).DialContext),
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         32 << 10, // most answers in one read, and so in one write
		DisableCompression:     true,
		ForceAttemptHTTP2:      !o.DisableHTTP2,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second},
	}
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	if o.DisableHTTP2 {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	}
	return t
}

func (t *Transport) init() {
	if t.Limiter == nil {
		t.err = errors.New("riftrelay: Transport.Limiter is nil; allowed: a Limiter of New")
		return
	}
	t.base = t.Base
	if t.base == nil {
		t.base = NewBase(BaseOptions{})
	}
	upstream := t.Upstream
	if upstream == "" {
		upstream = DefaultUpstream
	}
	t.targets, t.err = newTargets(upstream, t.Limiter.cfg.Table.Hosts())
}

// target is where the calls of one host go.
type target struct {
	scheme, dial string        // of the URL
	prefix       string        // of the path, without a slash at its end
	host         string        // Host header
	heard        *atomic.Int64 // when the last answer came, on Transport's clock; nil for a pattern
}

// targets gives the target of every host; those of the table are ready made.
type targets struct {
	pattern target
	known   map[string]target
}

func newTargets(upstream string, hosts []string) (targets, error) {
	// "{host}" is no part of a URL, but a label in its place is.
	const stand = "host-stands-here"
	u, err := url.Parse(strings.ReplaceAll(upstream, "{host}", stand))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return targets{}, fmt.Errorf("riftrelay: Transport.Upstream is %q; allowed: http(s)://host[:port][/path], {host} for the routing value", upstream)
	}
	back := func(s string) string { return strings.ReplaceAll(s, stand, "{host}") }
	ts := targets{
		pattern: target{u.Scheme, back(u.Host), back(strings.TrimSuffix(u.EscapedPath(), "/")), "{host}" + riotDomain, nil},
		known:   make(map[string]target, len(hosts)),
	}
	for _, h := range hosts {
		ts.known[h] = ts.pattern.with(h)
	}
	return ts, nil
}

func (t target) with(host string) target {
	in := func(s string) string { return strings.ReplaceAll(s, "{host}", host) }
	return target{t.scheme, in(t.dial), in(t.prefix), in(t.host), new(atomic.Int64)}
}

func (ts *targets) of(host string) target {
	if t, ok := ts.known[host]; ok {
		return t
	}
	return ts.pattern.with(host)
}
