package riftrelay

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/route"
)

// Config is everything a Limiter needs to know. The zero value of each field
// is a sensible choice, except that a Limiter without keys can admit nothing
// but RSO calls.
type Config struct {
	// Keys are the Riot API keys to send with, at most 1,024. Several keys are
	// for several products: Riot's terms forbid using them to get around the
	// limits of one (R20).
	Keys []Key

	// Groups send some calls on keys of their own, those of another product.
	// Each needs a key that is named like it. Nil means that all keys serve all
	// calls.
	Groups []Group

	// Table maps paths to methods. Nil means route.Default().
	Table *route.Table

	// Pacing says which share of each window goes at once, and which is spread.
	// The zero value is PacingBalanced.
	Pacing Pacing

	// Margin is J, the longest that a call is allowed to take on its way to Riot:
	// a call counts against a window until the window's length after its answer,
	// or after its sending plus J, whichever is earlier. J is never less than
	// Margin. It is more where every answer takes longer than that, and for a
	// while after a 429 of our own making. 0 means 150 ms.
	Margin time.Duration

	// MaxMargin is the most that J becomes. 0 means 2 s, or Margin if that is
	// more. If it equals Margin, J is fixed.
	MaxMargin time.Duration

	// DefaultAppLimit is assumed for an application before Riot's first
	// headers, in Riot's own form "20:1,100:120" (calls:seconds). Empty means
	// that value, the limit of a development key.
	DefaultAppLimit string

	// Aliases are budgets that several hosts share. Nil means none. With a Store
	// each of the hosts has an equal part.
	Aliases []Alias

	// Budgets are ceilings that calls can be put under by name, at most 250. Nil
	// means none.
	Budgets []Budget

	// ViolationLimit is how many 429s of our own making a scope tolerates
	// within a minute. One more, and it halves its limits, and doubles J, for
	// five minutes or more: Riot blacklists keys that keep violating (R19). 0
	// means 3; negative tolerates none.
	ViolationLimit int

	// QueueCapacity bounds the calls of one client, budget and priority that wait
	// for one host and method. 0 means 2,048; negative means no calls may wait.
	QueueCapacity int

	// QueueTotal bounds the calls waiting in all queues together. When it is
	// reached, the client with most of them loses its newest call to a client with
	// fewer, and a call of normal priority makes room for one of high priority. 0
	// means 100,000; negative means no calls may wait.
	QueueTotal int

	// AdmissionTimeout bounds the wait of a call that names no bound of its
	// own. 0 means 5 minutes; negative means no bound.
	AdmissionTimeout time.Duration

	// Store shares the limits between processes that call with the same keys.
	// Nil means that this process alone uses them. The caller closes it, after
	// the Limiter.
	Store Store

	// Replica names this process for the Store, among all that live. Empty
	// means a random name.
	Replica string

	// StoreLoss says what to do while the Store can't be reached. Empty means
	// LossShare.
	StoreLoss StoreLoss

	// Hooks are told of every admission, every answer and every change of
	// limits and keys.
	Hooks Hooks

	// Logger gets a line for each change of limits, cool-downs and keys: at level
	// info, warn where something is wrong, error where a key is in danger of Riot's
	// blacklist. It gets no lines for single calls. Nil means that only a panic of
	// Hooks is logged, by slog.Default.
	Logger *slog.Logger
}

// Key is one Riot API key. Its Name appears in metrics, logs and answers; its
// Value nowhere but in the header to Riot.
type Key struct {
	Name  string // letters, digits, '-', '_' and '.', unique; empty means "key0", "key1" …
	Value string
}

// String names the key without giving it away, so that a Key may be printed.
func (k Key) String() string { return k.Name }

// GoString is String: %#v must not give a key away either.
func (k Key) GoString() string { return fmt.Sprintf("riftrelay.Key{Name: %q}", k.Name) }

// MarshalJSON returns the name alone, so that a printed Config hides its keys.
func (k Key) MarshalJSON() ([]byte, error) { return json.Marshal(k.Name) }

// Defaults of Config.
const (
	DefaultMargin           = 150 * time.Millisecond
	DefaultMaxMargin        = 2 * time.Second
	DefaultAppLimit         = "20:1,100:120"
	DefaultQueueCapacity    = 2048
	DefaultQueueTotal       = 100_000
	DefaultAdmissionTimeout = 5 * time.Minute

	maxKeys   = 1024
	maxMargin = time.Minute
)

