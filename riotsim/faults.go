package riotsim

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Fault makes calls go wrong. Key, Host and Method select calls; Skip, Times and Chance say how many
// of those; the rest says what happens. Everything combines: {Kind: Method, Hang: 5s} is a late 429.
//
// A call that the edge's own limits refuse is refused all the same; the fault then waits for another.
type Fault struct {
	Key    string // the key's value; "" = any
	Host   string // routing value; "" = any
	Method string // as Rule.Method; "" = any

	Skip   int     // let this many selected calls pass first
	Times  int     // how often it happens; 0 = until Edge.ClearFaults
	Chance float64 // for each selected call, 0…1; 0 = always

	Kind     Kind          // answer 429 of this kind, as if the limit were used up
	Status   int           // answer this status instead of what the call deserves; 0 = no change
	Gateway  bool          // the gateway's HTML error page (R3: not counted), with Status or 502
	Reset    bool          // break the connection instead of answering
	Hang     time.Duration // answer this much later (R21: once 60 s, then success)
	Truncate bool          // break off in the middle of the body
	SlowBody time.Duration // spread the body over this time
	Bare     bool          // no rate limit headers (R12)

	// Count says whether the call raises the counters. The zero value goes by R3: everything does but
	// a 429 of kind Server, the gateway's errors, 401 and 403.
	Count Count

	RetryAfter RetryAfter    // form of Retry-After; zero = as Config.RetryAfter
	Wait       time.Duration // what Retry-After says; 0 = 2 s, 3 s for Service, 5-21 s for Server, no header for Untyped; negative = no header

	Header http.Header // set on the answer last, replacing what is there; an empty list removes a header
	Body   []byte      // replaces the body; nil = no change
	Schema Schema      // of the error body for Status and 404
}

// Count overrules R3 for a Fault.
type Count uint8

const (
	CountAsSeen Count = iota // by R3
	CountYes                 // raise the counters
	CountNo                  // don't: the call broke before it got there
)

// counted tells whether a call with this fault raises counters (R3).
func (f *Fault) counted() bool {
	switch {
	case f == nil:
		return true
	case f.Count != CountAsSeen:
		return f.Count == CountYes
	default:
		return !(f.Kind == Server || f.Gateway || f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden)
	}
}

func (f *Fault) check() error {
	switch {
	case f.Chance < 0 || f.Chance > 1:
		return fmt.Errorf("fault: Chance %v: want 0 to 1, 0 = always", f.Chance)
	case f.Kind >= kinds:
		return fmt.Errorf("fault: Kind %d: want None to Untyped", f.Kind)
	case f.Status != 0 && (f.Status < 200 || f.Status > 999):
		return fmt.Errorf("fault: Status %d: want 200 to 999, 0 = no change", f.Status)
	case f.Kind != None && f.Status != 0 && f.Status != http.StatusTooManyRequests:
		return fmt.Errorf("fault: Kind %v with Status %d: a kind is always 429", f.Kind, f.Status)
	case f.Skip < 0 || f.Times < 0 || f.Hang < 0 || f.SlowBody < 0:
		return fmt.Errorf("fault: Skip %d, Times %d, Hang %v, SlowBody %v: none may be negative", f.Skip, f.Times, f.Hang, f.SlowBody)
	}
	return nil
}

// armed is an injected fault with what is left of it.
type armed struct {
	Fault
	skip, left int    // left < 0 = forever; 0 = gone
	stream     uint64 // of its chance
}

// Inject arms faults. The first armed fault that selects a call and wins its chance happens, so earlier ones go
// first. The error names the field, its value and what is allowed; nothing is armed then.
func (e *Edge) Inject(faults ...Fault) error {
	for _, f := range faults {
		if err := f.check(); err != nil {
			return err
		}
		if err := e.checkMethod(f.Method); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range faults {
		a := &armed{Fault: f, skip: f.Skip, left: f.Times, stream: streamFault + e.injected<<8}
		if f.Times == 0 {
			a.left = -1
		}
		e.faults = append(e.faults, a)
		e.injected++
	}
	return nil
}

// ClearFaults disarms all injected faults.
func (e *Edge) ClearFaults() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults, e.injected = nil, 0
}

// pickLocked returns the fault that strikes the call; nil = none.
func (e *Edge) pickLocked(call Call) *armed {
	if call.other {
		return nil
	}
	if e.cfg.Script != nil {
		if f := e.cfg.Script(call); f != nil {
			return &armed{Fault: *f, left: -1}
		}
	}
	for _, a := range e.faults {
		if a.Key != "" && a.Key != call.Key || a.Host != "" && a.Host != call.Host || !selectsMethod(a.Method, call.Method) {
			continue
		}
		if a.skip > 0 {
			a.skip--
			continue
		}
		if a.Chance > 0 && draw(e.cfg.Seed, a.stream, e.serial) >= a.Chance {
			continue
		}
		return a
	}
	return nil
}

// useLocked uses up one of a fault's times.
func (e *Edge) useLocked(a *armed) {
	if a.left--; a.left == 0 { // gone, so that a long script costs nothing once it is over
		e.faults = slices.DeleteFunc(e.faults, func(b *armed) bool { return a == b })
	}
}

// wait returns what Retry-After says for an injected 429; ok is false for no header.
func (f *Fault) wait(seed, n uint64) (wait time.Duration, ok bool) {
	switch {
	case f.Wait < 0:
		return 0, false
	case f.Wait > 0:
		return f.Wait, true
	}
	switch f.Kind {
	case Untyped: // R13
		return 0, false
	case Server: // R13: 5-21 s
		return time.Duration(5+int(draw(seed, streamWait, n)*17)) * time.Second, true
	case Service:
		return 3 * time.Second, true
	default:
		return 2 * time.Second, true
	}
}
