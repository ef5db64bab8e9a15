package daemon

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"riftrelay/riotsim"
)

// receiver is a collector of traces.
type receiver struct {
	mu      sync.Mutex
	service string
	spans   []*tracev1.Span
	headers http.Header
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &req) != nil {
		http.Error(w, "no traces in OTLP", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	for _, rs := range req.ResourceSpans {
		c.service = value(rs.Resource.Attributes, "service.name")
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// named returns the spans of a name.
func (c *receiver) named(name string) (found []*tracev1.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func value(list []*common.KeyValue, key string) string {
	for _, a := range list {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// A call of a client that traces is part of the client's trace, in the
// collector, and nothing of that reaches Riot.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine")
	c := &receiver{}
	srv := httptest.NewServer(c)
	defer srv.Close()
	g := startRig(t, riotsim.Config{Requests: -1}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL + "/"})

	const traceID, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.front+status+"?secret=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", "00-"+traceID+"-"+parent+"-01")
	req.Header.Set("Tracestate", "vendor=x")
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for _, path := range []string{"/healthz", "/euw1/no/such/path"} { // no call, and one that goes nowhere
		if a := g.get(g.front + path); a.err != nil {
			t.Fatal(a.err)
		}
	}
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Fatal(err)
	}

	relay, admission, upstream := c.named("relay"), c.named("admission"), c.named("upstream")
	if len(relay) != 2 || len(admission) != 1 || len(upstream) != 1 || len(c.spans) != 4 {
		t.Fatalf("spans: %v", c.spans)
	}
	if c.service != "riftrelay" || c.headers.Get("X-Tenant") != "mine" {
		t.Errorf("service %q, headers %v", c.service, c.headers)
	}
	call := relay[0]
	for _, s := range []*tracev1.Span{call, admission[0], upstream[0]} {
		if hex.EncodeToString(s.TraceId) != traceID {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	if hex.EncodeToString(call.ParentSpanId) != parent {
		t.Errorf("the call's parent is %x", call.ParentSpanId)
	}
	for _, s := range []*tracev1.Span{admission[0], upstream[0]} {
		if string(s.ParentSpanId) != string(call.SpanId) {
			t.Errorf("%s is no part of the call", s.Name)
		}
	}
	if value(call.Attributes, "http.route") != "/{host}/lol/status/v4/platform-data" || value(call.Attributes, "riftrelay.host") != "euw1" ||
		value(call.Attributes, "riftrelay.source") != "riot" || call.Kind != tracev1.Span_SPAN_KIND_SERVER {
		t.Errorf("call: %v", call)
	}
	if value(relay[1].Attributes, "riftrelay.source") != "relay" {
		t.Errorf("the call that goes nowhere: %v", relay[1])
	}
	if value(upstream[0].Attributes, "riftrelay.key") != "main" {
		t.Errorf("upstream: %v", upstream[0])
	}
	for _, s := range c.spans {
		if text := s.String(); strings.Contains(text, "secret") || strings.Contains(text, "no/such/path") || strings.Contains(text, canary) {
			t.Errorf("it tells too much: %s", text)
		}
	}
	riot := g.edge.Requests()
	if len(riot) != 1 {
		t.Fatalf("%d requests at Riot", len(riot))
	}
	for name := range riot[0].Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "trace") || lower == "baggage" {
			t.Errorf("Riot sees %s", name)
		}
	}
}

// A collector that isn't there costs a line in the log, nothing else.
func TestTracesLost(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	g := startRig(t, riotsim.Config{}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL})
	if a := g.get(g.front + status); a.err != nil || a.status != 200 {
		t.Fatal(a)
	}
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Fatal(err)
	}
	if log := g.log.String(); strings.Count(log, "traces are lost") != 1 {
		t.Errorf("log:\n%s", log)
	}
}

func TestNoTracesUnlessWanted(t *testing.T) {
	var none *tracing
	if none.hooks().Answer != nil || none.enters() != nil {
		t.Error("without an endpoint there is something to do")
	}
	none.close()
	g := startRig(t, riotsim.Config{}, nil)
	if g.tracing != nil {
		t.Error("traces without OTEL_EXPORTER_OTLP_ENDPOINT")
	}
}
