package otlp

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// encoder writes the messages of opentelemetry/proto, to which the numbers of
// the fields belong. Every text goes through redact.
type encoder struct{ redact func(string) string }

// message is the fields that were written so far. A field with its zero value
// is left out, as protobuf's third version does.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	if len(b) > 0 {
		m.part(field, b)
	}
}

// part writes also what is empty, for messages within messages.
func (m *message) part(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) varint(field protowire.Number, n uint64) {
	if n != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), n)
	}
}

func (m *message) fixed64(field protowire.Number, n uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), n)
}

func (m *message) count(field protowire.Number, n int) {
	m.varint(field, uint64(min(max(n, 0), math.MaxUint32)))
}

func (m *message) time(field protowire.Number, t time.Time) {
	m.fixed64(field, uint64(max(0, t.UnixNano())))
}

// text writes a string, which has to be valid UTF-8.
func (e encoder) text(m *message, field protowire.Number, s string) {
	m.bytes(field, []byte(strings.ToValidUTF8(e.redact(s), "\uFFFD")))
}

// request is an ExportTraceServiceRequest. The spans of one provider share a
// resource.
func (e encoder) request(spans []sdktrace.ReadOnlySpan) []byte {
	var scopes []instrumentation.Scope // in order of appearance
	byScope := map[instrumentation.Scope]*message{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		m := byScope[scope]
		if m == nil {
			m = &message{}
			m.part(1, e.scope(scope))
			byScope[scope] = m
			scopes = append(scopes, scope)
		}
		m.part(2, e.span(s))
	}
	var all message // ResourceSpans
	all.part(1, e.resource(spans[0].Resource()))
	for _, scope := range scopes {
		m := byScope[scope]
		e.text(m, 3, scope.SchemaURL)
		all.part(2, *m)
	}
	e.text(&all, 3, spans[0].Resource().SchemaURL())
	var m message
	m.part(1, all)
	return m
}

func (e encoder) resource(r *resource.Resource) message {
	var m message
	e.attributes(&m, 1, r.Attributes())
	return m
}

func (e encoder) scope(s instrumentation.Scope) message {
	var m message
	e.text(&m, 1, s.Name)
	e.text(&m, 2, s.Version)
	e.attributes(&m, 3, s.Attributes.ToSlice())
	return m
}

func (e encoder) span(s sdktrace.ReadOnlySpan) message {
	var m message
	about := s.SpanContext()
	traceID, spanID, parent := about.TraceID(), about.SpanID(), s.Parent().SpanID()
	m.bytes(1, traceID[:])
	m.bytes(2, spanID[:])
	e.text(&m, 3, about.TraceState().String())
	if parent.IsValid() {
		m.bytes(4, parent[:])
	}
	e.text(&m, 5, s.Name())
	m.varint(6, kind(s.SpanKind()))
	m.time(7, s.StartTime())
	m.time(8, s.EndTime())
	e.attributes(&m, 9, s.Attributes())
	m.count(10, s.DroppedAttributes())
	for _, v := range s.Events() {
		m.part(11, e.event(v))
	}
	m.count(12, s.DroppedEvents())
	for _, l := range s.Links() {
		m.part(13, e.link(l))
	}
	m.count(14, s.DroppedLinks())
	m.part(15, e.status(s.Status()))
	m.flags(16, about.TraceFlags(), s.Parent())
	return m
}

func (e encoder) event(v sdktrace.Event) message {
	var m message
	m.time(1, v.Time)
	e.text(&m, 2, v.Name)
	e.attributes(&m, 3, v.Attributes)
	m.count(4, v.DroppedAttributeCount)
	return m
}

func (e encoder) link(l sdktrace.Link) message {
	var m message
	traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	m.bytes(1, traceID[:])
	m.bytes(2, spanID[:])
	e.text(&m, 3, l.SpanContext.TraceState().String())
	e.attributes(&m, 4, l.Attributes)
	m.count(5, l.DroppedAttributeCount)
	m.flags(6, l.SpanContext.TraceFlags(), l.SpanContext)
	return m
}

func (e encoder) status(s sdktrace.Status) message {
	var m message
	e.text(&m, 2, s.Description)
	switch s.Code {
	case codes.Ok:
		m.varint(3, 1)
	case codes.Error:
		m.varint(3, 2)
	case codes.Unset:
	}
	return m
}

// flags are W3C's eight, and whether the parent is of another process.
func (m *message) flags(field protowire.Number, w3c trace.TraceFlags, parent trace.SpanContext) {
	const known, remote = 1 << 8, 1 << 9
	flags := uint32(w3c) | known
	if parent.IsRemote() {
		flags |= remote
	}
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), flags)
}

func kind(k trace.SpanKind) uint64 {
	switch k {
	case trace.SpanKindInternal:
		return 1
	case trace.SpanKindServer:
		return 2
	case trace.SpanKindClient:
		return 3
	case trace.SpanKindProducer:
		return 4
	case trace.SpanKindConsumer:
		return 5
	case trace.SpanKindUnspecified:
	}
	return 0
}

func (e encoder) attributes(m *message, field protowire.Number, list []attribute.KeyValue) {
	for _, a := range list {
		var pair message
		e.text(&pair, 1, string(a.Key))
		pair.part(2, e.value(a.Value))
		m.part(field, pair)
	}
}

// value is an AnyValue. What has no form of its own here is text.
func (e encoder) value(v attribute.Value) message {
	var m message
	switch v.Type() {
	case attribute.BOOL:
		n := uint64(0)
		if v.AsBool() {
			n = 1
		}
		m = protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), n)
	case attribute.INT64:
		m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(v.AsInt64())) // two's complement, as protobuf has it
	case attribute.FLOAT64:
		m.fixed64(4, math.Float64bits(v.AsFloat64()))
	case attribute.STRINGSLICE:
		var list message
		for _, s := range v.AsStringSlice() {
			list.part(1, e.value(attribute.StringValue(s)))
		}
		m.part(5, list)
	default:
		m.part(1, []byte(strings.ToValidUTF8(e.redact(v.String()), "\uFFFD")))
	}
	return m
}
