package proxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// The handler against httputil.ReverseProxy, tuned as in bench/, both over the
// same transport, which answers like Riot and costs nearly nothing:
//
//	go test -run - -bench . -benchmem ./internal/proxy
func BenchmarkHandler(b *testing.B) {
	for name, h := range handlers(b) {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", status+"?start=0&count=20", nil)
			r.Header = http.Header{"Accept": {"*/*"}, "User-Agent": {"client/1"}, "Accept-Encoding": {"gzip"}}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&discard{header: make(http.Header)}, r)
			}
		})
	}
}

// The same over loopback sockets, 64 connections.
func BenchmarkServer(b *testing.B) {
	for name, h := range handlers(b) {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(h)
			defer s.Close()
			base := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
			defer base.CloseIdleConnections()
			b.ReportAllocs()
			b.SetParallelism(64 / 2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, _ := http.NewRequest("GET", s.URL+status, nil)
					res, err := base.RoundTrip(r)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
		})
	}
}

func handlers(b *testing.B) map[string]http.Handler {
	body := bytes.Repeat([]byte("{}"), 512)
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(body)),
			Body: io.NopCloser(&once{body}),
			Header: http.Header{
				"Content-Type": {"application/json;charset=utf-8"}, "Content-Length": {"1024"}, "Date": {"Sat, 01 Aug 2026 00:00:00 GMT"},
				"X-App-Rate-Limit": {"100:120,20:1"}, "X-App-Rate-Limit-Count": {"1:120,1:1"},
				"X-Method-Rate-Limit": {"2000:60"}, "X-Method-Rate-Limit-Count": {"1:60"},
				"Vary": {"Accept-Encoding"}, "Connection": {"keep-alive"}, "X-Riot-Edge-Trace-Id": {"abc"}, "Set-Cookie": {"__cf_bm=x"},
			},
		}, nil
	})
	ours, err := New(Options{Transport: transport, Table: table(b)})
	if err != nil {
		b.Fatal(err)
	}
	to, _ := url.Parse("https://euw1.api.riotgames.com")
	return map[string]http.Handler{
		"ours": ours,
		"ReverseProxy": &httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1, BufferPool: &bufferPool{},
			Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) },
		},
	}
}

// once returns its bytes together with the end, as net/http's bodies do.
type once struct{ left []byte }

func (o *once) Read(p []byte) (int, error) {
	n := copy(p, o.left)
	if o.left = o.left[n:]; len(o.left) == 0 {
		return n, io.EOF
	}
	return n, nil
}

type bufferPool struct{ p sync.Pool }

func (b *bufferPool) Get() []byte {
	if v, ok := b.p.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(buf []byte) { b.p.Put(&buf) }

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Flush()                      {}
