package riotsim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"riftrelay/route"
)

// Edge is a simulated Riot edge. It is safe for concurrent use; see Config for what it does and
// Report for what it saw.
type Edge struct {
	cfg   Config
	table func() *route.Table // built when first needed: Arrive alone never needs it
	lat   atomic.Pointer[Latency]
	tries atomic.Uint64 // requests that set out, for Latency
	body  bodies
	life  life

	mu       sync.Mutex // guards all below
	count    counters
	faults   []*armed
	injected uint64             // faults so far
	limits   map[string][]Limit // of cfg.Keys
	keys     map[string]int     // statuses set by SetKey
	serial   uint64             // arrivals so far
	base     time.Time          // of the first arrival
	first    int64              // the same in nanoseconds since 1970
	last     int64              // of the latest arrival
	totals   Totals
	over     []excess // the first windows that were overfull
	log      kept[Arrival]
	raw      kept[Request]
}

// Call is one call as the edge counts it.
type Call struct {
	Key    string        // value of X-Riot-Token; ignored for RSO methods (R5)
	Host   string        // routing value, "euw1"
	Method *route.Method // nil = a path that doesn't exist; may be from any route.Table

	status int    // what the service behind answers; 0 = 200
	word   string // the message of that answer, if it is an error
	barred bool   // an RSO method without a bearer token
	other  bool   // made by another program with the same key
}

