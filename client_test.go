package riftrelay_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// One place gives calls a priority and a budget by their path, on top of what
// their context asks for.
func TestOptionsByRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []riftrelay.AdmissionEvent
		hooks := riftrelay.Hooks{Admission: func(_ context.Context, e riftrelay.AdmissionEvent) { heard = append(heard, e) }}
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Hooks: hooks, Budgets: []riftrelay.Budget{{Name: "crawler", Share: 0.5}}})
		s.client.Transport.(*riftrelay.Transport).Options = func(req *http.Request, o riftrelay.Options) riftrelay.Options {
			if req.URL.Path == "/lol/status/v4/platform-data" {
				o.Priority = riftrelay.High
			}
			return o
		}
		ctx := riftrelay.WithBudget(t.Context(), "crawler")
		for _, url := range []string{status, mastery} {
			if err := get(ctx, s.client, url); err != nil {
				t.Fatal(err)
			}
		}
		if len(heard) != 2 || heard[0].Priority != riftrelay.High || heard[1].Priority != riftrelay.Normal || heard[0].Budget != "crawler" || heard[1].Budget != "crawler" {
			t.Errorf("admitted as %+v", heard)
		}
	})
}

// What an inner context sets leaves the rest of the outer one's as it is.
func TestOptionsMerge(t *testing.T) {
	ctx := riftrelay.WithMaxWait(t.Context(), 8*time.Second)
	ctx = riftrelay.WithPriority(riftrelay.WithBudget(ctx, "crawler"), riftrelay.High)
	want := riftrelay.Options{MaxWait: 8 * time.Second, Budget: "crawler", Priority: riftrelay.High}
	if got := riftrelay.OptionsFrom(ctx); got != want {
		t.Errorf("options %+v, want %+v", got, want)
	}
	if got := riftrelay.OptionsFrom(t.Context()); got != (riftrelay.Options{}) {
		t.Errorf("options of nothing: %+v", got)
	}
}

// An http.Client closes the idle connections of its transport, and so of ours.
func TestIdleConnectionsAreClosed(t *testing.T) {
	closed := make(chan bool, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- true
		}
	}
	srv.Start()
	defer srv.Close()
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Upstream: srv.URL}}
	if _, _, err := call(t.Context(), client, http.MethodGet, status, ""); err != nil { // reads the body
		t.Fatal(err)
	}
	select {
	case <-closed:
		t.Fatal("the connection isn't kept")
	case <-time.After(50 * time.Millisecond):
	}
	client.CloseIdleConnections()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection stays open")
	}
}

func TestNewClient(t *testing.T) {
	if _, err := riftrelay.NewClient(riftrelay.Config{Margin: -1}); err == nil {
		t.Error("a wrong Config is accepted")
	}
	c, err := riftrelay.NewClient(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Get(status); err == nil {
		t.Error("a closed client makes a call")
	}
}
