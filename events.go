package riftrelay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// ChangeKind says what has changed.
type ChangeKind string

// The kinds.
const (
	// ChangeLimitLearned: Riot has told a limit (New calls in Window) that it
	// had not told before. Until then one is assumed, or known from a process
	// before.
	ChangeLimitLearned ChangeKind = "limit_learned"
	// ChangeLimitChanged: Riot tells New in place of Old; 0 is no limit.
	ChangeLimitChanged ChangeKind = "limit_changed"
	// ChangeLimitReached: a window is full, and calls wait for it or are
	// rejected. It is told once for as long as calls keep running into it, and
	// again after none did for the window's length. Calls that are spread over
	// a window that has room have not reached its limit.
	ChangeLimitReached ChangeKind = "limit_reached"
	// ChangeCooldownBegan: after a 429, nothing of the scope goes until Until.
	// Further 429s may put the end off; that is not told.
	ChangeCooldownBegan ChangeKind = "cooldown_began"
	// ChangeCooldownEnded: that is over. It is told at that time, whether calls
	// wait or not; of a closed Limiter, when it is used again.
	ChangeCooldownEnded ChangeKind = "cooldown_ended"
	// ChangeLimitsHalved: more 429s of our own making than
	// Config.ViolationLimit tolerates. The scope's limits are halved New times
	// now, Old times before.
	ChangeLimitsHalved ChangeKind = "limits_halved"
	// ChangeLimitsRaised is a step back from that. It is told with the first
	// call of the scope after its time.
	ChangeLimitsRaised ChangeKind = "limits_raised"
	// ChangeKeySuspended: by its answers, the last of them Status, Riot doesn't
	// know the key. Only probes go on it.
	ChangeKeySuspended ChangeKind = "key_suspended"
	// ChangeKeyReturned: a probe was answered, the key is in use again.
	ChangeKeyReturned ChangeKind = "key_returned"
	// ChangeKeyDisabled: see Limiter.DisableKey.
	ChangeKeyDisabled ChangeKind = "key_disabled"
	// ChangeKeyEnabled: see Limiter.EnableKey.
	ChangeKeyEnabled ChangeKind = "key_enabled"
	// ChangeStoreAway: the Config.Store can't be reached, see Config.StoreLoss.
	ChangeStoreAway ChangeKind = "store_away"
	// ChangeStoreElsewhere: relays use another part of the Config.Store, and share
	// nothing with this one.
	ChangeStoreElsewhere ChangeKind = "store_elsewhere"
	// ChangeStoreBack: it can be again, and judges.
	ChangeStoreBack ChangeKind = "store_back"
)

// ChangeEvent is one thing that has changed, {Kind: "limit_changed", Key:
// "main", Scope: "application", Host: "euw1", Window: 120 s, Old: 100, New: 50}.
type ChangeEvent struct {
	Kind   ChangeKind
	At     time.Time
	Key    string        // name; empty for calls without a key (RSO), and in scope "service"
	Scope  string        // "application", "method", or "service" for the method under all keys; empty for a key's change
	Host   string        // empty for a key's change
	Method string        // as route.Method.String; empty but for a method's change
	Window time.Duration // of a limit: its length
	Old    int           // of a limit: calls in Window, before; 0 is none
	New    int           // of a limit: calls in Window, now; 0 is none
	Until  time.Time     // of ChangeCooldownBegan: its end
	Cause  LimitKind     // of a cool-down: the 429
	Status int           // of ChangeKeySuspended: the answer that spoke against it
	Err    error         // of ChangeStoreAway: why; of ChangeStoreElsewhere: where
	Lost   int           // changes just before this one that are not told: the hooks were too slow for them
}

var changeKinds = [...]ChangeKind{
	sched.LimitLearned: ChangeLimitLearned, sched.LimitChanged: ChangeLimitChanged, sched.LimitReached: ChangeLimitReached,
	sched.CooldownBegan: ChangeCooldownBegan, sched.CooldownEnded: ChangeCooldownEnded,
	sched.LimitsHalved: ChangeLimitsHalved, sched.LimitsRaised: ChangeLimitsRaised,
	sched.KeySuspended: ChangeKeySuspended, sched.KeyReturned: ChangeKeyReturned,
	sched.KeyDisabled: ChangeKeyDisabled, sched.KeyEnabled: ChangeKeyEnabled,
}

// news is the changes that are to be told. The Limiter's lock guards it.
type news struct {
	list    []ChangeEvent
	next    int // of list, the first that isn't told
	lost    int // dropped after the last one of list
	telling bool
}

// maxNews bounds the changes that wait for slow hooks.
const maxNews = 1024

// unlock returns back the lock, and has told what changed meanwhile. Everything
// that uses the machine ends with it.
func (l *Limiter) unlock() {
	if l.cfg.Hooks.Change == nil {
		l.mu.Unlock()
		return
	}
	l.gather()
	n := &l.news
	tell := n.next < len(n.list) && !n.telling
	n.telling = n.telling || tell
	l.mu.Unlock()
	if tell {
		l.tellNews()
	}
}

// gather takes over what the machine has to tell, with the names that keys have
// now. l.mu is held.
func (l *Limiter) gather() {
	n := &l.news
	list, lost := l.machine.Changes()
	for _, c := range list {
		n.add(l.changeEvent(c))
	}
	n.lost += lost
}

