package riftrelay

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// StateInterval is the longest time between two calls of SaveState that a
// restart allows for: what was let go later than that after the last one, by a
// process that ended without another, is not known to its successor.
const StateInterval = 5 * time.Second

// ErrState is what LoadState's errors match that mean: these bytes are not
// what SaveState wrote.
var ErrState = errors.New("damaged state")

const (
	stateVersion = 1
	maxState     = 64 << 20 // bytes; far beyond what all of Riot's hosts and methods need
)

// savedState is the file. Lengths of time are nanoseconds.
type savedState struct {
	Version  int                `json:"version"`
	SavedAt  time.Time          `json:"saved_at"`
	Final    bool               `json:"final"` // nothing was let go after it
	Suspects []savedSuspect     `json:"suspects,omitempty"`
	Disabled []savedDisabled    `json:"disabled,omitempty"`
	Refusals []savedRefusal     `json:"refusals,omitempty"`
	Hosts    []sched.SavedHost  `json:"hosts"`
	Scopes   []savedScope       `json:"scopes"`
	Services []sched.SavedScope `json:"services"`
}

type savedScope struct {
	Key     string `json:"key,omitempty"`      // see kid; empty for calls without a key
	PerCall bool   `json:"per_call,omitempty"` // brought along, see Options.Key
	sched.SavedScope
}

// savedDisabled is a key that DisableKey was called for.
type savedDisabled struct {
	Key string        `json:"key"`
	Age time.Duration `json:"age"`
}

// savedRefusal is a key that answered 403 for a method.
type savedRefusal struct {
	Key string `json:"key"`
	sched.SavedRefusal
}

// savedSuspect is a key that Riot doesn't know, by its last answer.
type savedSuspect struct {
	Key    string        `json:"key"`
	Status int           `json:"status"`
	Method string        `json:"method"`
	Age    time.Duration `json:"age"`
}

func (s savedSuspect) valid() bool {
	return s.Status >= 400 && s.Status < 500 && len(s.Method) <= 256 && s.Age >= 0
}

// suspectsLocked lists the keys under suspicion, by their ids in the machine.
// l.mu is held.
func (l *Limiter) suspectsLocked(now limit.Instant) map[int]savedSuspect {
	found := map[int]savedSuspect{}
	for _, id := range l.ids {
		h := l.machine.KeyHealth(id)
		if n := len(h.Reasons); h.Suspect && n > 0 {
			last := h.Reasons[n-1]
			found[id] = savedSuspect{Status: last.Status, Method: last.API, Age: now.Sub(last.At)}
		}
	}
	return found
}

// disabledLocked lists the disabled keys, by their ids in the machine, also
// those not in use now: they may come back. l.mu is held.
func (l *Limiter) disabledLocked(now limit.Instant) map[int]savedDisabled {
	found := map[int]savedDisabled{}
	for id := range l.held {
		if h := l.machine.KeyHealth(id); h.Disabled {
			found[id] = savedDisabled{Age: max(0, now.Sub(h.Since))}
		}
	}
	return found
}

const kidLength = 16

// kid names a key in files without giving it away, and stays the same when the
// key's name or place changes.
func kid(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("riftrelay/kid/1"))
	return hex.EncodeToString(mac.Sum(nil))[:kidLength]
}

