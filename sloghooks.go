package riftrelay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"riftrelay/internal/limit"
)

// changeLogger returns the hook of Config.Logger.
func changeLogger(log *slog.Logger) func(ChangeEvent) {
	return func(e ChangeEvent) {
		level, message := e.headline()
		log.LogAttrs(context.Background(), level, message, e.attrs()...)
	}
}

func (e *ChangeEvent) headline() (slog.Level, string) {
	switch e.Kind {
	case ChangeLimitLearned:
		return slog.LevelInfo, "limit learned"
	case ChangeLimitChanged:
		return slog.LevelInfo, "limit changed"
	case ChangeLimitReached:
		return slog.LevelInfo, "limit reached, calls wait"
	case ChangeCooldownBegan:
		return slog.LevelWarn, "stopped after a 429"
	case ChangeCooldownEnded:
		return slog.LevelInfo, "stop is over"
	case ChangeLimitsHalved:
		return slog.LevelError, "more 429s of our own making than are tolerated: the limits are used by half, Riot blacklists keys for such"
	case ChangeLimitsRaised:
		return slog.LevelInfo, "limits are raised again"
	case ChangeKeySuspended:
		return slog.LevelWarn, "Riot doesn't know the key: it is suspended"
	case ChangeKeyReturned:
		return slog.LevelInfo, "key is good again"
	case ChangeKeyDisabled:
		return slog.LevelWarn, "key is disabled"
	case ChangeKeyEnabled:
		return slog.LevelInfo, "key is enabled"
	case ChangeStoreAway:
		if errors.Is(e.Err, ErrOtherVersion) {
			return slog.LevelWarn, "the store doesn't judge for now"
		}
		return slog.LevelError, "the store can't be reached"
	case ChangeStoreElsewhere:
		return slog.LevelWarn, "other relays use another part of the store: they share no limits with this one"
	case ChangeStoreBack:
		return slog.LevelInfo, "the store is back, and judges"
	}
	return slog.LevelInfo, string(e.Kind)
}

func (e *ChangeEvent) attrs() []slog.Attr {
	var attrs []slog.Attr
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("key", e.Key)
	text("host", e.Host)
	text("method", e.Method)
	switch e.Kind {
	case ChangeLimitLearned, ChangeLimitReached:
		text("limit", e.quota(e.New))
	case ChangeLimitChanged:
		text("limit", e.quota(e.New))
		text("before", e.quota(e.Old))
	case ChangeCooldownBegan:
		text("type", string(e.Cause))
		text("for", e.Until.Sub(e.At).Round(time.Millisecond).String())
	case ChangeCooldownEnded:
		text("type", string(e.Cause))
	case ChangeLimitsHalved, ChangeLimitsRaised:
		attrs = append(attrs, slog.Int("halved", e.New), slog.Int("before", e.Old))
	case ChangeKeySuspended:
		attrs = append(attrs, slog.Int("status", e.Status))
	case ChangeStoreAway, ChangeStoreElsewhere:
		attrs = append(attrs, slog.Any("error", e.Err))
	case ChangeKeyReturned, ChangeKeyDisabled, ChangeKeyEnabled, ChangeStoreBack:
	}
	if e.Lost > 0 {
		attrs = append(attrs, slog.Int("changes_lost", e.Lost))
	}
	return attrs
}

// quota writes a limit as Riot does, "100:120".
func (e *ChangeEvent) quota(n int) string {
	if n == 0 {
		return "none"
	}
	return limit.Quota{N: n, W: e.Window}.String()
}
