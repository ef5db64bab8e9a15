package otelriftrelay_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"riftrelay"
	"riftrelay/otelriftrelay"
	"riftrelay/riotsim"
	"riftrelay/route"
)

const (
	puuid = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdef"
	key   = "RGAPI-secret"
)

func recorder() (*tracetest.SpanRecorder, *sdktrace.TracerProvider) {
	r := tracetest.NewSpanRecorder()
	return r, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
}

func attributes(s sdktrace.ReadOnlySpan) map[string]any {
	m := map[string]any{}
	for _, a := range s.Attributes() {
		m[string(a.Key)] = a.Value.AsInterface()
	}
	return m
}

func expect(t *testing.T, s sdktrace.ReadOnlySpan, name string, from, to time.Time, status codes.Code, want map[string]any) {
	t.Helper()
	if s.Name() != name || !s.StartTime().Equal(from) || !s.EndTime().Equal(to) || s.Status().Code != status {
		t.Errorf("%s from %v to %v, %v; want %s from %v to %v, %v", s.Name(), s.StartTime(), s.EndTime(), s.Status(), name, from, to, status)
	}
	if got := attributes(s); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: attributes\n got %v\nwant %v", name, got, want)
	}
}

// A call that meets a 429 of Riot's own trouble: every stage of it, in time,
// under the caller's span.
func TestSpansOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans, provider := recorder()
		edge, err := riotsim.New(riotsim.Config{
			Body: riotsim.Tiny, Latency: riotsim.Latency{Up: 20 * time.Millisecond, Down: 30 * time.Millisecond},
			Faults: []riotsim.Fault{{Kind: riotsim.Service, Times: 1, Wait: 2 * time.Second}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer edge.Close()
		limiter, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: key}}, Hooks: otelriftrelay.New(provider)})
		if err != nil {
			t.Fatal(err)
		}
		defer limiter.Close()
		client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: edge.RoundTripper()}}

		time.Sleep(time.Second) // no call goes in a limiter's first moments
		began := time.Now()
		ctx, parent := provider.Tracer("test").Start(t.Context(), "caller")
		ctx = riftrelay.WithOptions(ctx, riftrelay.Options{Priority: riftrelay.High})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/"+puuid+"?secret=1", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		parent.End()

		all := spans.Ended()
		if len(all) != 5 {
			t.Fatalf("%d spans", len(all))
		}
		call := map[string]any{
			"server.address": "euw1.api.riotgames.com", "url.template": "/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}",
			"http.request.method": "GET", "riftrelay.key": "main",
		}
		and := func(more map[string]any) map[string]any {
			m := map[string]any{}
			for _, from := range []map[string]any{call, more} {
				for k, v := range from {
					m[k] = v
				}
			}
			return m
		}
		first := began.Add(50 * time.Millisecond)
		again := all[2].EndTime()
		if wait := again.Sub(first); wait < 2*time.Second || wait > 4*time.Second {
			t.Errorf("waited %v for the second try", wait)
		}
		expect(t, all[0], "admission", began, began, codes.Unset, and(map[string]any{"riftrelay.outcome": "admitted", "riftrelay.priority": "high"}))
		expect(t, all[1], "upstream", began, first, codes.Error, and(map[string]any{
			"http.response.status_code": int64(429), "error.type": "429", "riftrelay.limit": "service", "riftrelay.retry": true,
		}))
		expect(t, all[2], "admission", first, again, codes.Unset, and(map[string]any{
			"riftrelay.outcome": "admitted", "riftrelay.priority": "high", "http.request.resend_count": int64(1),
		}))
		expect(t, all[3], "upstream", again, again.Add(50*time.Millisecond), codes.Unset, and(map[string]any{
			"http.response.status_code": int64(200), "http.request.resend_count": int64(1),
		}))
		for i, s := range all[:4] {
			if s.Parent().SpanID() != parent.SpanContext().SpanID() || s.SpanContext().TraceID() != parent.SpanContext().TraceID() {
				t.Errorf("span %d has another parent", i)
			}
			if kind := [...]trace.SpanKind{trace.SpanKindInternal, trace.SpanKindClient}[i%2]; s.SpanKind() != kind {
				t.Errorf("span %d is of kind %v", i, s.SpanKind())
			}
			if scope := s.InstrumentationScope(); scope.Name != otelriftrelay.ScopeName || scope.SchemaURL == "" {
				t.Errorf("span %d is of %+v", i, scope)
			}
			for _, a := range s.Attributes() {
				if text := a.Value.String(); strings.Contains(text, puuid) || strings.Contains(text, "secret") {
					t.Errorf("span %d tells %s = %s", i, a.Key, text)
				}
			}
		}
	})
}

