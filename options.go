package riftrelay

import (
	"context"
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
