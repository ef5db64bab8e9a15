package riftrelay

import (
	"context"
	"math"
	"strconv"
	"time"

	"riftrelay/route"
)

// Options say how one call is to be admitted. The zero value is a normal call
// on any key that waits up to Config.AdmissionTimeout.
type Options struct {
	Priority Priority

	// Key is the key that the call must use. With a Name alone it is one of the
	// Limiter's keys. With a Value it is that key, which need not be one of them: a
	// service that many products use may pass on the key of each. Such a key has
	// limits and a health of its own, serves no calls but those that name it, and
	// belongs to no Group; where it is one of the Limiter's after all, its limits are
	// counted once. A Limiter knows 1,024 such keys at a time. The one used longest
	// ago makes room for a new one once nothing counts on it any longer. Snapshot,
	// hooks and answers call it "call-" and a digest. The zero value leaves the
	// choice to the Limiter. Calls on a player's token (RSO) have no key. R20 holds
	// here too: Riot's terms forbid several keys for one product.
	Key Key

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

	// MaxWait bounds the wait for admission, of all tries together. 0 means
	// Config.AdmissionTimeout; negative (NowOrNever) means not to wait at all.
	// An earlier deadline of the context counts too.
	MaxWait time.Duration

	choice *choice  // Transport's own
	own    *callKey // of Key.Value
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

// String returns "normal" or "high", the label in metrics.
func (p Priority) String() string {
	if p == High {
		return "high"
	}
	return "normal"
}

// Report tells how Transport served a call: see ReportOf.
type Report struct {
	Route  route.Route   // zero when the call had none
	Key    string        // name of the key of the last try; empty without one
	Waited time.Duration // in admission, all tries together
	Tries  int           // times that the call was admitted
}

type optionsKey struct{}

// WithOptions returns a context under which Transport admits with o, whatever
// the options of ctx are. To change some of these, use OptionsFrom, or the
// functions below.
func WithOptions(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, &o)
}

// OptionsFrom returns the options of a context; zero if there are none.
func OptionsFrom(ctx context.Context) Options { return *optionsFrom(ctx) }

// WithPriority returns a context that differs from ctx in the priority alone.
func WithPriority(ctx context.Context, p Priority) context.Context {
	o := OptionsFrom(ctx)
	o.Priority = p
	return WithOptions(ctx, o)
}

// WithBudget returns a context that differs from ctx in the budget alone.
func WithBudget(ctx context.Context, budget string) context.Context {
	o := OptionsFrom(ctx)
	o.Budget = budget
	return WithOptions(ctx, o)
}

// WithMaxWait returns a context that differs from ctx in Options.MaxWait alone.
func WithMaxWait(ctx context.Context, wait time.Duration) context.Context {
	o := OptionsFrom(ctx)
	o.MaxWait = wait
	return WithOptions(ctx, o)
}

func optionsFrom(ctx context.Context) *Options {
	if o, _ := ctx.Value(optionsKey{}).(*Options); o != nil {
		return o
	}
	return &defaultOptions
}

// defaultOptions is never written to.
var defaultOptions Options

// Pacing says how calls of normal priority are laid over a window of Riot's: a
// share of the window goes as soon as a slot is free, the rest is spread evenly.
// The zero value is PacingBalanced.
type Pacing uint8

// The named pacings. PacingShare makes those between.
const (
	PacingBalanced Pacing = 0   // half of each window at once, the rest spread
	PacingSpread   Pacing = 1   // evenly over the window
	PacingBurst    Pacing = 101 // as soon as a slot is free
)

// balancedShare is the share of PacingBalanced: docs/performance.md has what
// pages and bulk jobs meet with others.
const balancedShare = 0.5

// PacingShare makes a Pacing of the share of each window that goes at once, from
// 0 (PacingSpread) to 1 (PacingBurst), to a hundredth. A share beyond these is
// the nearest of them.
func PacingShare(share float64) Pacing {
	if !(share > 0) { // also NaN
		return PacingSpread
	}
	return PacingSpread + Pacing(math.Round(100*min(share, 1)))
}

// Share returns the share of each window that goes at once, 0 to 1.
func (p Pacing) Share() float64 {
	if p == PacingBalanced {
		return balancedShare
	}
	return float64(min(p, PacingBurst)-PacingSpread) / 100
}

// String returns "balanced", "spread", "burst" or the share, as the setting
// PACING has them.
func (p Pacing) String() string {
	switch {
	case p.Share() == balancedShare:
		return "balanced"
	case p == PacingSpread:
		return "spread"
	case p >= PacingBurst:
		return "burst"
	}
	return strconv.FormatFloat(p.Share(), 'g', -1, 64)
}
