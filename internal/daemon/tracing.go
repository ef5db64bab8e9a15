package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"riftrelay"
	"riftrelay/internal/otlp"
	"riftrelay/otelriftrelay"
	"riftrelay/route"
)

// tracing sends traces to a collector of OpenTelemetry's. Nil does nothing.
//
// A call's span, "relay", is a child of the client's (traceparent). Its own
// children are those of otelriftrelay. None of it reaches Riot: the relay sends
// no header of a client's that it doesn't know.
type tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
}

// newTracing is nil without an endpoint. Nothing connects yet.
func newTracing(endpoint, version string, log *slog.Logger) (*tracing, error) {
	if endpoint == "" {
		return nil, nil
	}
	if p := os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		log.Warn("traces go out as http/protobuf", "OTEL_EXPORTER_OTLP_PROTOCOL", p)
	}
	ctx := context.Background()
	exporter, err := otlp.New(endpoint, os.Getenv, guardOf(log).hide)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("riftrelay"), semconv.ServiceVersion(version)),
		resource.WithFromEnv()) // last, so that OTEL_SERVICE_NAME counts
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES is %q: %w; allowed: name=value, separated by commas", os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(loudExporter{exporter, log}), sdktrace.WithResource(about))
	return &tracing{provider, provider.Tracer("riftrelay"), log}, nil
}

// hooks are nil for no tracing.
func (t *tracing) hooks() riftrelay.Hooks {
	if t == nil {
		return riftrelay.Hooks{}
	}
	return otelriftrelay.New(t.provider)
}

// enters returns enter; nil for no tracing.
func (t *tracing) enters() func(*http.Request) (context.Context, func(route.Route, int, string)) {
	if t == nil {
		return nil
	}
	return t.enter
}

// enter begins the span of a call, which its end ends.
func (t *tracing) enter(r *http.Request) (context.Context, func(route.Route, int, string)) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, "relay", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, func(to route.Route, status int, source string) {
		defer span.End()
		if !span.IsRecording() {
			return
		}
		span.SetAttributes(semconv.HTTPResponseStatusCode(status), attribute.String("riftrelay.source", source))
		if m := to.Method; m != nil {
			span.SetAttributes(semconv.HTTPRoute("/{host}"+m.Template), attribute.String("riftrelay.host", to.Host))
			if m.Verb != "" {
				span.SetAttributes(semconv.HTTPRequestMethodKey.String(m.Verb))
			}
		}
		if status >= http.StatusInternalServerError { // the conventions: below that it is the client's
			span.SetStatus(codes.Error, "")
		}
	}
}

// close sends what is left.
func (t *tracing) close() {
	if t == nil {
		return
	}
	const patience = 3 * time.Second // of all that a stop takes, this is the least
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("traces are lost", "error", err)
	}
}

// loudExporter says in our log what goes wrong, rather than on the standard
// error stream.
type loudExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

// ExportSpans sends spans.
func (e loudExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.Warn("traces are lost", "spans", len(spans), "error", err)
	}
	return nil
}
