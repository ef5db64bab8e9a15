package replicas

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// balancer stands before relays and returns each call to the next of them.
type balancer struct {
	url string

	mu   sync.Mutex
	to   []*url.URL
	next int
}

func newBalancer(t *testing.T, to []*relay) *balancer {
	t.Helper()
	b := &balancer{}
	b.set(to)
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0), // clients see it
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(b.pick()) },
	})
	b.url = server.URL
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	return b
}

// set returns further calls to other relays.
func (b *balancer) set(to []*relay) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = nil
	for _, p := range to {
		u, err := url.Parse(p.front)
		if err != nil {
			panic(err)
		}
		b.to = append(b.to, u)
	}
}

func (b *balancer) pick() *url.URL {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return b.to[b.next%len(b.to)]
}