// New builds an edge. The error names every wrong setting, its value and what is allowed.
func New(cfg Config) (*Edge, error) {
	e := &Edge{cfg: cfg, keys: map[string]int{}, limits: map[string][]Limit{}}
	e.table = sync.OnceValue(func() *route.Table {
		if cfg.Table != nil {
			return cfg.Table
		}
		return route.Default()
	})
	if cfg.Order > Shuffled || cfg.Counts > NoCounts || cfg.RetryAfter > RetryGarbage || cfg.Windows > Aligned || cfg.Body > Tiny {
		return nil, fmt.Errorf("riotsim: Windows %d, Order %d, Counts %d, RetryAfter %d, Body %d: one is no constant of its type",
			cfg.Windows, cfg.Order, cfg.Counts, cfg.RetryAfter, cfg.Body)
	}
	errs := []error{e.Inject(cfg.Faults...)}
	for key, text := range cfg.Keys {
		if text == "" {
			text = Development
		}
		limits, err := parseLimits(text)
		e.limits[key] = limits
		errs = append(errs, err)
	}
	usual, _ := parseLimits(Development)
	parse := func(list []Rule) rules {
		rs, err := parseRules(list)
		errs = append(errs, err)
		for _, r := range list {
			errs = append(errs, e.checkMethod(r.Method))
		}
		return rs
	}
	e.count = counters{
		kind: cfg.Windows, watch: cfg.Intervals, shared: cfg.Shared, scopes: map[scopeID]*scope{},
		keyLimit: func(key string) []Limit {
			if limits, ok := e.limits[key]; ok {
				return limits
			}
			return usual
		},
		app: parse(cfg.AppLimits), svc: parse(cfg.ServiceLimits),
	}
	methods := parse(cfg.MethodLimits)
	seen, err := parseRules(seenMethodLimits())
	if err != nil {
		panic("BUG: riotsim: " + err.Error())
	}
	e.count.method = slices.Concat(seen, methods)
	for _, s := range cfg.Shared {
		errs = append(errs, e.checkMethod(s.Method))
		if len(s.Hosts) < 2 {
			errs = append(errs, fmt.Errorf("shared budget of %q: %d hosts: want at least 2", s.Method, len(s.Hosts)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("riotsim: %w", err)
	}
	e.log.max, e.raw.max = cfg.Arrivals, cfg.Requests
	e.body.init(&e.cfg)
	e.SetLatency(cfg.Latency)
	return e, nil
}

// Arrive counts one call that arrives at now and returns the answer: the whole edge without HTTP,
// latency or a clock. A now before that of the latest arrival counts as the same moment.
func (e *Edge) Arrive(now time.Time, call Call) Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.arriveLocked(now, call)
}

func (e *Edge) arriveLocked(now time.Time, call Call) (a Answer) {
	at := e.instantLocked(now)
	if e.serial == 0 {
		e.first = at
	}
	e.last = at
	e.serial++
	defer func() { e.noteLocked(at, call, &a) }()

	if status, word := e.gateLocked(call); status != 0 {
		e.totals.Refused++
		return Answer{Status: status, word: word}
	}
	var fault *Fault
	picked := e.pickLocked(call)
	if picked != nil {
		fault = &picked.Fault
	}
	a.Status, a.word = http.StatusOK, call.word
	if call.status != 0 {
		a.Status = call.status
	}
	if a.Counted = fault.counted(); a.Counted {
		t := e.count.count(at, call)
		if t.refused != None {
			a.refuse(t.refused)
			a.Own = t.refused != Service && !call.other
			a.Wait = time.Duration(t.wait)
			a.RetryAfter = retryAfter(e.cfg.RetryAfter, now, a.Wait)
			e.headers(&a, &t)
			if a.Own {
				e.exceedLocked(at, t.full())
			}
			return a
		}
		if a.Accepted = fault == nil || fault.Kind == None; a.Accepted {
			t.accept()
		}
		if fault == nil || !fault.Bare {
			e.headers(&a, &t)
		}
	}
	if fault != nil {
		e.useLocked(picked)
		e.applyLocked(&a, *fault, now)
	}
	return a
}

// gateLocked answers what never gets as far as the counters (R3, R18); status 0 = pass.
func (e *Edge) gateLocked(call Call) (status int, word string) {
	rso := call.Method != nil && call.Method.Auth == route.AuthRSO
	if !rso {
		_, known := e.limits[call.Key]
		status, set := e.keys[call.Key]
		switch {
		case set && status == http.StatusForbidden:
			return status, "Forbidden"
		case set && status == http.StatusBadRequest:
			return status, "unknown apikey"
		case set && status != http.StatusOK:
			return status, "Unknown apikey"
		case !set && (call.Key == "" || e.cfg.Keys != nil && !known):
			return http.StatusUnauthorized, "Unknown apikey"
		}
	}
	if call.Method == nil { // R18: a wrong path or host looks like a forbidden one
		e.totals.Nowhere++
		return http.StatusForbidden, "Forbidden"
	}
	if call.barred {
		return http.StatusUnauthorized, "Unauthorized"
	}
	return 0, ""
}

func (a *Answer) refuse(k Kind) {
	a.Status, a.Kind, a.word = http.StatusTooManyRequests, k, "Rate limit exceeded"
	switch k {
	case Service:
		a.word = "Service rate limit exceeded"
	case Server:
		a.word = "server rate limit exceeded"
	}
}

// applyLocked lets a fault change the answer of a call that no limit refused.
func (e *Edge) applyLocked(a *Answer, f Fault, now time.Time) {
	a.fault = &f
	a.Hang = f.Hang
	switch {
	case f.Reset:
		*a = Answer{Counted: a.Counted, Accepted: a.Accepted, Hang: f.Hang, fault: &f}
		e.totals.Resets++
	case f.Kind != None:
		a.refuse(f.Kind)
		if wait, ok := f.wait(e.cfg.Seed, e.serial); ok {
			form := f.RetryAfter
			if form == RetryExact {
				form = e.cfg.RetryAfter
			}
			a.Wait, a.RetryAfter = wait, retryAfter(form, now, wait)
		}
	case f.Gateway:
		a.Status, a.word = http.StatusBadGateway, ""
		a.AppLimit, a.AppCount, a.MethodLimit, a.MethodCount = "", "", "", "" // R3
		if f.Status != 0 {
			a.Status = f.Status
		}
	case f.Status != 0:
		a.Status, a.word = f.Status, wordFor(f.Status)
	}
}

// instantLocked turns now into nanoseconds since 1970 that never decrease. Differences of times are
// taken on the monotonic clock where now has one: setting the wall clock moves no window.
func (e *Edge) instantLocked(now time.Time) int64 {
	if e.base.IsZero() {
		e.base = now
	}
	return max(e.last, e.base.UnixNano()+int64(now.Sub(e.base)))
}

// SetKey changes what a key is worth, now: 200 makes it known, 401 unknown or expired ("Unknown
// apikey"), 400 the same in the other form seen, 403 forbidden everywhere (R18). Other statuses
// are answered as 401 is, without being counted.
func (e *Edge) SetKey(key string, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys[key] = status
}

// SetAppLimit changes the application limit of a key on a host from now on; "" = every key, every host.
// Windows of unchanged length keep their counts. The error says what a limit looks like.
func (e *Edge) SetAppLimit(key, host, limit string) error {
	return e.set(Application, &e.count.app, Rule{key, host, "", limit})
}

// SetMethodLimit changes the limit of a method (see Rule.Method) as SetAppLimit does the application's.
func (e *Edge) SetMethodLimit(key, host, method, limit string) error {
	return e.set(Method, &e.count.method, Rule{key, host, method, limit})
}

// SetServiceLimit sets the limit that all keys share for a method on a host (R4).
func (e *Edge) SetServiceLimit(host, method, limit string) error {
	return e.set(Service, &e.count.svc, Rule{"", host, method, limit})
}

func (e *Edge) set(kind Kind, to *rules, r Rule) error {
	if err := e.checkMethod(r.Method); err != nil {
		return fmt.Errorf("riotsim: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := to.add(r); err != nil {
		return fmt.Errorf("riotsim: %w", err)
	}
	e.count.refresh(kind, e.last)
	return nil
}

// SetLatency changes the latency of requests that set out from now on.
func (e *Edge) SetLatency(l Latency) { e.lat.Store(&l) }
