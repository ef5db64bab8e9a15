package proxy

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"riftrelay"
)

// ClientState is what a client may do, does, and has had since the relay
// started, or since its name came into CLIENT_TOKENS.
type ClientState struct {
	Name   string
	Budget string      // Client.Budget
	NoHigh bool        // Client.NoHigh
	Allow  []Allowance // Client.Allow

	Calls   int // that ended
	Limited int // of them, answered by a 429 of Riot's
	Refused int // of them, refused by the relay
	Open    int // under way, the waiting ones included
	Waiting int // of them, not yet let go to Riot
}

// Clients tells what each client does now, by name.
func (h *Handler) Clients() []ClientState {
	known := h.clients.Load()
	if known == nil {
		return nil
	}
	states := make([]ClientState, len(known.list))
	for i, who := range known.list {
		u := who.use
		states[i] = ClientState{
			Name: who.Name, Budget: who.Budget, NoHigh: who.NoHigh, Allow: who.Allow,
			Calls: int(u.calls.Load()), Limited: int(u.limited.Load()), Refused: int(u.refused.Load()),
			Open: int(u.open.Load()), Waiting: int(u.waiting.Load()),
		}
	}
	slices.SortFunc(states, func(a, b ClientState) int { return cmp.Compare(a.Name, b.Name) })
	return states
}

// use counts what a client does.
type use struct{ calls, limited, refused, open, waiting atomic.Int64 }

// begun counts a call of a client that has shown who it is.
func (c *call) begun() {
	if c.client != nil {
		c.client.use.open.Add(1)
	}
}

// ended counts what begun has counted, by what it got.
func (c *call) ended() {
	if c.client == nil {
		return
	}
	c.waits(false) // the transport may have given up while a try was to follow
	u := c.client.use
	u.open.Add(-1)
	u.calls.Add(1)
	switch {
	case c.source == SourceRiot && c.status == http.StatusTooManyRequests:
		u.limited.Add(1)
	case c.source == SourceRelay && refuses(c.reason):
		u.refused.Add(1)
	}
}

// refuses tells the reasons for a no from those for a failure.
func refuses(reason string) bool {
	switch reason {
	case "", reasonUpstreamTimeout, reasonUpstreamUnavailable, reasonInvalidBody, reasonClientGone:
		return false
	}
	return true
}

// waits notes whether a client's call waits for admission.
func (c *call) waits(on bool) {
	if c.client == nil || c.waiting.Swap(on) == on {
		return
	}
	if on {
		c.client.use.waiting.Add(1)
	} else {
		c.client.use.waiting.Add(-1)
	}
}

type callKey struct{}

// in has the context of a client's call lead to the call, for Waits.
func (c *call) in(ctx context.Context) context.Context {
	if c.client == nil {
		return ctx
	}
	return context.WithValue(ctx, callKey{}, c)
}

// Waits returns the hooks of the limiter that a Handler needs to know which of
// the clients' calls wait: the wait is over with the admission, and begins again
// with an answer that another try follows.
func Waits() riftrelay.Hooks {
	return riftrelay.Hooks{
		Admission: func(ctx context.Context, _ riftrelay.AdmissionEvent) {
			if c, ok := ctx.Value(callKey{}).(*call); ok {
				c.waits(false)
			}
		},
		Answer: func(ctx context.Context, e riftrelay.AnswerEvent) {
			if c, ok := ctx.Value(callKey{}).(*call); ok && e.Retry {
				c.waits(true)
			}
		},
	}
}
