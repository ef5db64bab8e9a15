package top

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// state is what is shown of /api/v1/state.
type state struct {
	At       time.Time `json:"at"`
	Margin   seconds   `json:"margin_seconds"`
	Pacing   float64   `json:"pacing"`
	Queued   int       `json:"queued"`
	InFlight int       `json:"in_flight"`
	Draining bool      `json:"draining"`
	Store    *store    `json:"store"` // nil = none
	Keys     []struct {
		Name   text `json:"name"`
		Usable bool `json:"usable"`
		State  text `json:"state"`
	} `json:"keys"`
	Scopes []scope `json:"scopes"`
	Queues []queue `json:"queues"`
}

type scope struct {
	Key      text     `json:"key"`
	Host     text     `json:"host"`
	Method   text     `json:"method"`
	Halved   int      `json:"halved"`
	InFlight int      `json:"in_flight"`
	Cooldown seconds  `json:"cooldown_seconds"`
	Cause    text     `json:"cooldown_cause"`
	Windows  []window `json:"windows"`
}

type window struct {
	Limit    int     `json:"limit"`
	Window   seconds `json:"window_seconds"`
	Used     int     `json:"used"`
	Others   int     `json:"others"`
	Peers    int     `json:"peers"` // of other replicas
	InFlight int     `json:"in_flight"`
	Reset    seconds `json:"reset_seconds"`
}

type queue struct {
	Host     text     `json:"host"`
	Method   text     `json:"method"`
	Priority text     `json:"priority"`
	Budget   text     `json:"budget"`
	Depth    int      `json:"depth"`
	Oldest   seconds  `json:"oldest_seconds"`
	Start    *seconds `json:"start_seconds"`
	Why      *struct {
		Key  text `json:"key"`
		Text text `json:"text"`
	} `json:"why"`
}

// text is harmless to a terminal.
type text string

// UnmarshalJSON takes out control characters.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	*t = text(clean(s))
	return nil
}

type seconds float64

// String writes a time in three digits or so.
func (s seconds) String() string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.0fms", float64(s)*1000)
	case s < 10 && s != seconds(int(s)):
		return fmt.Sprintf("%.1fs", float64(s))
	case s < 600:
		return fmt.Sprintf("%.0fs", float64(s))
	default:
		return fmt.Sprintf("%.0fmin", float64(s)/60)
	}
}

func parse(raw []byte) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("that is no state of a relay: %w", err)
	}
	if s.At.IsZero() {
		return nil, errors.New("that is no state of a relay")
	}
	return s, nil
}
