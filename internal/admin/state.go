package admin

import (
	"math"
	"time"

	"riftrelay"
)

// Seconds is a length of time in seconds, to the microsecond.
type Seconds float64

func seconds(d time.Duration) Seconds { return Seconds(math.Round(d.Seconds()*1e6) / 1e6) }

// known is seconds, or nil for a time that nobody can tell.
func known(d time.Duration) *Seconds {
	if d < 0 {
		return nil
	}
	s := seconds(d)
	return &s
}

// duration is the way back.
func (s Seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// State is the answer to /api/v1/state: riftrelay.Snapshot and the clients, for
// machines.
type State struct {
	At       time.Time `json:"at"`
	Margin   Seconds   `json:"margin_seconds"` // J in force, the largest of all hosts
	Pacing   float64   `json:"pacing"`         // burst share: 0 = spread, 1 = burst
	Queued   int       `json:"queued"`
	InFlight int       `json:"in_flight"`
	Draining bool      `json:"draining"`
	Store    *Store    `json:"store"` // null without STORE_URL
	Keys     []Key     `json:"keys"`
	Scopes   []Scope   `json:"scopes"`
	Queues   []Queue   `json:"queues"`
	Clients  []Client  `json:"clients"` // by name; none without CLIENT_TOKENS

	Connections []Connections `json:"connections"` // of clients, by listener
}

// Key is one key, by its name.
type Key struct {
	Name      string   `json:"name"`
	Group     string   `json:"group"` // empty for the default one
	Usable    bool     `json:"usable"`
	State     string   `json:"state"`              // usable, suspect or disabled
	NextProbe Seconds  `json:"next_probe_seconds"` // of a suspect key; 0 while one is under way
	Reasons   []string `json:"reasons"`            // what speaks against it, the latest last
}

// Scope is what Riot counts together.
type Scope struct {
	Key      string   `json:"key"` // empty for calls without a key (RSO)
	Host     string   `json:"host"`
	Method   string   `json:"method"` // empty for the application's scope
	Known    bool     `json:"known"`  // Riot's own headers have been seen
	Halved   int      `json:"halved"` // how often its limits are halved, after too many violations
	InFlight int      `json:"in_flight"`
	Cooldown Seconds  `json:"cooldown_seconds"` // left of a stop after a 429
	Cause    string   `json:"cooldown_cause"`   // kind of that 429; empty without a stop
	Windows  []Window `json:"windows"`          // Riot's, shortest first
	Budgets  []Budget `json:"budgets"`          // of those whose calls came here
}

// Budget is what a budget uses of a scope, with its ceiling as the limit.
type Budget struct {
	Name    string   `json:"name"`
	Windows []Window `json:"windows"`
}

// Window is one limit.
type Window struct {
	Limit    int     `json:"limit"`
	Window   Seconds `json:"window_seconds"`
	Used     int     `json:"used"` // ours, other replicas' and others'
	Ours     int     `json:"ours"`
	Peers    int     `json:"peers"` // of other replicas
	Others   int     `json:"others"`
	InFlight int     `json:"in_flight"` // of ours
	Reset    Seconds `json:"reset_seconds"`
}

// Queue is what waits for one method at one priority.
type Queue struct {
	Host     string   `json:"host"`
	Method   string   `json:"method"`
	Priority string   `json:"priority"`
	Budget   string   `json:"budget"` // empty without one
	Depth    int      `json:"depth"`
	Oldest   Seconds  `json:"oldest_seconds"` // how long the head has waited
	Start    *Seconds `json:"start_seconds"`  // until the head is predicted to go
	Why      *Why     `json:"why"`            // what the head waits for; null when more queues wait than are explained
}

// Why is what a call waits for. Text says it in a sentence.
type Why struct {
	Kind   string   `json:"kind"` // window, pacing, cooldown, synchronising, service, others, budget, no_key, replicas or turn
	Key    string   `json:"key"`
	Scope  string   `json:"scope"`  // application, method or service
	Budget string   `json:"budget"` // of kind budget
	Limit  int      `json:"limit"`
	Window Seconds  `json:"window_seconds"`
	Used   int      `json:"used"`
	Others int      `json:"others"`
	Cause  string   `json:"cause"`
	Until  *Seconds `json:"until_seconds"`
	Text   string   `json:"text"`
}

func stateOf(s riftrelay.Snapshot) *State {
	v := &State{
		At: s.At.UTC(), Margin: seconds(s.Margin), Pacing: s.Pacing, Queued: s.Queued, InFlight: s.InFlight, Draining: s.Draining,
		Keys: make([]Key, len(s.Keys)), Scopes: make([]Scope, len(s.Scopes)), Queues: make([]Queue, len(s.Queues)),
	}
	if st := s.Store; st != nil {
		v.Store = &Store{Replica: st.Replica, Replicas: st.Replicas, Trip: seconds(st.Trip), Away: st.Away, For: seconds(st.For), Alone: st.Alone, Elsewhere: st.Elsewhere}
	}
	for i, k := range s.Keys {
		v.Keys[i] = keyOf(k)
	}
	for i, sc := range s.Scopes {
		o := Scope{
			Key: sc.Key, Host: sc.Host, Method: sc.Method, Known: sc.Known, Halved: sc.Halved, InFlight: sc.InFlight,
			Cooldown: seconds(sc.Cooldown), Cause: string(sc.Cause), Windows: windowsOf(sc.Windows), Budgets: make([]Budget, len(sc.Budgets)),
		}
		for j, b := range sc.Budgets {
			o.Budgets[j] = Budget{Name: b.Name, Windows: windowsOf(b.Windows)}
		}
		v.Scopes[i] = o
	}
	for i, q := range s.Queues {
		v.Queues[i] = Queue{
			Host: q.Host, Method: q.Method, Priority: q.Priority.String(), Budget: q.Budget, Depth: q.Depth,
			Oldest: seconds(q.Oldest), Start: known(q.Start), Why: whyOf(q.Why),
		}
	}
	return v
}

func windowsOf(list []riftrelay.WindowState) []Window {
	windows := make([]Window, len(list))
	for i, w := range list {
		windows[i] = Window{
			Limit: w.Limit, Window: seconds(w.Window), Used: w.Used, Ours: w.Used - w.Others - w.Peers, Peers: w.Peers, Others: w.Others,
			InFlight: w.InFlight, Reset: seconds(w.ResetIn),
		}
	}
	return windows
}

func keyOf(k riftrelay.KeyState) Key {
	return Key{
		Name: k.Name, Group: k.Group, Usable: k.Usable, State: string(k.State),
		NextProbe: seconds(k.NextProbe), Reasons: append([]string{}, k.Reasons...),
	}
}

func whyOf(w riftrelay.Wait) *Why {
	if w.Kind == "" {
		return nil
	}
	return &Why{
		Kind: string(w.Kind), Key: w.Key, Scope: w.Scope, Budget: w.Budget, Limit: w.Limit, Window: seconds(w.Window), Used: w.Used, Others: w.Others,
		Cause: string(w.Cause), Until: known(w.Until), Text: w.String(),
	}
}
