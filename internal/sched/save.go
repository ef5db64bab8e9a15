package sched

import (
	"cmp"
	"slices"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Saved is what of a machine outlives the process.
type Saved struct {
	Hosts    []SavedHost
	Scopes   []SavedScope
	Services []SavedScope // stops for all keys
	Refusals []SavedRefusal
}

// SavedRefusal is an API on a host that Riot refuses a key.
type SavedRefusal struct {
	Key    int           `json:"-"`
	Host   string        `json:"host"`
	API    string        `json:"api"`    // empty in the files of versions before 2, and then skipped
	Status int           `json:"status"` // Riot's last refusal
	Age    time.Duration `json:"age"`    // of that
	Left   time.Duration `json:"left"`   // until it is tried there again; negative when that was due
	N      int           `json:"n"`      // refusals in a row, one for each try
}

// SavedHost is what is known of the way to a host, and whether calls waited
// for it.
type SavedHost struct {
	Host   string        `json:"host"`
	Margin time.Duration `json:"margin"`
	Busy   bool          `json:"busy,omitempty"`
}

// SavedScope is one scope; Method is empty for the application's. Keys are
// named by whoever keeps it, so Key has no place in a file.
type SavedScope struct {
	Key     int         `json:"-"` // -1 for keyless calls; of no meaning in Services
	Host    string      `json:"host"`
	Method  string      `json:"method,omitempty"`
	Keyless bool        `json:"keyless,omitempty"` // the bucket's calls carry no key
	Limits  limit.Saved `json:"limits"`
}

// Save returns what is to be restored after a restart, in a fixed order.
func (m *Machine) Save(now limit.Instant) Saved {
	var v Saved
	for _, h := range m.hosts {
		j := h.margin.J()
		v.Hosts = append(v.Hosts, SavedHost{Host: h.name, Margin: j, Busy: !h.empty()})
		for key, app := range h.apps {
			v.add(SavedScope{Key: key, Host: h.name}, app, now, j)
		}
		v.addRefusals(now, h)
	}
	for _, b := range m.buckets {
		for key, scope := range b.set.scopes {
			if b.keyless {
				key = -1
			}
			v.add(SavedScope{Key: key, Host: b.host.name, Method: b.method, Keyless: b.keyless}, scope, now, b.host.margin.J())
		}
		if stop := b.service.Save(now); !stop.Empty() {
			v.Services = append(v.Services, SavedScope{Key: -1, Host: b.host.name, Method: b.method, Keyless: b.keyless, Limits: stop})
		}
	}
	slices.SortFunc(v.Hosts, func(a, b SavedHost) int { return cmp.Compare(a.Host, b.Host) })
	slices.SortFunc(v.Refusals, func(a, b SavedRefusal) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.API, b.API), cmp.Compare(a.Key, b.Key))
	})
	for _, list := range [...][]SavedScope{v.Scopes, v.Services} {
		slices.SortFunc(list, func(a, b SavedScope) int {
			return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Key, b.Key))
		})
	}
	return v
}

func (v *Saved) add(s SavedScope, scope *window.Scope, now limit.Instant, j time.Duration) {
	if scope == nil {
		return
	}
	if s.Limits = scope.Save(now, j); !s.Limits.Empty() {
		v.Scopes = append(v.Scopes, s)
	}
}

// Valid reports whether v can have come from Save.
func (v Saved) Valid() bool {
	name := func(s string) bool { return len(s) <= maxName }
	if len(v.Hosts) > maxHosts || len(v.Services) > maxBuckets || len(v.Refusals) > maxBuckets {
		return false
	}
	for _, h := range v.Hosts {
		if h.Host == "" || !name(h.Host) || h.Margin < 0 || h.Margin > time.Minute {
			return false
		}
	}
	for _, s := range v.Refusals {
		if !s.valid() {
			return false
		}
	}
	for i, list := range [...][]SavedScope{v.Scopes, v.Services} {
		for _, s := range list {
			service := i == 1
			if s.Host == "" || !name(s.Host) || !name(s.Method) || !s.Limits.Valid() || s.Method == "" && (service || s.Keyless) || service && len(s.Limits.Windows) > 0 {
				return false
			}
		}
	}
	return true
}

// maxName bounds the names of hosts and methods that are taken from a file.
const maxName = 256