// SaveState writes what a successor of this Limiter needs to know so as not to
// exceed a limit: charges, limits, stops, tripped breakers, J, and how the keys
// are. It contains no key. Call it every StateInterval and once more after Close. Its
// error is that of w.
func (l *Limiter) SaveState(w io.Writer) error {
	l.mu.Lock()
	at, final := time.Now(), l.closed
	now := l.now()
	m, suspects, disabled := l.machine.Save(now), l.suspectsLocked(now), l.disabledLocked(now)
	keys := l.held // never written to: SetKeys makes another
	perCall := make([]bool, len(keys))
	for _, k := range l.own.byValue {
		perCall[k.id] = true
	}
	l.mu.Unlock()

	kids := kidsOf(keys)
	v := savedState{
		Version: stateVersion, SavedAt: at.UTC().Round(0), Final: final,
		Hosts: m.Hosts, Scopes: make([]savedScope, 0, len(m.Scopes)), Services: m.Services,
	}
	for _, s := range m.Scopes {
		named := savedScope{SavedScope: s}
		if !s.Keyless {
			named.Key, named.PerCall = kids[s.Key], perCall[s.Key]
		}
		v.Scopes = append(v.Scopes, named)
	}
	for id, s := range suspects {
		s.Key = kids[id]
		v.Suspects = append(v.Suspects, s)
	}
	for id, s := range disabled {
		s.Key = kids[id]
		v.Disabled = append(v.Disabled, s)
	}
	for _, s := range m.Refusals {
		v.Refusals = append(v.Refusals, savedRefusal{kids[s.Key], s})
	}
	slices.SortFunc(v.Disabled, func(a, b savedDisabled) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(v.Suspects, func(a, b savedSuspect) int { return cmp.Compare(a.Key, b.Key) })
	return json.NewEncoder(w).Encode(v)
}

func kidsOf(keys []*held) []string {
	kids := make([]string, len(keys))
	for i, k := range keys {
		kids[i] = k.kid
	}
	return kids
}

// Restored tells what LoadState took over: of 12 scopes that were saved a
// minute ago, the 8 whose keys are still in use.
type Restored struct {
	Age    time.Duration // since the saving; 0 if that lies in the future
	Saved  int           // scopes in the state
	Scopes int           // of those, taken over
}

// LoadState takes over what SaveState wrote, before the first call. It is
// judged by its age, by the wall clock: see docs/operations.md. What belongs to
// keys that the Limiter doesn't have is left out. An error matches ErrState, or
// is that of r; nothing has changed then.
func (l *Limiter) LoadState(r io.Reader) (Restored, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxState+1))
	if err != nil {
		return Restored{}, fmt.Errorf("riftrelay: state: %w", err)
	}
	if len(data) > maxState {
		return Restored{}, fmt.Errorf("riftrelay: %w: it has more than %d bytes", ErrState, maxState)
	}
	var v savedState
	if err := json.Unmarshal(data, &v); err != nil {
		return Restored{}, fmt.Errorf("riftrelay: %w: %w", ErrState, err)
	}
	if v.Version != stateVersion {
		return Restored{}, fmt.Errorf("riftrelay: %w: its version is %d; allowed: %d", ErrState, v.Version, stateVersion)
	}

	l.mu.Lock()
	defer l.unlock()
	places := make(map[string]int, len(l.held))
	for i, k := range kidsOf(l.held) {
		places[k] = i
	}
	m := sched.Saved{Hosts: v.Hosts, Services: v.Services}
	for _, s := range v.Scopes {
		place, known := places[s.Key]
		if s.Keyless {
			place, known = -1, true
		}
		if s.SavedScope.Key = place; !known {
			s.SavedScope.Key = unknownKey
		}
		m.Scopes = append(m.Scopes, s.SavedScope)
	}
	for _, s := range v.Refusals {
		if place, known := places[s.Key]; known {
			s.SavedRefusal.Key = place
			m.Refusals = append(m.Refusals, s.SavedRefusal)
		}
	}
	damaged := slices.ContainsFunc(v.Suspects, func(s savedSuspect) bool { return !s.valid() }) ||
		slices.ContainsFunc(v.Disabled, func(s savedDisabled) bool { return s.Age < 0 })
	if damaged || !m.Valid() {
		return Restored{}, fmt.Errorf("riftrelay: %w: a value in it is out of bounds", ErrState)
	}
	gap := sched.Gap{Elapsed: max(0, time.Now().Round(0).Sub(v.SavedAt)), Unsaved: StateInterval}
	if v.Final {
		gap.Unsaved = 0
	}
	now := l.now()
	l.restoreCallKeys(now, v.Scopes, m.Scopes)
	ago := func(age time.Duration) limit.Instant { return now.Add(-min(age, gapMost) - min(gap.Elapsed, gapMost)) }
	for _, s := range v.Disabled { // whatever its age: somebody wanted it so
		if id, found := places[s.Key]; found && !l.cluster.overrules(s.Key) {
			l.machine.Disable(now, id, ago(s.Age))
		}
	}
	scopes := l.machine.Restore(now, m, gap)
	for _, s := range v.Suspects {
		if id, found := places[s.Key]; found && slices.Contains(l.ids, id) {
			l.machine.Suspect(now, id, s.Status) // as if the answer came now: a probe tells in a second
		}
	}
	return Restored{Age: gap.Elapsed, Saved: len(v.Scopes), Scopes: scopes}, nil
}

// gapMost keeps times in bounds: what is older is as good as that old.
const gapMost = 365 * 24 * time.Hour

// unknownKey is a place that no key has.
const unknownKey = 1 << 30
