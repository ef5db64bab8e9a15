package riftrelay

import (
	"fmt"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/internal/window"
)

// WaitKind says what sort of thing a call waits for.
type WaitKind string

// The kinds.
const (
	WaitWindow        WaitKind = "window"        // a window of Riot's is full
	WaitPacing        WaitKind = "pacing"        // there is room, but calls are spread
	WaitCooldown      WaitKind = "cooldown"      // a stop after a 429 of the application's or the method's
	WaitSynchronising WaitKind = "synchronising" // one call went alone, or is about to: its answer tells the limits
	WaitService       WaitKind = "service"       // trouble of Riot's stops the method for all keys
	WaitOthers        WaitKind = "others"        // others on the same key may have used what room is left
	WaitNoKey         WaitKind = "no_key"        // no key is usable for it
	WaitReplicas      WaitKind = "replicas"      // the store is being asked, gives what room there is to other replicas first, or is away and nothing goes without it
	WaitBudget        WaitKind = "budget"        // its budget has used its share, or spreads it
	WaitTurn          WaitKind = "turn"          // nothing any longer: it goes next
)

// Wait is why the head of a queue waits, e.g. {Kind: "window", Key: "main",
// Scope: "method", Limit: 1000, Used: 1000, Window: 60 s, Until: 180 ms}.
type Wait struct {
	Kind   WaitKind
	Key    string // name of the key that it will first be able to go on; empty where none is concerned
	Scope  string // "application", "method", or "service" for the method under all keys; empty where none is concerned
	Budget string // of budget
	Limit  int    // of window, pacing, others and budget: calls allowed in Window
	Window time.Duration
	Used   int           // of Limit
	Others int           // of Used, calls of others
	Cause  LimitKind     // of cooldown and service: the 429
	Until  time.Duration // from now; Unknown when it hangs on calls under way alone
}

// Unknown is a time that nobody can tell.
const Unknown time.Duration = -1

// String says it in a sentence without a full stop.
func (w Wait) String() string {
	until := "once a call under way is answered"
	if w.Until >= 0 {
		until = "in " + inWords(w.Until)
	}
	switch w.Kind {
	case WaitWindow:
		return fmt.Sprintf("%s window %s is full (%d/%d%s), next slot %s", w.Scope, inWords(w.Window), w.Used, w.Limit, w.theirs(), until)
	case WaitPacing:
		return fmt.Sprintf("calls are spread over the %s window %s (%d/%d used%s), next slot %s", w.Scope, inWords(w.Window), w.Used, w.Limit, w.theirs(), until)
	case WaitOthers:
		return fmt.Sprintf("others use the key: what is left of the %s window %s (%d/%d%s) is reserved, next slot %s", w.Scope, inWords(w.Window), w.Used, w.Limit, w.theirs(), until)
	case WaitBudget:
		return fmt.Sprintf("budget %s has %d of its %d calls in the %s window %s, next slot %s", w.Budget, w.Used, w.Limit, w.Scope, inWords(w.Window), until)
	case WaitCooldown:
		return fmt.Sprintf("the %s is stopped after a 429 (%s), goes on %s", w.Scope, w.Cause, until)
	case WaitService:
		return fmt.Sprintf("Riot's service is stopped for all keys after a 429 (%s), goes on %s", w.Cause, until)
	case WaitSynchronising:
		return fmt.Sprintf("the %s's limits are asked for: one call goes alone, the next one %s at the latest", w.Scope, until)
	case WaitNoKey:
		if w.Key != "" {
			return fmt.Sprintf("key %s was refused this method, another key is free %s", w.Key, until)
		}
		return "no usable key, next try " + until
	case WaitReplicas:
		if w.Until < 0 {
			return "the store is away, and nothing goes without it"
		}
		return "other replicas go first, asks the store again " + until
	case WaitTurn:
	}
	return "goes next"
}

func (w Wait) theirs() string {
	if w.Others == 0 {
		return ""
	}
	return fmt.Sprintf(", %d by others", w.Others)
}

// inWords writes a time as people do: "180 ms", "2.5 s", "60 s", "10 min".
func inWords(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", (d + time.Millisecond - 1).Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// waitOf puts the machine's reason in words of the library. l.mu is held.
func (l *Limiter) waitOf(y sched.Why, now limit.Instant) Wait {
	key := ""
	if y.Key >= 0 {
		key = l.held[y.Key].Name
	}
	return waitOf(y, key, now)
}

// waitOf puts the machine's reason, with the name of its key, in words of the
// library.
func waitOf(y sched.Why, key string, now limit.Instant) Wait {
	w := Wait{Key: key, Cause: limitKind(y.Cause), Until: Unknown}
	if y.Until < limit.Never {
		w.Until = max(0, y.Until.Sub(now))
	}
	switch y.Part {
	case sched.Application:
		w.Scope = "application"
	case sched.Method:
		w.Scope = "method"
	case sched.Service:
		w.Scope = "service"
		if y.Hindrance == window.Stopped {
			w.Kind = WaitService
			return w
		}
	case sched.NoUsableKey, sched.OtherKey:
		w.Kind = WaitNoKey
		return w
	case sched.NoPart:
	}
	w.Limit, w.Window, w.Used, w.Others = y.Window.N, y.Window.W, y.Window.Used, y.Window.Others
	switch y.Hindrance {
	case window.Full:
		w.Kind = WaitWindow
	case window.Paced:
		w.Kind = WaitPacing
	case window.Reserved:
		w.Kind = WaitOthers
	case window.Stopped:
		w.Kind = WaitCooldown
	case window.Solo:
		w.Kind = WaitSynchronising
	case window.Shared:
		w.Kind = WaitReplicas
	case window.Free:
		w.Kind, w.Until = WaitTurn, 0
	}
	if y.OfBudget {
		w.Kind = WaitBudget
	}
	return w
}

// LimitKind names what a 429 of Riot's, or the cool-down after it, is about. It
// is Riot's word (X-Rate-Limit-Type), "server" included, or "none" for a 429
// without one. It is empty where there was no 429.
type LimitKind string

// The kinds that Riot documents, and LimitOther for a word that this version
// does not know.
const (
	LimitApplication LimitKind = "application"
	LimitMethod      LimitKind = "method"
	LimitService     LimitKind = "service"
	LimitOther       LimitKind = "other"
)

func limitKind(k limit.Kind) LimitKind { return LimitKind(k.String()) }