// Gap is what happened between the saving and now: at most Unsaved of it the
// machine that saved went on to let calls go.
type Gap struct {
	Elapsed time.Duration
	Unsaved time.Duration
}

// Restore takes over what was saved, which is Valid, into a machine that
// nothing has happened in yet. Scopes of keys that there aren't are skipped; it
// reports how many of them were taken.
//
// What was saved is believed the less, the older it is: the first call of each
// scope goes alone for its counts, J is not below its start, calls that may
// have gone after the saving are charged for, and once every window has passed
// only the limits are left.
func (m *Machine) Restore(now limit.Instant, v Saved, gap Gap) (scopes int) {
	const ages = 10 * 365 * 24 * time.Hour       // or so; keeps sums within bounds
	gap.Elapsed = min(max(0, gap.Elapsed), ages) // a clock that was set back makes nothing younger
	gap.Unsaved = min(gap.Unsaved, gap.Elapsed)
	stale := gap.Elapsed > v.longest()
	busy, anyBusy := make(map[string]bool, len(v.Hosts)), false
	for _, s := range v.Hosts {
		busy[s.Host], anyBusy = s.Busy, anyBusy || s.Busy
		if m.hosts[s.Host] == nil && !stale && len(m.hosts) < maxHosts {
			h := m.newHost(s.Host)
			h.margin = m.newMargin(s.Margin)
			m.hosts[s.Host] = h
		}
	}
	apps := map[appID]int{} // calls that may have gone unsaved
	for _, methods := range [...]bool{false, true} {
		for _, s := range v.Scopes {
			if s.Key >= len(m.ring.keys) || !s.Keyless && s.Key < 0 || methods != (s.Method != "") {
				continue
			}
			aliased := methods && m.cfg.Alias != nil && m.cfg.Alias(s.Host, s.Method) != ""
			n := unsaved(s.Limits, gap, busy[s.Host] || aliased && anyBusy, m.cfg.Burst)
			id := appID{s.Host, s.Key}
			if !methods {
				apps[id] = n
			} else if most, told := apps[id]; told && !aliased { // a method's calls are the application's
				n = min(n, most)
			}
			s.Limits = charged(s.Limits, n, gap)
			if m.restoreScope(now, s, gap.Elapsed) {
				scopes++
			}
		}
	}
	for _, s := range v.Services {
		if b := m.bucket(now, Request{Host: s.Host, Method: s.Method, Keyless: s.Keyless}); b != nil {
			b.service.Restore(now, s.Limits, gap.Elapsed)
		}
	}
	for _, s := range v.Refusals {
		m.restoreRefusal(now, s, gap.Elapsed)
	}
	for name, h := range m.hosts { // of those whose scopes are all of unknown keys
		if h.buckets+len(h.endpoints) == 0 && !slices.ContainsFunc(h.apps, func(s *window.Scope) bool { return s != nil }) {
			delete(m.hosts, name)
		}
	}
	return scopes
}

type appID struct {
	host string
	key  int
}

func (m *Machine) restoreScope(now limit.Instant, s SavedScope, elapsed time.Duration) bool {
	assumed := m.cfg.Assumed
	var scopes *[]*window.Scope
	if s.Method == "" {
		h := m.hosts[s.Host]
		if h == nil {
			if len(m.hosts) >= maxHosts {
				return false
			}
			h = m.newHost(s.Host)
			m.hosts[s.Host] = h
		}
		scopes = &h.apps
	} else {
		b := m.bucket(now, Request{Host: s.Host, Method: s.Method, Keyless: s.Keyless})
		if b == nil {
			return false
		}
		assumed, scopes = nil, &b.set.scopes
	}
	key := max(0, s.Key)
	if at(*scopes, key) != nil {
		return false // in use
	}
	scope := window.Restore(now, s.Limits, elapsed, max(m.cfg.Start, now), assumed)
	scope.Tolerate(m.cfg.Tolerance)
	m.share(scope, s.Method != "")
	put(scopes, key, m.furnish(scope, s.Host, s.Method))
	return true
}

func (v Saved) longest() time.Duration {
	longest := time.Duration(0)
	for _, s := range v.Scopes {
		for _, w := range s.Limits.Windows {
			longest = max(longest, w.W)
		}
	}
	return longest
}