// withDefaults fills in what was left zero and checks the rest. Every problem
// is reported, not just the first.
func (c Config) withDefaults() (Config, []limit.Quota, error) {
	var problems []error
	bad := func(field string, value any, allowed string) {
		problems = append(problems, fmt.Errorf("riftrelay: Config.%s is %v; allowed: %s", field, value, allowed))
	}
	if c.Table == nil {
		c.Table = route.Default()
	}
	if c.Pacing > PacingBurst {
		bad("Pacing", uint8(c.Pacing), "PacingBalanced, PacingSpread, PacingBurst or what PacingShare makes")
	}
	if c.Margin == 0 {
		c.Margin = DefaultMargin
	}
	if c.MaxMargin == 0 {
		c.MaxMargin = max(DefaultMaxMargin, min(c.Margin, maxMargin))
	}
	if c.Margin < 0 || c.Margin > maxMargin {
		bad("Margin", c.Margin, "1ns to 1m, 0 for the default")
	}
	if c.MaxMargin < c.Margin || c.MaxMargin > maxMargin {
		bad("MaxMargin", c.MaxMargin, fmt.Sprintf("Margin (%v) to 1m, 0 for the default", c.Margin))
	}
	if c.DefaultAppLimit == "" {
		c.DefaultAppLimit = DefaultAppLimit
	}
	quotas, err := limit.ParseQuotas(c.DefaultAppLimit)
	if err != nil {
		bad("DefaultAppLimit", fmt.Sprintf("%q (%v)", c.DefaultAppLimit, err), "calls:seconds, as in 20:1,100:120")
	}
	for i, a := range c.Aliases {
		if !a.valid() {
			bad(fmt.Sprintf("Aliases[%d]", i), fmt.Sprintf("%q on %q", a.Path, a.Hosts), "a path that begins with / and two hosts or more")
		}
	}
	c.Budgets = cloneBudgets(c.Budgets)
	c.checkBudgets(bad)
	if c.ViolationLimit == 0 {
		c.ViolationLimit = limit.DefaultTolerance
	}
	if c.QueueCapacity == 0 {
		c.QueueCapacity = DefaultQueueCapacity
	}
	if c.QueueTotal == 0 {
		c.QueueTotal = DefaultQueueTotal
	}
	if c.AdmissionTimeout == 0 {
		c.AdmissionTimeout = DefaultAdmissionTimeout
	}
	if c.StoreLoss != "" && c.StoreLoss != LossShare && c.StoreLoss != LossClosed {
		bad("StoreLoss", string(c.StoreLoss), "share or closed")
	}
	keys, err := checkKeys(c.Keys)
	if err != nil {
		problems = append(problems, err)
	}
	c.Keys = keys
	return c, quotas, errors.Join(problems...)
}

// checkKeys returns a copy in which every key has a name. Errors name a key by
// its place, never by its value.
func checkKeys(keys []Key) ([]Key, error) {
	if len(keys) > maxKeys {
		return nil, fmt.Errorf("riftrelay: Config.Keys has %d keys; allowed: at most %d", len(keys), maxKeys)
	}
	named := make([]Key, len(keys))
	seen := make(map[string]int, 2*len(keys))
	var problems []error
	for i, k := range keys {
		if k.Name == "" {
			k.Name = fmt.Sprintf("key%d", i)
		}
		if !validName(k.Name) {
			problems = append(problems, fmt.Errorf("riftrelay: Config.Keys[%d].Name is %q; allowed: 1 to 64 letters, digits, '-', '_' and '.'", i, k.Name))
		}
		if !validKey(k.Value) {
			problems = append(problems, fmt.Errorf("riftrelay: Config.Keys[%d].Value (%s) is not shown; allowed: 1 to 256 visible ASCII characters", i, k.Name))
		}
		if j, dup := seen["name "+k.Name]; dup {
			problems = append(problems, fmt.Errorf("riftrelay: Config.Keys[%d].Name is %q, as that of key %d; allowed: unique names", i, k.Name, j))
		}
		// The same key twice would be charged as two: twice its limit.
		if j, dup := seen["value "+k.Value]; dup {
			problems = append(problems, fmt.Errorf("riftrelay: Config.Keys[%d].Value (%s) is the same as that of key %d; allowed: each key once", i, k.Name, j))
		}
		seen["name "+k.Name], seen["value "+k.Value] = i, i
		named[i] = k
	}
	return named, errors.Join(problems...)
}

func validName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

func validKey(s string) bool {
	if len(s) == 0 || len(s) > 256 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Store shares limits between replicas: see Config.Store. Package redisstore
// makes one. Its methods are the engine's own, so no other package can.
type Store interface{ limit.Store }
