package riftrelay

import (
	"context"
	"math"
	"time"

	"riftrelay/route"
)

// Options say how one call is to be admitted. The zero value is a normal call
// on any key that waits up to Config.AdmissionTimeout.
type Options struct {
	Priority Priority
	Pin      Pin

	// Budget names the budget, of Config.Budgets, under whose ceiling the call
	// goes, in any case. Empty, or NoBudget, means none.
	Budget string

	// HardBudget has the budget hold back this call where it is of high priority
	// too, as if the budget were hard: see Budget.Hard.
	HardBudget bool

	// Client names whose call it is. Each client has queues of its own, and calls
	// that wait take turns by client, so that one client with many calls doesn't
	// hold up another one. Calls without a name are those of one client.
	Client string

	// Pacing is the burst share for this call alone. The zero value is that of
	// the Limiter, see Config.Pacing. Calls of one method with different pacing
	// don't wait for each other. High priority isn't paced.
	Pacing Pacing

	// MaxWait bounds the wait for admission, of all tries together. 0 means
	// Config.AdmissionTimeout; negative (NowOrNever) means not to wait at all.
	// An earlier deadline of the context counts too.
	MaxWait time.Duration

	choice *choice  // Transport's own
	own    *callKey // of WithKey
}

// NowOrNever as Options.MaxWait admits a call at once or not at all.
const NowOrNever time.Duration = -1

// Priority orders the calls that wait for the same budget.
type Priority uint8

// Priorities. High goes before Normal and is not paced, but of twenty grants
// that both want one is Normal's.
const (
	Normal Priority = iota
	High
)

// String gives "normal" or "high", the label in metrics.
func (p Priority) String() string {
	if p == High {
		return "high"
	}
	return "normal"
}

// Pin ties a call to one key. The zero value, AnyKey, leaves the choice to the
// limiter: the key with the earliest slot.
type Pin int

// AnyKey lets the limiter choose.
const AnyKey Pin = 0

// KeyAt pins to the key in place i: of Config.Keys, or of the list that SetKeys
// was given last.
func KeyAt(i int) Pin { return Pin(i + 1) }

// Pacing is a burst share for one call. The zero value is no choice.
type Pacing uint8

// PacingOf makes a Pacing of a burst share: Spread, Burst or between, to a
// hundredth. What lies outside 0 to 1 is the nearest of them.
func PacingOf(b float64) Pacing {
	if !(b > 0) { // also NaN
		return 1
	}
	return Pacing(math.Round(100*min(b, 1))) + 1
}

// Report tells how Transport served a call: see ReportOf.
type Report struct {
	Route  route.Route   // zero when the call had none
	Key    string        // name of the key of the last try; empty without one
	Waited time.Duration // in admission, all tries together
	Tries  int           // times that the call was admitted
}

type optionsKey struct{}

// WithOptions gives a context under which Transport admits with o.
func WithOptions(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, &o)
}

func optionsFrom(ctx context.Context) *Options {
	if o, _ := ctx.Value(optionsKey{}).(*Options); o != nil {
		return o
	}
	return &defaultOptions
}

// defaultOptions is never written to.
var defaultOptions Options
