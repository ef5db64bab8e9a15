package riftrelay

import (
	"cmp"
	"slices"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/internal/window"
	"riftrelay/route"
)

// Snapshot is the state of a Limiter at one moment. It shares nothing with the
// Limiter.
type Snapshot struct {
	At       time.Time
	Margin   time.Duration // J in force, the largest of all hosts
	Pacing   float64       // share of each window that goes at once
	Queued   int           // calls waiting, all queues together
	InFlight int           // calls admitted and not yet answered
	Draining bool          // closed or about to be

	EndedTwice int // calls of Permit.Observe and Release, so far, of permits that had ended: a slip in a loop, which did nothing

	Store *StoreState // nil without a Config.Store

	HookPanics int // of Config.Hooks, contained

	Keys   []KeyState   // in the order of Config.Keys, and then those that calls brought along
	Scopes []ScopeState // sorted by host, method, key; application scopes first
	Queues []QueueState // queues that are in use, sorted by host, method, priority, budget
}

// KeyState is one key.
type KeyState struct {
	Name      string
	Group     string // empty for the default one
	PerCall   bool   // brought along by calls, see Options.Key
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
	Known    bool          // Riot's own headers have been seen; until then the limits are assumed, or none, and calls go one by one
	Halved   int           // how often its limits are halved, after too many violations: see Config.ViolationLimit
	InFlight int           // own calls admitted and not yet answered
	Cooldown time.Duration // left of a stop after a 429, of the method's also one for all keys; 0 when there is none
	Cause    LimitKind     // of the cool-down: the 429
	Windows  []WindowState // Riot's, by length, shortest first; none when Riot tells no limit
	Budgets  []BudgetState // of those whose calls came here, in the order of Config.Budgets
}

// BudgetState is what a budget uses of a scope.
type BudgetState struct {
	Name    string
	Windows []WindowState // with the budget's ceiling as Limit
}

// WindowState is one limit of a scope, {Limit: 100, Window: 120 s, Used: 40,
// Others: 3, InFlight: 2, ResetIn: 80 s}: of 40 calls that count now, 35 are our
// own and answered.
type WindowState struct {
	Limit    int           // calls that Riot allows in Window; used by half as many for each time the scope is Halved, and by one at least
	Window   time.Duration // its length
	Used     int           // calls that count now: own ones, be they in flight or answered, and those of others
	Others   int           // of Used, calls of others on the same key, as far as Riot's counts show them
	Peers    int           // of Used, calls of other replicas: see Config.Store
	InFlight int           // of Used, own calls admitted and not yet answered
	ResetIn  time.Duration // until all that counts now has expired, if nothing follows; 0 when nothing counts
}

// QueueState is the line of calls for one host, method, priority and budget.
type QueueState struct {
	Host     string
	Method   string // as route.Method.String
	Priority Priority
	Budget   string        // empty without one
	Depth    int           // calls that wait
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
	keys, names, endedTwice := l.keyStates(now), l.namesByID(), l.ended
	var store *StoreState
	if l.cluster != nil {
		store = l.cluster.state()
	}
	l.mu.Unlock()

	s := Snapshot{
		EndedTwice: endedTwice,
		Store:      store,
		HookPanics: int(l.hookPanics.Load()),
		At:         at, Margin: m.Margin, Pacing: m.Burst, Queued: m.Queued, InFlight: m.InFlight, Draining: m.Draining,
		Keys: keys,
	}
	s.Scopes = l.scopeStates(m.Scopes, names)
	queues := make([]QueueState, len(m.Queues))
	for i, q := range m.Queues {
		queues[i] = queueState(q, nameOf(q.Why.Key, names), now)
		queues[i].Budget = l.budgetName(q.Budget)
		if queues[i].Why.Kind == WaitBudget {
			queues[i].Why.Budget = queues[i].Budget
		}
	}
	s.Queues = mergeLanes(queues)
	return s
}

// Limits is the part of Snapshot that the calls of a route are charged on: of
// each key the application's scope on the host, then those of the method. It
// costs as much as these scopes do, be there ever so many others. What nobody
// has called yet has no scope.
func (l *Limiter) Limits(r route.Route) []ScopeState {
	if r.Method == nil {
		return nil
	}
	l.mu.Lock()
	scopes := l.machine.ScopesOf(l.now(), r.Host, r.Method.String(), r.Method.Auth == route.AuthRSO)
	names := l.namesByID()
	l.mu.Unlock()
	return l.scopeStates(scopes, names)
}

// scopeStates puts scopes in words of the library, sorted; those of removed
// keys are left out.
func (l *Limiter) scopeStates(scopes []sched.ScopeState, names []string) []ScopeState {
	states := make([]ScopeState, 0, len(scopes))
	for _, scope := range scopes {
		name := nameOf(scope.Key, names)
		if scope.Key >= 0 && name == "" {
			continue
		}
		st := ScopeState{
			Key: name, Host: scope.Host, Method: scope.Method, Known: scope.Known, Halved: scope.Halved, InFlight: scope.InFlight,
			Cooldown: scope.Cooldown, Cause: limitKind(scope.Cause), Windows: windows(scope.Windows, scope.InFlight),
		}
		if scope.Service > st.Cooldown {
			st.Cooldown, st.Cause = scope.Service, limitKind(scope.ServiceCause)
		}
		for _, b := range scope.Budgets {
			if scope.Method == "" && !l.budgets.isWhole(b.Budget) {
				continue // its calls are in the budget's
			}
			st.Budgets = append(st.Budgets, BudgetState{Name: l.budgetName(b.Budget), Windows: windows(b.Windows, scope.InFlight)})
		}
		states = append(states, st)
	}
	slices.SortFunc(states, func(a, b ScopeState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Key, b.Key))
	})
	return states
}

func nameOf(id int, names []string) string {
	if id < 0 {
		return ""
	}
	return names[id]
}

// windows returns windows of a scope with so many calls in flight.
func windows(list []window.WindowState, inFlight int) []WindowState {
	states := make([]WindowState, len(list))
	for i, w := range list {
		states[i] = WindowState{Limit: w.N, Window: w.W, Used: w.Used, Others: w.Others, Peers: w.Peers, InFlight: min(inFlight, w.Used-w.Others), ResetIn: w.ResetIn}
	}
	return states
}

func queueState(q sched.QueueState, key string, now limit.Instant) QueueState {
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

// mergeLanes sums the lanes that differ in their key or pacing alone. What is
// told of the head is that of the one that has waited longest.
func mergeLanes(queues []QueueState) []QueueState {
	slices.SortFunc(queues, func(a, b QueueState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Budget, b.Budget), cmp.Compare(b.Oldest, a.Oldest))
	})
	merged := queues[:0]
	for _, q := range queues {
		if n := len(merged); n > 0 && merged[n-1].Host == q.Host && merged[n-1].Method == q.Method && merged[n-1].Priority == q.Priority && merged[n-1].Budget == q.Budget {
			merged[n-1].Depth += q.Depth
			continue
		}
		merged = append(merged, q)
	}
	return merged
}
