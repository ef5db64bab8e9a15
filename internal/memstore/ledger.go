package memstore

import (
	"time"

	"riftrelay/internal/limit"
)

func fromMillis(t millis) time.Duration { return time.Duration(t) * time.Millisecond }

// upMillis rounds up: what lasts in a store lasts no shorter than it was told.
func upMillis(d time.Duration) millis {
	n := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		n++
	}
	return n
}

// downMillis rounds down: what happened so long ago was no earlier.
func downMillis(d time.Duration) millis { return -upMillis(-d) }

// storeStart is how long a budget of which nothing is known waits, beyond J,
// for what its replicas have to tell (Merge).
const storeStart = millis(100)

// ledger is one budget in a store.
type ledger struct {
	epoch   int64
	now     millis // of the last call: time never runs backwards
	app     *storeScope
	methods map[string]*storeScope
	marks   []mergeMark
	credit  int // grants that high had while normal waited; for each fairStore of them normal has one
}

// fairStore is how many grants high has for each one of normal's, while both
// want them.
const fairStore = 19

func newLedger(now millis, keyless bool, margin time.Duration, assumed []limit.Quota) *ledger {
	l := &ledger{
		epoch: now, now: now, methods: map[string]*storeScope{},
		app: newStoreScope(now, now+upMillis(margin)+storeStart, assumed),
	}
	if keyless { // R5: there is nothing to learn of an application
		l.app.known, l.app.solo, l.app.windows = true, false, nil
	}
	return l
}

// scope returns the scope of a method, or of the application.
func (l *ledger) scope(now millis, method string) *storeScope {
	if method == "" {
		return l.app
	}
	method = limit.SharedName(method)
	s := l.methods[method]
	if s == nil {
		s = newStoreScope(now, 0, nil)
		l.methods[method] = s
	}
	return s
}

// admit is Store.Admit. news says that others who wait should ask again.
func (l *ledger) admit(now millis, ask *limit.Ask) (r limit.Reply, news bool) {
	now = max(now, l.now)
	l.now = now
	l.app.expire(now)
	l.merge(now, ask.Merge)
	for _, d := range ask.Done {
		for _, s := range l.both(now, d.Stub.Method) {
			s.done(now, d)
		}
	}
	for _, f := range ask.Facts {
		s := l.scope(now, f.Method)
		s.expire(now)
		if s.learn(now, f, upMillis(ask.Margin)) {
			news = true
		}
	}
	a := l.asking(now, ask)
	a.serve()
	r = a.reply
	r.Epoch = l.epoch
	r.App = l.app.view(now, a.due)
	for _, s := range a.methods {
		r.Views = append(r.Views, s.view(now, a.due))
	}
	for _, x := range l.app.seats {
		r.Margin = max(r.Margin, fromMillis(x.margin))
	}
	return r, news
}

// both returns the scopes of a call of the method.
func (l *ledger) both(now millis, method string) []*storeScope {
	s := l.scope(now, method)
	s.expire(now)
	return []*storeScope{l.app, s}
}

// asking is one Ask being served.
type asking struct {
	*limit.Ask
	l       *ledger
	now     millis
	horizon millis // the latest start
	slack   micros
	due     millis // from a start to its charge's expiry, less the window
	app     *seat
	methods []*storeScope // by demand
	seats   []*seat       // by demand
	reply   limit.Reply
}

func (l *ledger) asking(now millis, ask *limit.Ask) *asking {
	j := upMillis(ask.Margin)
	a := &asking{
		Ask: ask, l: l, now: now, horizon: now + ask.Horizon.Milliseconds(), slack: (j + claimGrace) * 1000,
		due: limit.SendBy.Milliseconds() + j,
	}
	var sum [2]int
	for _, d := range ask.Demands {
		sum[0], sum[1] = sum[0]+d.Want[0], sum[1]+d.Want[1]
	}
	l.app.prepare(now, ask.Burst)
	a.app = l.app.seat(now, ask.Replica, sum[0]+sum[1] > 0)
	a.app.want, a.app.margin = sum, j
	for _, d := range ask.Demands {
		s := l.scope(now, d.Method)
		s.expire(now)
		s.prepare(now, ask.Burst)
		seat := s.seat(now, ask.Replica, d.Want[0]+d.Want[1] > 0)
		seat.want = d.Want
		a.methods, a.seats = append(a.methods, s), append(a.seats, seat)
	}
	a.reply.Waits = make([]limit.Wait, len(ask.Demands))
	return a
}