func (n *news) add(e ChangeEvent) {
	if len(n.list) == maxNews && n.next > 0 {
		n.list = n.list[:copy(n.list, n.list[n.next:])]
		n.next = 0
	}
	if len(n.list) == maxNews {
		n.lost++
		return
	}
	e.Lost, n.lost = n.lost, 0
	n.list = append(n.list, e)
}

// tellNews tells the hooks one change after another, until there are no more.
// Nobody else does meanwhile.
func (l *Limiter) tellNews() {
	done := false
	defer func() {
		if !done { // a hook has ended this goroutine: whoever comes next goes on
			l.mu.Lock()
			defer l.mu.Unlock()
			l.news.telling = false
		}
	}()
	for {
		e, more := l.nextNews()
		if !more {
			done = true
			return
		}
		l.tellChange(e)
	}
}

func (l *Limiter) nextNews() (e ChangeEvent, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &l.news
	if n.next == len(n.list) {
		n.list, n.next, n.telling = n.list[:0], 0, false
		return ChangeEvent{}, false
	}
	n.next++
	return n.list[n.next-1], true
}

// changeEvent puts a change in words of the library. l.mu is held.
func (l *Limiter) changeEvent(c sched.Change) ChangeEvent {
	e := ChangeEvent{
		Kind: changeKinds[c.Kind], At: l.epoch.Add(time.Duration(c.At)), Scope: scopeName(c.Part), Host: c.Host, Method: c.Method,
		Window: c.Window, Old: c.Old, New: c.New, Cause: limitKind(c.Cause), Status: c.Status,
	}
	if c.Key >= 0 {
		e.Key = l.held[c.Key].Name
	}
	if c.Kind == sched.CooldownBegan {
		e.Until = l.epoch.Add(time.Duration(c.Until))
	}
	return e
}

// scopeName is what users call a part of Riot's rules; empty where there is no
// scope.
func scopeName(p sched.Part) string {
	switch p {
	case sched.Application:
		return "application"
	case sched.Method:
		return "method"
	case sched.Service:
		return "service"
	case sched.NoPart, sched.NoUsableKey, sched.OtherKey:
	}
	return ""
}

// changeLogger returns the hook of Config.Logger.
func changeLogger(log *slog.Logger) func(ChangeEvent) {
	return func(e ChangeEvent) {
		level, message := e.headline()
		log.LogAttrs(context.Background(), level, message, e.attrs()...)
	}
}

func (e *ChangeEvent) headline() (slog.Level, string) {
	switch e.Kind {
	case ChangeLimitLearned:
		return slog.LevelInfo, "limit learned"
	case ChangeLimitChanged:
		return slog.LevelInfo, "limit changed"
	case ChangeLimitReached:
		return slog.LevelInfo, "limit reached, calls wait"
	case ChangeCooldownBegan:
		return slog.LevelWarn, "stopped after a 429"
	case ChangeCooldownEnded:
		return slog.LevelInfo, "stop is over"
	case ChangeLimitsHalved:
		return slog.LevelError, "more 429s of our own making than are tolerated: the limits are used by half, Riot blacklists keys for such"
	case ChangeLimitsRaised:
		return slog.LevelInfo, "limits are raised again"
	case ChangeKeySuspended:
		return slog.LevelWarn, "Riot doesn't know the key: it is suspended"
	case ChangeKeyReturned:
		return slog.LevelInfo, "key is good again"
	case ChangeKeyDisabled:
		return slog.LevelWarn, "key is disabled"
	case ChangeKeyEnabled:
		return slog.LevelInfo, "key is enabled"
	case ChangeStoreAway:
		if errors.Is(e.Err, ErrOtherVersion) {
			return slog.LevelWarn, "the store doesn't judge for now"
		}
		return slog.LevelError, "the store can't be reached"
	case ChangeStoreElsewhere:
		return slog.LevelWarn, "other relays use another part of the store: they share no limits with this one"
	case ChangeStoreBack:
		return slog.LevelInfo, "the store is back, and judges"
	}
	return slog.LevelInfo, string(e.Kind)
}

func (e *ChangeEvent) attrs() []slog.Attr {
	var attrs []slog.Attr
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("key", e.Key)
	text("host", e.Host)
	text("method", e.Method)
	switch e.Kind {
	case ChangeLimitLearned, ChangeLimitReached:
		text("limit", e.quota(e.New))
	case ChangeLimitChanged:
		text("limit", e.quota(e.New))
		text("before", e.quota(e.Old))
	case ChangeCooldownBegan:
		text("type", string(e.Cause))
		text("for", e.Until.Sub(e.At).Round(time.Millisecond).String())
	case ChangeCooldownEnded:
		text("type", string(e.Cause))
	case ChangeLimitsHalved, ChangeLimitsRaised:
		attrs = append(attrs, slog.Int("halved", e.New), slog.Int("before", e.Old))
	case ChangeKeySuspended:
		attrs = append(attrs, slog.Int("status", e.Status))
	case ChangeStoreAway, ChangeStoreElsewhere:
		attrs = append(attrs, slog.Any("error", e.Err))
	case ChangeKeyReturned, ChangeKeyDisabled, ChangeKeyEnabled, ChangeStoreBack:
	}
	if e.Lost > 0 {
		attrs = append(attrs, slog.Int("changes_lost", e.Lost))
	}
	return attrs
}

// quota writes a limit as Riot does, "100:120".
func (e *ChangeEvent) quota(n int) string {
	if n == 0 {
		return "none"
	}
	return limit.Quota{N: n, W: e.Window}.String()
}
