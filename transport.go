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
	"sync"
	"sync/atomic"
	"time"
)

// Transport is the whole pipeline as an http.RoundTripper: it finds the route
// of a request, waits until Riot's limits admit it, sends it with the key that
// was chosen, and learns from the answer. Requests are for
// https://{host}.api.riotgames.com/…, or have no host and a path
// /{host}/…; where URL.Opaque is a path, it is sent byte for byte.
//
// RoundTrip returns a *RejectedError for what was not sent, ErrUpstreamTimeout,
// the error of the request's context, or that of Base. A call that met a 429
// goes through admission again until its deadline; only then does the caller see
// the 429. A request that the server did not process by its own word goes through
// admission again too. A request whose body was read is sent again only if it has GetBody, as
// http.NewRequest sets it for bodies in memory.
//
// The fields must not change once RoundTrip has been called.
type Transport struct {
	// Limiter admits. It must not be nil.
	Limiter *Limiter

	// Base sends. Nil means NewBase(BaseOptions{}). It must not follow
	// redirects and should call the hooks of net/http/httptrace: without them,
	// a call counts as sent when its answer or failure comes.
	Base http.RoundTripper

	// Upstream is where to send: a URL in which "{host}" stands for the
	// routing value. Empty means DefaultUpstream. The Host header is
	// {host}.api.riotgames.com whatever is dialled.
	Upstream string

	// Options, if set, is called once for each call, with the options of its
	// context, and returns those to admit it with: a priority or a budget by route,
	// in one place.
	Options func(req *http.Request, o Options) Options

	// Timeout bounds the wait for the head of the answer, and then each wait
	// for more of its body. 0 means no bound.
	Timeout time.Duration

	// Retry says after which failures other than a 429 a call is tried again.
	// The zero value is never.
	Retry Retry

	retries allowance
	once    sync.Once
	base    http.RoundTripper
	targets targets
	err     error // of Upstream
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := t.newCall(req) // 1 route
	if err != nil {
		closeBody(req)
		return nil, err
	}
	for {
		permit, err := c.acquire() // 2 admit
		if err != nil {
			return c.lastAnswerOr(err)
		}
		try, answer := c.send(permit) // 3 forward
		lesson := try.observe(answer) // 4 observe
		why := try.retry(answer, lesson)
		if answer.resp != nil {
			try.sign(answer.resp)
		}
		again := why != noRetry && c.prepare(why, answer)
		try.tell(answer, lesson, again)
		if !again || !c.pause(why) {
			return answer.resp, answer.err
		}
		if why != retryUnsent {
			c.last = answer
		}
	}
}

// CloseIdleConnections closes the connections to Riot that carry no call, as
// http.Client.CloseIdleConnections expects of a transport.
func (t *Transport) CloseIdleConnections() {
	t.once.Do(t.init)
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

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

// targets returns the target of every host; those of the table are ready made.
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

// Client is an http.Client whose calls keep Riot's limits, and its Limiter.
// Close it when no more calls come.
type Client struct {
	*http.Client
	Limiter *Limiter
}

// NewClient makes a Client with a Transport of its own. To set more of it, make
// a Limiter with New, and a Transport around it. The error is New's.
func NewClient(cfg Config) (*Client, error) {
	l, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{&http.Client{Transport: &Transport{Limiter: l}}, l}, nil
}

// Close rejects what waits, and all further calls.
func (c *Client) Close() error {
	c.CloseIdleConnections()
	return c.Limiter.Close()
}
