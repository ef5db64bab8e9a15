package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func env(list ...string) func(string) string {
	return func(name string) string {
		for _, entry := range list {
			if n, value, _ := strings.Cut(entry, "="); n == name {
				return value
			}
		}
		return ""
	}
}

func TestExport(t *testing.T) {
	var got *http.Request
	var spans int
	answers := []int{503, 200}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(z)
		var m collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		spans += len(m.ResourceSpans[0].ScopeSpans[0].Spans)
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	defer srv.Close()
	e, err := New(srv.URL, env("OTEL_EXPORTER_OTLP_HEADERS=a=general", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Basic%20eDp5, X-Tenant = mine", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"), same)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ExportSpans(t.Context(), nil); err != nil || got != nil {
		t.Errorf("no spans: %v, sent %v", err, got != nil)
	}
	if err := e.ExportSpans(t.Context(), tracetest.SpanStubs{full(t)}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	if len(answers) != 0 || spans != 2 {
		t.Errorf("after a 503 the same span is sent again: %d sent, answers left %v", spans, answers)
	}
	if got.URL.Path != "/v1/traces" || got.Header.Get("Authorization") != "Basic eDp5" || got.Header.Get("X-Tenant") != "mine" || got.Header.Get("A") != "" {
		t.Errorf("%s with %v", got.URL, got.Header)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// What won't become better isn't tried again; a redirect isn't followed,
// because the headers may hold a secret.
func TestExportFails(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	e, err := New(srv.URL, env(), same)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ExportSpans(t.Context(), tracetest.SpanStubs{full(t)}.Snapshots()); err == nil || asked != 1 {
		t.Errorf("error %v after %d requests", err, asked)
	}
	srv.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.ExportSpans(over, tracetest.SpanStubs{full(t)}.Snapshots()); err == nil {
		t.Error("no error, though the context is over")
	}
	e.client.CloseIdleConnections()
}

func TestSettingsInvalid(t *testing.T) {
	for entry, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS=secret":               "invalid OTEL_EXPORTER_OTLP_HEADERS: want name=value",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=a b=c":         "invalid OTEL_EXPORTER_OTLP_TRACES_HEADERS",
		"OTEL_EXPORTER_OTLP_HEADERS=a=%zz":                "invalid OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0ac":           "invalid OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                  `invalid OTEL_EXPORTER_OTLP_TIMEOUT "10s": want a number of milliseconds`,
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd":             `invalid OTEL_EXPORTER_OTLP_COMPRESSION "zstd": want gzip or none`,
		"OTEL_EXPORTER_OTLP_CERTIFICATE=exporter_test.go": "want a file of certificates",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=missing.pem":      "OTEL_EXPORTER_OTLP_CERTIFICATE: stat missing.pem",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=no.pem":    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: stat no.pem",
	} {
		_, err := New("http://collector", env(entry), same)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", entry, err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the value: %v", entry, err)
		}
	}
}
