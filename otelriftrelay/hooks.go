// Package otelriftrelay traces calls to Riot with OpenTelemetry: it makes spans
// of what a riftrelay.Limiter and its Transport tell.
//
//	limiter, err := riftrelay.New(riftrelay.Config{Hooks: otelriftrelay.New(nil), …})
//
// Each try of a call has two spans, children of the span in the context of the
// call (the request's, or that given to Acquire): "admission", the wait until
// Riot's limits let it go, and "upstream", from there to the head of the
// answer. A call that met a 429 has two of each.
//
// Attributes follow the semantic conventions where these have a name:
// server.address, http.request.method, url.template,
// http.response.status_code, http.request.resend_count, error.type. The others
// are the constants of this package. There is no path and no query, whose parts
// are players, and no key but its name.
//
// An admission that was rejected is an error, one that the caller left isn't.
// An upstream span is an error without an answer, and with a status of 400 and
// more; but a 404 is an ordinary answer of Riot's ("not in a game").
package otelriftrelay

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"riftrelay"
	"riftrelay/route"
)

// ScopeName is the name of the tracer.
const ScopeName = "riftrelay/otelriftrelay"

// The attributes that the semantic conventions have no name for.
const (
	// KeyName is the name of the key; absent without one.
	KeyName = attribute.Key("riftrelay.key")
	// Priority is "normal" or "high"; of admissions.
	Priority = attribute.Key("riftrelay.priority")
	// Outcome of an admission is "admitted", "rejected" or "canceled".
	Outcome = attribute.Key("riftrelay.outcome")
	// Reason of a rejection is as riftrelay.Reason; otherwise absent.
	Reason = attribute.Key("riftrelay.reason")
	// Limit is whose limit a 429 told of: "application", "method", "service"
	// …; otherwise absent.
	Limit = attribute.Key("riftrelay.limit")
	// Violation is true of a 429 of our own making; otherwise absent.
	Violation = attribute.Key("riftrelay.violation")
	// Retry is true when another try follows; otherwise absent.
	Retry = attribute.Key("riftrelay.retry")
)

// New makes Hooks for riftrelay.Config that trace with the provider; nil means
// the global one.
func New(provider trace.TracerProvider) riftrelay.Hooks {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	h := hooks{provider.Tracer(ScopeName, trace.WithSchemaURL(semconv.SchemaURL))}
	return riftrelay.Hooks{Admission: h.admission, Answer: h.answer}
}

type hooks struct{ tracer trace.Tracer }

func (h hooks) admission(ctx context.Context, e riftrelay.AdmissionEvent) {
	_, span := h.tracer.Start(ctx, "admission", trace.WithTimestamp(e.At.Add(-e.Waited)))
	defer span.End(trace.WithTimestamp(e.At))
	if !span.IsRecording() {
		return
	}
	if e.Outcome == riftrelay.OutcomeRejected {
		span.SetAttributes(Reason.String(string(e.Reason)), semconv.ErrorTypeKey.String(string(e.Reason)))
		span.SetStatus(codes.Error, "rejected: "+string(e.Reason))
	}
	span.SetAttributes(Outcome.String(string(e.Outcome)), Priority.String(e.Priority.String()))
	describe(span, e.Route, e.Key, e.Try)
}

func (h hooks) answer(ctx context.Context, e riftrelay.AnswerEvent) {
	_, span := h.tracer.Start(ctx, "upstream", trace.WithTimestamp(e.At.Add(-e.Duration)), trace.WithSpanKind(trace.SpanKindClient))
	defer span.End(trace.WithTimestamp(e.At))
	if !span.IsRecording() {
		return
	}
	describe(span, e.Route, e.Key, e.Try)
	switch {
	case e.Err != nil:
		fail(span, e.Err, e.At)
	case e.Status >= 400 && e.Status != 404:
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(e.Status)))
		span.SetStatus(codes.Error, "") // the conventions: the status says it
	}
	if e.Status != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(e.Status))
	}
	if kind := string(e.Kind); kind != "" {
		span.SetAttributes(Limit.String(kind))
	}
	if e.Own {
		span.SetAttributes(Violation.Bool(true))
	}
	if e.Retry {
		span.SetAttributes(Retry.Bool(true))
	}
}

// describe says which call a span is of.
func describe(span trace.Span, r route.Route, key string, try int) {
	if r.Host != "" {
		span.SetAttributes(semconv.ServerAddress(r.Host+".api.riotgames.com"), semconv.URLTemplate(r.Method.Template))
		if r.Method.Verb != "" {
			span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method.Verb))
		}
	}
	if key != "" {
		span.SetAttributes(KeyName.String(key))
	}
	if try > 1 {
		span.SetAttributes(semconv.HTTPRequestResendCount(try - 1))
	}
}

// fail records why there was no answer.
func fail(span trace.Span, err error, at time.Time) {
	if inURL := (*url.Error)(nil); errors.As(err, &inURL) {
		err = inURL.Err // without the URL
	}
	span.RecordError(err, trace.WithTimestamp(at))
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	span.SetStatus(codes.Error, err.Error())
}

// errorType returns one of few words for an error.
func errorType(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return fmt.Sprintf("%T", err)
}
