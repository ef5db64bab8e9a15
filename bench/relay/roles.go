package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"riftrelay"
	"riftrelay/internal/metrics"
	"riftrelay/internal/proxy"
	"riftrelay/route"
)

// roleArg as first argument makes this program one of the processes behind the
// load generator.
const roleArg = "role"

// playRole serves until standard input ends, so that no process outlives the
// one that started it. The first line of the output is the address.
func playRole(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("role is missing; allowed: upstream, baseline, assembled")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	upstream := flags.String("upstream", "", "URL of the upstream")
	body := flags.Int("body", 1024, "bytes of an answer's body")
	profile := flags.String("profile", "", "file for a CPU profile")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var h http.Handler
	var err error
	switch args[0] {
	case "upstream":
		h, err = newUpstream(*body)
	case "baseline":
		h, err = newBaseline(*upstream)
	case "assembled":
		h, err = newRelay(*upstream)
	default:
		err = fmt.Errorf("role is %q; allowed: upstream, baseline, assembled", args[0])
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go s.Serve(l)
	defer s.Close()
	fmt.Println(l.Addr())
	if *profile == "" {
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
	// The load begins with a warm-up; it ends with standard input.
	f, err := os.Create(*profile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

const minBody = 16

// newUpstream answers like Riot's edge, with limits that nobody reaches.
func newUpstream(size int) (http.Handler, error) {
	const open, shut = `{"data":"`, `"}`
	answer := []byte(open + strings.Repeat("x", size-len(open)-len(shut)) + shut)
	header := http.Header{
		"Content-Type":              {"application/json;charset=utf-8"},
		"Content-Length":            {strconv.Itoa(len(answer))},
		"X-App-Rate-Limit":          {"500000000:600,10000000:10"},
		"X-App-Rate-Limit-Count":    {"1:600,1:10"},
		"X-Method-Rate-Limit":       {"10000000:10"},
		"X-Method-Rate-Limit-Count": {"1:10"},
		"Vary":                      {"Accept-Encoding"},
		"X-Riot-Edge-Trace-Id":      {"7a0f2c31-9d5e-4b8a-8f61-2f0f4f1d9a55"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, values := range header {
			h[name] = values
		}
		w.Write(answer)
	}), nil
}

// newBaseline is what the relay is measured against: nothing but passing on,
// with the settings that are known to make ReverseProxy fast.
func newBaseline(upstream string) (http.Handler, error) {
	to, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
		FlushInterval: -1,
		BufferPool:    new(buffers),
	}, nil
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

// newRelay puts the relay together as riftrelay serve does, without its
// settings, its signals and its admin listener.
func newRelay(upstream string) (http.Handler, error) {
	table := route.Default()
	counts := metrics.New(metrics.Options{Table: table})
	limiter, err := riftrelay.New(riftrelay.Config{
		Keys:   []riftrelay.Key{{Name: "main", Value: "RGAPI-00000000-0000-0000-0000-000000000000"}},
		Table:  table,
		Pacing: riftrelay.PacingBurst,
		Hooks:  counts.Hooks(),
	})
	if err != nil {
		return nil, err
	}
	return proxy.New(proxy.Options{
		Transport: &riftrelay.Transport{Limiter: limiter, Upstream: upstream, Timeout: 90 * time.Second},
		Table:     table,
		Keys:      func() []string { return []string{"main"} },
		Observer:  counts,
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

// firstLine reads the address that a role prints.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSpace(line), err
}
