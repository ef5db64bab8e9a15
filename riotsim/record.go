package riotsim

import (
	"net/http"
	"slices"
	"time"

	"riftrelay/route"
)

// Arrival is one call in the log that Config.Arrivals keeps.
type Arrival struct {
	Time     time.Time
	Key      string // as sent, also if unknown
	Host     string
	Method   *route.Method // nil = a path that doesn't exist
	Status   int           // of the answer; 0 = reset
	Kind     Kind          // of a 429
	Counted  bool
	Accepted bool
	Other    bool // made by another program, see TestServer.UseElsewhere
}

// Request is a request as it came in, kept by Config.Requests.
type Request struct {
	Time   time.Time // when it arrived, or when it broke off
	Method string    // "GET"
	Host   string    // the Host header
	URI    string    // path and query, byte for byte as in the request line
	Proto  string    // "HTTP/1.1"
	Header http.Header
	Body   []byte // the first 64 KiB
	Length int64  // of the whole body, in bytes
}

// kept holds the latest max values; max < 0 = all, 0 = none.
type kept[T any] struct {
	max  int
	buf  []T
	next int // where the oldest is, once the buffer is full
}

func (k *kept[T]) add(v T) {
	switch {
	case k.max == 0:
	case k.max < 0 || len(k.buf) < k.max:
		k.buf = append(k.buf, v)
	default:
		k.buf[k.next] = v
		k.next = (k.next + 1) % k.max
	}
}

func (k *kept[T]) all() []T {
	return slices.Concat(k.buf[k.next:], k.buf[:k.next])
}

// noteLocked writes a decided call into the totals and the log.
func (e *Edge) noteLocked(at int64, call Call, a *Answer) {
	if e.log.max != 0 {
		e.log.add(Arrival{e.timeOf(at), call.Key, call.Host, call.Method, a.Status, a.Kind, a.Counted, a.Accepted, call.other})
	}
	t := &e.totals
	if call.other {
		t.Others++
		return
	}
	t.Arrived++
	if t.Statuses == nil {
		t.Statuses = map[int]int{}
	}
	t.Statuses[a.Status]++
	if a.Counted {
		t.Counted++
	}
	if a.Accepted {
		t.Accepted++
	}
	if a.Kind != None {
		t.Rejected.add(a.Kind)
		if a.Own {
			t.Violations++
		}
		if a.fault != nil {
			t.Injected++
		}
	}
}

// Arrivals returns the log, oldest first.
func (e *Edge) Arrivals() []Arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log.all()
}

// Requests returns the requests kept, oldest first. Their headers and bodies are shared: don't change them.
func (e *Edge) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw.all()
}

// Interval is the fullest interval of one window.
type Interval struct {
	Kind              Kind // Application or Method
	Key, Host, Method string
	Limit             Limit
	Calls             int       // arrivals in [From, From + Limit.Per)
	From              time.Time // its first arrival
}

// Over tells whether the interval holds more calls than the limit allows.
func (i Interval) Over() bool { return i.Calls > i.Limit.N }

// scopes names the budgets that a counted call raised; app is zero if there is none (R5).
func (a *Arrival) scopes() (app, method scopeID) {
	if a.Method.Auth == route.AuthRSO {
		return scopeID{}, scopeID{Method, "", a.Host, a.Method.String()}
	}
	return scopeID{Application, a.Key, a.Host, ""}, scopeID{Method, a.Key, a.Host, a.Method.String()}
}

// WorstIntervals finds the fullest interval of every application and method window by sorting the
// arrival log: an account independent of the counters, and of where the windows lay. It is exact
// as long as the log is complete (Config.Arrivals). Limits are those of now.
func (e *Edge) WorstIntervals() []Interval {
	e.mu.Lock()
	log := e.log.all()
	e.mu.Unlock()
	times := map[scopeID][]time.Time{}
	for _, a := range log {
		if !a.Counted {
			continue
		}
		app, method := a.scopes()
		if app != (scopeID{}) {
			times[app] = append(times[app], a.Time)
		}
		times[method] = append(times[method], a.Time)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// R8: calls to the hosts of a shared budget are one list.
	merged := map[*scope][]time.Time{}
	for id, list := range times {
		s := e.count.scopes[id]
		merged[s] = append(merged[s], list...)
	}
	var out []Interval
	for _, s := range e.count.order {
		list := merged[s]
		if len(list) == 0 {
			continue
		}
		for _, w := range s.windows {
			calls, from := MaxInInterval(list, w.Per)
			out = append(out, Interval{s.id.kind, s.id.key, s.id.host, s.id.method, w.Limit, calls, from})
		}
	}
	return out
}

// MaxInInterval returns the most of the times that lie in any interval [t, t+w), and the start of the
// first interval that holds so many. The times need no order and stay as they are.
func MaxInInterval(times []time.Time, w time.Duration) (most int, from time.Time) {
	sorted := slices.SortedFunc(slices.Values(times), time.Time.Compare)
	first := 0
	for i, t := range sorted {
		for t.Sub(sorted[first]) >= w {
			first++
		}
		if n := i - first + 1; n > most {
			most, from = n, sorted[first]
		}
	}
	return most, from
}