// The classes of Demand.Want.
const (
	classNormal = 0
	classHigh   = 1
)

// serve grants what can be granted, high first, but normal's twentieth.
func (a *asking) serve() {
	l := a.l
	others := l.app.wanted(a.now, a.app, classNormal)
	normal := a.app.want[classNormal]+others > 0
	if !normal {
		l.credit = 0
	}
	owed := l.credit / fairStore
	if a.app.want[classNormal] > 0 {
		l.credit -= fairStore * a.class(classNormal, owed, 0, false)
		owed = l.credit / fairStore
	}
	n := a.class(classHigh, limit.MostWanted, min(owed, others), false)
	if normal {
		l.credit = min(l.credit+n, limit.MostWanted)
	}
	a.class(classNormal, limit.MostWanted, l.app.wanted(a.now, a.app, classHigh), true)
	for i := range a.Demands {
		a.wait(i)
	}
	a.app.until, a.app.want = a.now, [2]int{}
	for i, seat := range a.seats {
		seat.until = a.claim(i)
		a.app.until = max(a.app.until, seat.until)
		for class := range seat.want {
			// What the method holds back, for others too, has no claim to the
			// application's room: who is first there and who is first here would
			// wait for each other.
			a.app.want[class] += a.methods[i].share(a.now, seat, class, a.room(a.methods[i], class == classNormal))
		}
	}
}

// class grants to the calls of a class, at most that many, and leaves room for
// so many others; it returns how many. The demands have one each in turn.
func (a *asking) class(class, most, leave int, paced bool) (granted int) {
	app := a.l.app
	quota := min(most, app.share(a.now, a.app, class, a.room(app, paced)-leave))
	mine := make([]int, len(a.Demands))
	for i, s := range a.methods {
		keep := 0
		if class == classNormal && paced {
			keep = s.wanted(a.now, a.seats[i], classHigh)
		}
		mine[i] = s.share(a.now, a.seats[i], class, a.room(s, paced)-keep)
	}
	for quota > 0 {
		had := granted
		for i, n := range inTurn(quota, mine) {
			got := 0
			for got < n && a.grant(i, class, paced) {
				got++
			}
			if mine[i] -= got; got < n {
				mine[i] = 0 // the schedule holds it back
			}
			quota -= got
			granted += got
		}
		if granted == had {
			break
		}
	}
	return granted
}

// inTurn shares n out one by one in turn, none having more than its most.
func inTurn(n int, most []int) []int {
	shares := make([]int, len(most))
	for n > 0 {
		had := n
		for i := range most {
			if n > 0 && shares[i] < most[i] {
				shares[i]++
				n--
			}
		}
		if had == n {
			break
		}
	}
	return shares
}

func (a *asking) room(s *storeScope, paced bool) int {
	if paced {
		return s.room(a.now, a.horizon, a.slack)
	}
	return s.free(a.now, a.horizon)
}

// grant returns one permit to demand i, if it can start by the horizon and all
// windows of both scopes have room.
func (a *asking) grant(i, class int, paced bool) bool {
	app, method := a.l.app, a.methods[i]
	if app.free(a.now, a.horizon) < 1 || method.free(a.now, a.horizon) < 1 {
		return false
	}
	at := app.next(a.now*1000, paced)
	at = method.next(at, paced)
	if at > a.horizon*1000 {
		return false
	}
	due := ceilMillis(at) + a.due
	app.grant(at, due, a.slack, class == classHigh)
	method.grant(at, due, a.slack, class == classHigh)
	for _, seat := range [...]*seat{a.app, a.seats[i]} {
		seat.want[class]--
		seat.served++
	}
	a.reply.Grants = append(a.reply.Grants, limit.Grant{
		Demand: i, High: class == classHigh, Start: time.Duration(at-a.now*1000) * time.Microsecond,
		Stub: limit.Stub{Method: a.Demands[i].Method, At: a.now, Due: due},
	})
	return true
}
