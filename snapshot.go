package riftrelay

import (
	"cmp"
	"slices"
	"time"

	"riftrelay/admit"
	"riftrelay/limit"
)

// Snapshot is the state of a Limiter at one moment. It shares nothing with the
// Limiter.
type Snapshot struct {
	At       time.Time
	Margin   time.Duration // J in force, the largest of all hosts
	Pacing   float64       // burst share in force
	Queued   int           // calls waiting, all queues together
	InFlight int           // calls admitted and not yet answered
	Draining bool          // closed or about to be

	HookPanics int    // of Config.Hooks, contained
	HookPanic  string // the latest of them, as "Change: index out of range"; empty while there was none

	Keys   []KeyState   // in the order of Config.Keys
	Scopes []ScopeState // sorted by host, method, key; application scopes first
	Queues []QueueState // queues that are in use, sorted by host, method, priority
}

// KeyState is one key.
type KeyState struct {
	Name      string
	Group     string // empty for the default one
	Usable    bool   // State is KeyUsable
	State     KeyCondition
	NextProbe time.Duration // of a suspect key: until the next call on it; 0 while one is under way
	Reasons   []string      // the latest two answers that speak against it, as "401 Unknown apikey 12 s ago", and "disabled 3 min ago"
}

// KeyCondition says how a key is.
type KeyCondition string

// The conditions.
const (
	KeyUsable   KeyCondition = "usable"
	KeySuspect  KeyCondition = "suspect"  // Riot doesn't know it: only probes go on it
	KeyDisabled KeyCondition = "disabled" // by DisableKey: nothing goes on it
)

// ScopeState is one scope of limits: an application's (key + host) or a
// method's (key + host + method).
type ScopeState struct {
	Key      string // name; empty for the calls without a key (RSO)
	Host     string
	Method   string        // as route.Method.String; empty for the application's scope
	Known    bool          // Riot's own headers have been seen
	Halved   int           // how often its limits are halved, after too many violations: see Config.ViolationLimit
	InFlight int           // calls admitted and not yet answered
	Cooldown time.Duration // left of a stop after a 429; 0 when there is none
	Cause    limit.Kind    // of the cool-down
	Windows  []WindowState // by length, shortest first
}

// WindowState is one limit of a scope: Limit calls in Window.
type WindowState struct {
	Limit    int
	Window   time.Duration
	Used     int           // charges that count now: own, others' and in flight
	Others   int           // of those, calls of others on the same key
	InFlight int           // of those, own calls not yet answered
	ResetIn  time.Duration // until all present charges have expired
}

// QueueState is the line of calls for one host, method and priority.
type QueueState struct {
	Host     string
	Method   string // as route.Method.String
	Priority Priority
	Depth    int
	Oldest   time.Duration // how long the head has waited
	Start    time.Duration // until the head is predicted to go; Unknown when it hangs on calls under way
	Why      Wait          // what the head waits for; no Kind when more queues wait than are explained
}

// Snapshot describes the state at this moment: limits, what is used of them,
// and what waits.
func (l *Limiter) Snapshot() Snapshot {
	l.mu.Lock()
	at, now := time.Now(), l.now()
	m := l.machine.State(now)
	keys, names := l.keyStates(now), l.namesByID()
	l.mu.Unlock()

	s := Snapshot{
		HookPanics: int(l.hookPanics.Load()),
		At:         at, Margin: m.Margin, Pacing: m.Burst, Queued: m.Queued, InFlight: m.InFlight, Draining: m.Draining,
		Keys:   keys,
		Scopes: make([]ScopeState, 0, len(m.Scopes)),
	}
	if said := l.hookPanic.Load(); said != nil {
		s.HookPanic = *said
	}
	name := func(id int) string {
		if id < 0 {
			return ""
		}
		return names[id]
	}
	for _, scope := range m.Scopes {
		if scope.Key >= 0 && name(scope.Key) == "" {
			continue // of a key that was removed
		}
		st := ScopeState{
			Key: name(scope.Key), Host: scope.Host, Method: scope.Method, Known: scope.Known, Halved: scope.Halved, InFlight: scope.InFlight,
			Cooldown: scope.Cooldown, Cause: scope.Cause, Windows: make([]WindowState, len(scope.Windows)),
		}
		if scope.Service > st.Cooldown {
			st.Cooldown, st.Cause = scope.Service, scope.ServiceCause
		}
		for j, w := range scope.Windows {
			st.Windows[j] = WindowState{
				Limit: w.N, Window: w.W, Used: w.Used, Others: w.Others, InFlight: min(scope.InFlight, w.Used-w.Others), ResetIn: w.ResetIn,
			}
		}
		s.Scopes = append(s.Scopes, st)
	}
	slices.SortFunc(s.Scopes, func(a, b ScopeState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Key, b.Key))
	})
	queues := make([]QueueState, len(m.Queues))
	for i, q := range m.Queues {
		queues[i] = queueState(q, name(q.Why.Key), now)
	}
	s.Queues = mergeLanes(queues)
	return s
}

func queueState(q admit.QueueState, key string, now limit.Instant) QueueState {
	s := QueueState{Host: q.Host, Method: q.Method, Depth: q.Depth, Oldest: q.Oldest, Start: Unknown}
	if q.High {
		s.Priority = High
	}
	if q.Explained {
		s.Why = waitOf(q.Why, key, now)
	}
	if q.Why.Start < limit.Never {
		s.Start = max(0, q.Why.Start.Sub(now))
	}
	return s
}

// mergeLanes sums the lanes that differ in their key alone. What is told of the
// head is that of the one that has waited longest.
func mergeLanes(queues []QueueState) []QueueState {
	slices.SortFunc(queues, func(a, b QueueState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Oldest, a.Oldest))
	})
	merged := queues[:0]
	for _, q := range queues {
		if n := len(merged); n > 0 && merged[n-1].Host == q.Host && merged[n-1].Method == q.Method && merged[n-1].Priority == q.Priority {
			merged[n-1].Depth += q.Depth
			continue
		}
		merged = append(merged, q)
	}
	return merged
}
