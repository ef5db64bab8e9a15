package otlp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

var (
	traceID = trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	spanID  = trace.SpanID{1, 2, 3, 4, 5, 6, 7, 8}
	began   = time.Unix(1_700_000_000, 123)
)

// full is a span with everything in it.
func full(t *testing.T) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState("vendor=x")
	if err != nil {
		t.Fatal(err)
	}
	about := trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, TraceState: state})
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: trace.SpanID{9}, Remote: true})
	return tracetest.SpanStub{
		Name: "relay", SpanContext: about, Parent: parent, SpanKind: trace.SpanKindServer, StartTime: began, EndTime: began.Add(time.Second),
		Attributes: []attribute.KeyValue{
			attribute.String("text", "x"), attribute.Bool("yes", true), attribute.Bool("no", false), attribute.Int("less", -1), attribute.Int("zero", 0),
			attribute.Float64("half", 0.5), attribute.StringSlice("list", []string{"a", ""}), attribute.IntSlice("numbers", []int{1, 2}), attribute.String("empty", ""),
		},
		Events:            []sdktrace.Event{{Name: "exception", Time: began, Attributes: []attribute.KeyValue{attribute.String("why", "broken")}, DroppedAttributeCount: 3}},
		Links:             []sdktrace.Link{{SpanContext: about, Attributes: []attribute.KeyValue{attribute.Int("n", 1)}, DroppedAttributeCount: 4}},
		Status:            sdktrace.Status{Code: codes.Error, Description: "it failed"},
		DroppedAttributes: 5, DroppedEvents: 6, DroppedLinks: 7,
		Resource:             resource.NewWithAttributes("schema/resource", attribute.String("service.name", "riftrelay")),
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "1", SchemaURL: "schema/scope", Attributes: attribute.NewSet(attribute.String("of", "scope"))},
	}
}

func decode(t *testing.T, e encoder, stubs ...tracetest.SpanStub) *collector.ExportTraceServiceRequest {
	t.Helper()
	got := &collector.ExportTraceServiceRequest{}
	if err := proto.Unmarshal(e.request(tracetest.SpanStubs(stubs).Snapshots()), got); err != nil {
		t.Fatal(err)
	}
	return got
}

func same(s string) string { return s }

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, n int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}}
}

func boolean(key string, b bool) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: b}}}
}

// The protocol's generated code reads all that a span can hold.
func TestEncode(t *testing.T) {
	span := full(t)
	plain := tracetest.SpanStub{
		Name: "plain", SpanKind: trace.SpanKindInternal, SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: trace.SpanID{2}}),
		StartTime: began, EndTime: began, Resource: span.Resource, InstrumentationScope: instrumentation.Scope{Name: "other"},
	}
	got := decode(t, encoder{same}, span, plain)
	when := uint64(began.UnixNano())
	want := &collector.ExportTraceServiceRequest{ResourceSpans: []*tracev1.ResourceSpans{{
		Resource: &resourcev1.Resource{Attributes: []*common.KeyValue{text("service.name", "riftrelay")}}, SchemaUrl: "schema/resource",
		ScopeSpans: []*tracev1.ScopeSpans{
			{
				Scope:     &common.InstrumentationScope{Name: "scope", Version: "1", Attributes: []*common.KeyValue{text("of", "scope")}},
				SchemaUrl: "schema/scope",
				Spans: []*tracev1.Span{{
					TraceId: traceID[:], SpanId: spanID[:], TraceState: "vendor=x", ParentSpanId: []byte{9, 0, 0, 0, 0, 0, 0, 0}, Flags: 0x301, Name: "relay",
					Kind: tracev1.Span_SPAN_KIND_SERVER, StartTimeUnixNano: when, EndTimeUnixNano: when + 1e9,
					Attributes: []*common.KeyValue{
						text("text", "x"), boolean("yes", true), boolean("no", false), number("less", -1), number("zero", 0),
						{Key: "half", Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.5}}},
						{Key: "list", Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{text("", "a").Value, text("", "").Value}}}}},
						text("numbers", "[1,2]"), text("empty", ""),
					},
					DroppedAttributesCount: 5,
					Events:                 []*tracev1.Span_Event{{TimeUnixNano: when, Name: "exception", Attributes: []*common.KeyValue{text("why", "broken")}, DroppedAttributesCount: 3}},
					DroppedEventsCount:     6,
					Links:                  []*tracev1.Span_Link{{TraceId: traceID[:], SpanId: spanID[:], TraceState: "vendor=x", Attributes: []*common.KeyValue{number("n", 1)}, DroppedAttributesCount: 4, Flags: 0x101}},
					DroppedLinksCount:      7,
					Status:                 &tracev1.Status{Message: "it failed", Code: tracev1.Status_STATUS_CODE_ERROR},
				}},
			},
			{
				Scope: &common.InstrumentationScope{Name: "other"},
				Spans: []*tracev1.Span{{
					TraceId: traceID[:], SpanId: []byte{2, 0, 0, 0, 0, 0, 0, 0}, Flags: 0x100, Name: "plain", Kind: tracev1.Span_SPAN_KIND_INTERNAL,
					StartTimeUnixNano: when, EndTimeUnixNano: when, Status: &tracev1.Status{},
				}},
			},
		},
	}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// No text of a span passes by the filter, whichever field it is in.
func TestEncodeRedacts(t *testing.T) {
	const secret = "RGAPI-secret"
	span := full(t)
	state, err := trace.ParseTraceState("vendor=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	about := span.SpanContext.WithTraceState(state)
	pair := []attribute.KeyValue{attribute.String(secret, secret), attribute.StringSlice("list", []string{secret}), attribute.Stringer("error", stringer{errors.New(secret)})}
	span.Name, span.SpanContext, span.Attributes = secret, about, pair
	span.Events = []sdktrace.Event{{Name: secret, Attributes: pair}}
	span.Links = []sdktrace.Link{{SpanContext: about, Attributes: pair}}
	span.Status.Description = secret + "\xff"
	span.Resource = resource.NewWithAttributes(secret, pair...)
	span.InstrumentationScope = instrumentation.Scope{Name: secret, Version: secret, SchemaURL: secret, Attributes: attribute.NewSet(pair...)}
	hide := func(s string) string { return strings.ReplaceAll(s, secret, "-") }
	raw := encoder{hide}.request(tracetest.SpanStubs{span}.Snapshots())
	if strings.Contains(string(raw), "secret") {
		t.Errorf("a text passes by: %q", raw)
	}
	if got := decode(t, encoder{hide}, span).ResourceSpans[0].ScopeSpans[0].Spans[0].Status.Message; got != "-\uFFFD" {
		t.Errorf("status %q", got)
	}
}

type stringer struct{ error }

func (s stringer) String() string { return s.Error() }
