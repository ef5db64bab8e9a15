// Package otlp sends spans to a collector of OpenTelemetry's: OTLP over HTTP,
// in protobuf's binary form.
//
//   - exporter.go: where spans go, and what happens when the collector fails.
//   - settings.go: the variables of OpenTelemetry that an exporter reads.
//   - encode.go: spans as bytes.
//
// OpenTelemetry's own exporter does the same and brings gRPC, its gateway and
// the generated code of the protocol with it: eight modules and 8 MB in the
// process that holds the keys.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Exporter sends spans. Make it with New.
type Exporter struct {
	settings
	url    string
	client *http.Client
	redact func(string) string
}

// New makes an Exporter that sends to endpoint + "/v1/traces", as the
// OTEL_EXPORTER_OTLP_* variables ask that getenv returns. Each text of a span
// passes through redact first. New connects to nothing.
func New(endpoint string, getenv func(string) string, redact func(string) string) (*Exporter, error) {
	s, err := read(getenv)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: s.timeout, MaxIdleConns: 2, IdleConnTimeout: time.Minute,
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Exporter{s, endpoint + "/v1/traces", client, redact}, nil
}

// A collector that is busy or restarts gets the same spans again.
const (
	tries     = 4
	firstWait = time.Second
	mostWait  = 10 * time.Second
)

// ExportSpans sends spans. It returns an error when they are lost.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := e.pack(encoder{e.redact}.request(spans))
	if err != nil {
		return err
	}
	wait := firstWait
	for try := 1; ; try++ {
		again, err := e.send(ctx, body)
		if err == nil || again < 0 || try == tries {
			return err
		}
		if again == 0 {
			again = wait
			wait = min(2*wait, mostWait)
		}
		select {
		case <-time.After(min(again, mostWait)):
		case <-ctx.Done():
			return err
		}
	}
}

// Shutdown closes the connections. The SDK has sent what there was.
func (e *Exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// send tries once. After an error, again is the wait before the next try: zero
// when the collector names none, negative when another try is pointless.
func (e *Exporter) send(ctx context.Context, body []byte) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	const most = 64 << 10 // of an answer that nobody reads
	_, _ = io.CopyN(io.Discard, resp.Body, most)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(0, min(seconds, int(mostWait/time.Second)))) * time.Second, fmt.Errorf("the collector answers %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return -1, fmt.Errorf("the collector answers %s", resp.Status)
	}
	return 0, nil
}

func (e *Exporter) pack(body []byte) ([]byte, error) {
	if !e.gzip {
		return body, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