func TestSpansOfEvents(t *testing.T) {
	r, err := route.Default().Match(http.MethodPut, "americas", "/lol/tournament/v5/codes/x")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		tell   func(context.Context, riftrelay.Hooks)
		name   string
		code   codes.Code
		says   string
		events int
		want   map[string]any
	}{
		"rejected": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Admission(ctx, riftrelay.AdmissionEvent{At: at, Try: 1, Waited: time.Second, Outcome: riftrelay.OutcomeRejected, Reason: riftrelay.ReasonQueueFull})
			},
			"admission", codes.Error, "rejected: queue_full", 0,
			map[string]any{"riftrelay.outcome": "rejected", "riftrelay.reason": "queue_full", "error.type": "queue_full", "riftrelay.priority": "normal"},
		},
		"gone": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Admission(ctx, riftrelay.AdmissionEvent{At: at, Try: 1, Waited: time.Second, Outcome: riftrelay.OutcomeCanceled})
			},
			"admission", codes.Unset, "", 0,
			map[string]any{"riftrelay.outcome": "canceled", "riftrelay.priority": "normal"},
		},
		"violation": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Answer(ctx, riftrelay.AnswerEvent{At: at, Route: r, Try: 1, Duration: time.Second, Status: 429, Kind: riftrelay.LimitMethod, Own: true})
			},
			"upstream", codes.Error, "", 0,
			map[string]any{
				"server.address": "americas.api.riotgames.com", "url.template": r.Method.Template, "http.request.method": "PUT",
				"http.response.status_code": int64(429), "error.type": "429", "riftrelay.limit": "method", "riftrelay.violation": true,
			},
		},
		"not found": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Answer(ctx, riftrelay.AnswerEvent{At: at, Try: 1, Duration: time.Second, Status: 404})
			},
			"upstream", codes.Unset, "", 0,
			map[string]any{"http.response.status_code": int64(404)},
		},
		"timeout": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Answer(ctx, riftrelay.AnswerEvent{At: at, Try: 1, Duration: time.Second, Err: riftrelay.ErrUpstreamTimeout})
			},
			"upstream", codes.Error, riftrelay.ErrUpstreamTimeout.Error(), 1,
			map[string]any{"error.type": "timeout"},
		},
		"canceled": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Answer(ctx, riftrelay.AnswerEvent{At: at, Try: 1, Duration: time.Second, Err: context.Canceled})
			},
			"upstream", codes.Error, "context canceled", 1,
			map[string]any{"error.type": "canceled"},
		},
		"no URL": {
			func(ctx context.Context, h riftrelay.Hooks) {
				h.Answer(ctx, riftrelay.AnswerEvent{At: at, Try: 1, Duration: time.Second, Err: &url.Error{Op: "Get", URL: "https://x/" + puuid, Err: errors.New("reset")}})
			},
			"upstream", codes.Error, "reset", 1,
			map[string]any{"error.type": "*errors.errorString"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans, provider := recorder()
			h := otelriftrelay.New(provider)
			c.tell(t.Context(), h)
			if h.Change != nil {
				t.Error("a change belongs to no call")
			}
			if n := len(spans.Ended()); n != 1 {
				t.Fatalf("%d spans", n)
			}
			s := spans.Ended()[0]
			expect(t, s, c.name, at.Add(-time.Second), at, c.code, c.want)
			if s.Status().Description != c.says || len(s.Events()) != c.events {
				t.Errorf("status %q, %d events; want %q, %d", s.Status().Description, len(s.Events()), c.says, c.events)
			}
			for _, e := range s.Events() {
				if e.Name != "exception" || !e.Time.Equal(at) || !has(e.Attributes, "exception.message", c.says) {
					t.Errorf("event %+v", e)
				}
			}
		})
	}
}

func has(list []attribute.KeyValue, key, value string) bool {
	for _, a := range list {
		if string(a.Key) == key {
			return a.Value.AsString() == value
		}
	}
	return false
}

// What is not sampled costs no attributes, and the global provider is the
// default.
func TestUnsampled(t *testing.T) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	for _, h := range []riftrelay.Hooks{otelriftrelay.New(provider), otelriftrelay.New(nil)} {
		h.Admission(t.Context(), riftrelay.AdmissionEvent{At: time.Now()})
		h.Answer(t.Context(), riftrelay.AnswerEvent{At: time.Now(), Err: errors.New("reset")})
	}
}
