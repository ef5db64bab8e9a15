package riftrelay_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"riftrelay"
)

func TestLogOfChanges(t *testing.T) {
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	app := riftrelay.ChangeEvent{At: at, Key: "main", Scope: "application", Host: "euw1", Window: 2 * time.Minute}
	service := riftrelay.ChangeEvent{At: at, Scope: "service", Host: "kr", Method: "/x", Cause: riftrelay.LimitService, Until: at.Add(5500 * time.Millisecond)}
	key := riftrelay.ChangeEvent{At: at, Key: "main"}
	with := func(e riftrelay.ChangeEvent, change func(*riftrelay.ChangeEvent)) riftrelay.ChangeEvent {
		change(&e)
		return e
	}
	for _, c := range []struct {
		e    riftrelay.ChangeEvent
		want string
	}{
		{with(app, func(e *riftrelay.ChangeEvent) { e.Kind, e.New = riftrelay.ChangeLimitLearned, 100 }), `level=INFO msg="limit learned" key=main host=euw1 limit=100:120`},
		{with(app, func(e *riftrelay.ChangeEvent) { e.Kind, e.Old, e.New = riftrelay.ChangeLimitChanged, 100, 50 }), `level=INFO msg="limit changed" key=main host=euw1 limit=50:120 before=100:120`},
		{with(app, func(e *riftrelay.ChangeEvent) { e.Kind, e.Old = riftrelay.ChangeLimitChanged, 100 }), `level=INFO msg="limit changed" key=main host=euw1 limit=none before=100:120`},
		{with(app, func(e *riftrelay.ChangeEvent) {
			e.Kind, e.Old, e.New, e.Lost = riftrelay.ChangeLimitReached, 100, 100, 7
		}), `level=INFO msg="limit reached, calls wait" key=main host=euw1 limit=100:120 changes_lost=7`},
		{with(service, func(e *riftrelay.ChangeEvent) { e.Kind = riftrelay.ChangeCooldownBegan }), `level=WARN msg="stopped after a 429" host=kr method=/x type=service for=5.5s`},
		{with(service, func(e *riftrelay.ChangeEvent) { e.Kind = riftrelay.ChangeCooldownEnded }), `level=INFO msg="stop is over" host=kr method=/x type=service`},
		{with(app, func(e *riftrelay.ChangeEvent) { e.Kind, e.Old, e.New = riftrelay.ChangeLimitsHalved, 0, 1 }), `level=ERROR msg="more 429s of our own making than are tolerated: the limits are used by half, Riot blacklists keys for such" key=main host=euw1 halved=1 before=0`},
		{with(app, func(e *riftrelay.ChangeEvent) { e.Kind, e.Old, e.New = riftrelay.ChangeLimitsRaised, 1, 0 }), `level=INFO msg="limits are raised again" key=main host=euw1 halved=0 before=1`},
		{with(key, func(e *riftrelay.ChangeEvent) { e.Kind, e.Status = riftrelay.ChangeKeySuspended, 401 }), `level=WARN msg="Riot doesn't know the key: it is suspended" key=main status=401`},
		{with(key, func(e *riftrelay.ChangeEvent) { e.Kind = riftrelay.ChangeKeyReturned }), `level=INFO msg="key is good again" key=main`},
		{with(key, func(e *riftrelay.ChangeEvent) { e.Kind = riftrelay.ChangeKeyDisabled }), `level=WARN msg="key is disabled" key=main`},
		{with(key, func(e *riftrelay.ChangeEvent) { e.Kind = riftrelay.ChangeKeyEnabled }), `level=INFO msg="key is enabled" key=main`},
		{with(key, func(e *riftrelay.ChangeEvent) { e.Kind = "new" }), `level=INFO msg=new key=main`},
	} {
		var out bytes.Buffer
		riftrelay.LogChange(slog.New(slog.NewTextHandler(&out, nil)), c.e)
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.e.Kind, got, c.want)
		}
	}
}
