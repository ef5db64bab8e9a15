package memstore

// Normal calls leave no slot of a full window free. Where calls of high priority
// have come recently, normal ones keep some slots free for them. These are the
// rules and numbers of internal/window/kept.go; that package can't be imported here.
const (
	storeKeptPart = 50 // two in a hundred of a window are kept free at the most
	storeKeptFor  = 40 // for so many calls of high priority in two periods one slot is kept
)

// storeUrgent counts the permits of high priority in this period and the one before.
// A period is a window's length.
type storeUrgent struct {
	period      int64 // number of the present one
	now, before int
}

// turn begins the period of the moment t, in windows of length w.
func (u *storeUrgent) turn(t, w millis) {
	switch p := t / w; {
	case p == u.period+1:
		u.period, u.now, u.before = p, 0, u.now
	case p > u.period:
		*u = storeUrgent{period: p}
	}
}

// keep works out how many slots normal calls leave free at now. What is reserved
// for others leaves normal calls a slot, and so does this beside it.
func (w *storeWindow) keep(now millis, level, reserve int) {
	w.urgent.turn(now, w.w)
	n := w.limit(level)
	w.kept = max(0, min(n/storeKeptPart, (w.urgent.now+w.urgent.before+storeKeptFor-1)/storeKeptFor, n-1-reserve))
}

// beside returns how many more charges of normal calls fit.
func (w *storeWindow) beside() int { return min(w.left, w.spared-w.kept) - w.own.n }

// leaves returns when n charges of normal calls fit that don't now: beside the slots
// kept free, or without them when they may be fewer.
func (w *storeWindow) leaves(now millis, n int) millis {
	at := w.freed(now, n)
	if w.kept > 0 {
		at = max(at, min(w.spent(now, n-(w.spared-w.kept-w.own.n)), (w.urgent.period+1)*w.w))
	}
	return at
}
