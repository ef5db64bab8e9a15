package dashboard

import (
	"fmt"
	"strings"
	"sync"

	"riftrelay"
	"riftrelay/internal/limit"
)

// Event is one line of the feed.
type Event struct {
	N      int    `json:"n"`     // counted from 1
	At     int64  `json:"at"`    // Unix time in milliseconds
	Level  string `json:"level"` // info, warn or bad
	Text   string `json:"text"`
	Key    string `json:"key,omitempty"`
	Host   string `json:"host,omitempty"`
	Method string `json:"method,omitempty"`
}

// feed keeps the latest events.
type feed struct {
	mu   sync.Mutex
	ring [200]Event
	n    int
}

func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.N = f.n + 1
	f.ring[f.n%len(f.ring)] = e
	f.n++
}

// after returns the events with a number above n that are still there.
func (f *feed) after(n int) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := []Event{}
	for i := max(n, f.n-len(f.ring)); i < f.n; i++ {
		events = append(events, f.ring[i%len(f.ring)])
	}
	return events
}

// eventOf says in a sentence what has changed.
func eventOf(e riftrelay.ChangeEvent) Event {
	level, text := sentence(e)
	if e.Lost > 0 {
		text += fmt.Sprintf(" (%d changes before this were lost)", e.Lost)
	}
	return Event{At: millis(e.At), Level: level, Text: text, Key: e.Key, Host: e.Host, Method: e.Method}
}

func sentence(e riftrelay.ChangeEvent) (level, text string) {
	quota := func(n int) string {
		if n == 0 {
			return "none"
		}
		return limit.Quota{N: n, W: e.Window}.String()
	}
	switch e.Kind {
	case riftrelay.ChangeLimitLearned:
		return "info", fmt.Sprintf("Riot told the %s's limit: %s", e.Scope, quota(e.New))
	case riftrelay.ChangeLimitChanged:
		return "info", fmt.Sprintf("Riot changed the %s's limit from %s to %s", e.Scope, quota(e.Old), quota(e.New))
	case riftrelay.ChangeLimitReached:
		return "info", fmt.Sprintf("the %s's limit %s is reached, calls wait for it", e.Scope, quota(e.New))
	case riftrelay.ChangeCooldownBegan:
		return "warn", fmt.Sprintf("the %s is stopped for %.0f s after a 429 (%s)", e.Scope, e.Until.Sub(e.At).Seconds(), e.Cause)
	case riftrelay.ChangeCooldownEnded:
		return "info", fmt.Sprintf("the stop of the %s is over", e.Scope)
	case riftrelay.ChangeLimitsHalved:
		return "bad", fmt.Sprintf("too many 429s of our own making: the %s's limits are used by half", e.Scope)
	case riftrelay.ChangeLimitsRaised:
		return "info", fmt.Sprintf("the %s's limits are raised again", e.Scope)
	case riftrelay.ChangeKeySuspended:
		return "bad", fmt.Sprintf("Riot doesn't know the key (%d): it is suspended, only probes go on it", e.Status)
	case riftrelay.ChangeKeyReturned:
		return "info", "the key is good again"
	case riftrelay.ChangeKeyDisabled:
		return "warn", "the key is disabled"
	case riftrelay.ChangeKeyEnabled:
		return "info", "the key is enabled"
	case riftrelay.ChangeStoreAway:
		return "bad", fmt.Sprintf("the store can't be reached: %v", e.Err)
	case riftrelay.ChangeStoreElsewhere:
		return "warn", fmt.Sprintf("other relays use another part of the store, and share no limits with this one: %v", e.Err)
	case riftrelay.ChangeStoreBack:
		return "info", "the store is back"
	}
	return "info", strings.ReplaceAll(string(e.Kind), "_", " ")
}
