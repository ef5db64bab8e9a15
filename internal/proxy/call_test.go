package proxy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLogLine(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cause := errors.New("dial 10.0.0.1: RGAPI-CANARY-1")
	for _, tt := range []struct {
		target string
		answer roundTrip
		want   []string
	}{
		{"/euw1/lol/summoner/v4/summoners/by-puuid/PLAYER?name=PLAYER", func(*http.Request) (*http.Response, error) { return answerOf("{}"), nil },
			[]string{"level=DEBUG", "verb=GET", "status=200", "source=riot", "bytes=2", "took="}},
		{"/euw1/lol/summoner/v4/summoners/by-puuid/PLAYER", func(*http.Request) (*http.Response, error) { return nil, cause },
			[]string{"status=502", "source=relay", "reason=upstream_unavailable", "RGAPI-…"}},
		{"//lol/x", nil, []string{"status=400", "reason=invalid_route"}},
	} {
		out.Reset()
		h, err := New(Options{Table: table(t), Transport: tt.answer, Logger: logger})
		if tt.answer == nil {
			h, err = New(Options{Table: table(t), Transport: http.DefaultTransport, Logger: logger})
		}
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", tt.target, nil))
		line := out.String()
		for _, want := range tt.want {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %q in %s", tt.target, want, line)
			}
		}
		if strings.Contains(line, "PLAYER") || strings.Contains(line, "CANARY") || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: %s", tt.target, line)
		}
	}
}

// Above debug, nothing is put together for the log.
func TestNoLogLineAboveDebug(t *testing.T) {
	counted := &countingHandler{}
	h, err := New(Options{Table: table(t), Logger: slog.New(counted),
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { return answerOf("{}"), nil })})
	if err != nil {
		t.Fatal(err)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", status, nil))
	if counted.lines != 0 {
		t.Errorf("%d lines", counted.lines)
	}
}

type countingHandler struct{ lines int }

func (*countingHandler) Enabled(context.Context, slog.Level) bool { return false }

func (c *countingHandler) Handle(context.Context, slog.Record) error { c.lines++; return nil }

func (c *countingHandler) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c *countingHandler) WithGroup(string) slog.Handler { return c }
