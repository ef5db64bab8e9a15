package otelriftrelay_test

import (
	"context"
	"fmt"
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"riftrelay"
	"riftrelay/otelriftrelay"
	"riftrelay/riotsim"
)

// Every call to Riot becomes part of the trace that it is made in. Metrics, logs
// and whatever else listens go along, with riftrelay.JoinHooks.
func Example() {
	spans := tracetest.NewInMemoryExporter() // yours is that of your collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))

	limiter, err := riftrelay.New(riftrelay.Config{
		Keys:  []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}},
		Hooks: riftrelay.JoinHooks(otelriftrelay.New(provider), riftrelay.Hooks{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	edge, err := riotsim.New(riotsim.Config{}) // leave Base out to call Riot
	if err != nil {
		fmt.Println(err)
		return
	}
	defer edge.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: edge.RoundTripper()}}

	ctx, span := provider.Tracer("app").Start(context.Background(), "profile page")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://euw1.api.riotgames.com/lol/status/v4/platform-data", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	span.End()

	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.Parent.SpanID() == span.SpanContext().SpanID())
	}
	// Output:
	// admission true
	// upstream true
	// profile page false
}
