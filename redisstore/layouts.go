package redisstore

import (
	"context"
	"strconv"
	"time"
)

// Layouts are how a budget's hash is laid out: VERSION in scope.lua. Budgets of
// another layout have other names, so that relays of two versions don't meet in
// one hash. They can't share what is in it either: as long as both are there
// each keeps to its share (limit.Peers.Apart). Beats and keys are the same in
// all layouts.
const (
	firstLayout = 1 // whose names have no suffix
	thisLayout  = 4 // with recent calls of high priority; before it, 3 had what Riot's counts tell of others, 2 the server's run in the ledger, and methods by their shared names
)

// layoutLasts is how long a layout is reckoned with after its last replica was
// heard of: for most windows until its calls don't count any longer.
const layoutLasts = 2 * time.Minute

// suffix ends the names of budgets of a layout.
func (s *Store) suffix() string {
	if s.layout == firstLayout {
		return ""
	}
	return ":" + strconv.Itoa(s.layout)
}

// apart says which layout this replica's is, and reports whether there are
// others.
func (s *Store) apart(ctx context.Context) (bool, error) {
	key := s.o.Prefix + peersTag + ":layouts"
	reply, err := s.call(ctx, s.clock(key), s.scripts.layouts, key, strconv.Itoa(s.layout), strconv.FormatInt(layoutLasts.Milliseconds(), 10))
	if err != nil {
		return false, err
	}
	a := &answer{list: reply}
	others := a.upTo(1) == 1
	if a.broken || len(a.list) > 0 {
		return false, errBroken
	}
	return others, nil
}
