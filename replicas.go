package riftrelay

import (
	"context"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// StoreLoss says what a Limiter does while it can't reach its Config.Store.
type StoreLoss string

// The ways.
const (
	// LossShare goes on within a share of each limit that all replicas can use
	// at once: nine tenths, divided by their number.
	LossShare StoreLoss = "share"
	// LossClosed lets nothing go.
	LossClosed StoreLoss = "closed"
)

// Times of a cluster.
const (
	// storeTimeout is how long one call of the store may take. A store that
	// freezes costs a waiting call no more than that, once.
	storeTimeout = 100 * time.Millisecond

	// storePatience is how long a call that goes now or never waits for the
	// store: it can't be asked in no time.
	storePatience = 2 * storeTimeout

	beatEvery  = time.Second
	probeEvery = 250 * time.Millisecond // while the store is away
	sweepEvery = 250 * time.Millisecond

	// aloneAfter is how long a replica tries to reach the store again, from the
	// first call that fails on, before it goes on by itself.
	aloneAfter = 60 * time.Millisecond

	// rejoinAfter is how long each replica keeps to its share once the store is
	// back: by then all of them have told it what they spent.
	rejoinAfter = 2*probeEvery + beatEvery + storeTimeout

	mostHorizon = 500 * time.Millisecond
)

// cluster is a Limiter's side of Config.Store: it asks what the machine wants to
// know, hears hints, says that it lives, and notices when the store is away.
type cluster struct {
	l       *Limiter
	store   limit.Store
	replica string
	process int64 // see limit.Merge
	loss    StoreLoss
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	kick    chan struct{} // capacity 1: beat now

	// With l.mu held.
	timer  *time.Timer
	armed  limit.Instant
	trip   time.Duration  // of recent calls to the store, there and back
	away   error          // why; nil while it is there
	since  time.Time      // of away
	gone   bool           // and given up: this replica goes on by itself, or lets nothing go
	paused time.Duration  // how long it stays so at least
	back   time.Time      // when it was last there again
	peers  int            // replicas that live, by the store's last word
	share  int            // as how many replicas this one shares alone: see counted
	fewer  time.Time      // since when the store has told fewer than that; zero while it doesn't
	fresh  bool           // the store has not judged yet, for replicas of another version
	met    bool           // the store has answered a beat
	apart  []string       // where there are replicas that share nothing with this one
	told   map[trait]bool // what the store says of the keys, as far as this replica goes along with it
}

func newCluster(l *Limiter, cfg *Config) *cluster {
	ctx, stop := context.WithCancel(context.Background())
	c := &cluster{
		l: l, store: cfg.Store, replica: cfg.Replica, loss: cfg.StoreLoss, ctx: ctx, stop: stop,
		process: mrand.Int64N(1 << 52), // a float64 holds it
		kick:    make(chan struct{}, 1), armed: limit.Never, peers: 1, told: map[trait]bool{},
	}
	return c
}

// start begins the work in the background, until Close.
func (c *cluster) start() {
	c.l.machine.SetHorizon(c.horizon())
	hints := c.store.Hints(c.ctx)
	go c.listen(hints)
	go c.beats()
	go c.sweeps()
}

// horizon is how far ahead permits are asked for, so that the next ones are
// there before these are used up.
func (c *cluster) horizon() time.Duration {
	return min(2*c.trip+20*time.Millisecond, mostHorizon)
}

// pump asks the store what there is to ask, and sets the timer for what comes
// later. l.mu is held.
func (c *cluster) pump(now limit.Instant) {
	if c.ctx.Err() != nil {
		return
	}
	for c.away == nil {
		q := c.l.machine.Ask(now)
		if q == nil {
			break
		}
		go c.ask(c.signed(q))
	}
	next := c.l.machine.NextAsk()
	if next >= c.armed || c.away != nil {
		return
	}
	d := max(0, next.Sub(now))
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
	} else {
		c.timer.Reset(d)
	}
	c.armed = now.Add(d)
}

// signed fills in who asks, and of which budget. l.mu is held.
func (c *cluster) signed(q *sched.Ask) *sched.Ask {
	q.Budget, q.Replica = limit.Budget{Key: c.l.kidOf(q.Key), Host: q.Host}, c.replica
	if q.Merge != nil {
		q.Merge.Process = c.process
	}
	return q
}

// look asks the store what an estimate of a call needs, and waits for its answers.
// l.mu is held, and isn't meanwhile.
func (c *cluster) look(now limit.Instant, req sched.Request) {
	if c.away != nil || c.ctx.Err() != nil {
		return
	}
	var asks sync.WaitGroup
	for _, q := range c.l.machine.Look(now, req) {
		c.signed(q)
		asks.Go(func() { c.ask(q) })
	}
	c.l.mu.Unlock()
	asks.Wait()
	c.l.mu.Lock()
}

func (c *cluster) fire() {
	c.l.mu.Lock()
	defer c.l.unlock()
	c.armed = limit.Never
	c.pump(c.l.now())
}

// ask puts one question to the store.
func (c *cluster) ask(q *sched.Ask) {
	ctx, cancel := context.WithTimeout(c.ctx, storeTimeout)
	defer cancel()
	sentAt := c.l.now()
	r, err := c.store.Admit(ctx, &q.Ask)
	if err == nil {
		err = r.Check(&q.Ask)
	}
	l := c.l
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	if err != nil {
		l.machine.Failed(now, q)
		c.lost(now, err)
	} else {
		c.took(now.Sub(sentAt))
		l.machine.Replied(now, sentAt, q, r)
	}
	l.poll(now)
}

// took learns how long the way to the store is. l.mu is held.
func (c *cluster) took(d time.Duration) {
	if c.trip == 0 {
		c.trip = d
	}
	c.trip += (d - c.trip) / 8
	c.l.machine.SetHorizon(c.horizon())
}

// lost notes that the store can't be reached. l.mu is held.
func (c *cluster) lost(now limit.Instant, err error) {
	if c.away != nil || c.ctx.Err() != nil {
		return
	}
	c.away, c.since, c.gone, c.fewer = err, time.Now(), false, time.Time{}
	var p interface{ Paused() time.Duration } // it is there, but grants nothing for so long
	switch c.paused = 0; {
	case errors.As(err, &p):
		c.paused = p.Paused()
	case c.since.Sub(c.back) < probeEvery:
		c.paused = probeEvery // it answers beats and refuses questions: not to be asked in a loop
	}
	if c.paused > 0 {
		c.giveUp(now)
	}
	c.nudge()
}

// giveUp has this replica go on by itself. Others may still have the store and
// use what is this one's share: so a single call that fails is no reason yet,
// nothing goes for a moment, and the store is tried again. l.mu is held.
func (c *cluster) giveUp(now limit.Instant) {
	c.gone = true
	if c.l.cfg.Hooks.Change != nil {
		err := c.away
		if !c.met {
			err = fmt.Errorf("%s: %w", neverReached, err)
		}
		c.l.news.add(ChangeEvent{Kind: ChangeStoreAway, At: c.since, Err: err})
	}
	if c.loss == LossClosed {
		c.l.machine.Close(now)
		return
	}
	c.l.machine.GoAlone(now, c.share) // 0 before the store's first word
}

// neverReached explains a replica that nobody else knows of, nor it of others: by a
// wrong address, password or database, as a rule.
const neverReached = "not reached once since the start, so replicas don't know of each other"

// elsewhere notes where there are replicas that share nothing with this one. l.mu is
// held.
func (c *cluster) elsewhere(list []string) {
	if len(list) > 0 && !slices.Equal(list, c.apart) && c.l.cfg.Hooks.Change != nil {
		c.l.news.add(ChangeEvent{Kind: ChangeStoreElsewhere, At: time.Now(), Err: errors.New(strings.Join(list, "; "))})
	}
	c.apart = list
}

// counted notes how many replicas the store says there are. One that came back
// empty, or whose clock jumped, knows at first only of those that have beaten
// since. So fewer than before count once it has said so for as long as a silent
// replica is reckoned with. The rank among them says when its turns are while they
// share a limit by turns.
func (c *cluster) counted(live, rank int) {
	c.peers = live
	if live >= c.share { // else it may not know of all yet
		c.l.machine.SetPhase(float64(rank) / float64(live))
	}
	switch {
	case live >= c.share:
		c.share, c.fewer = live, time.Time{}
	case c.fewer.IsZero():
		c.fewer = time.Now()
	case time.Since(c.fewer) >= limit.PeerTimeout:
		c.share, c.fewer = live, time.Time{}
	}
}

// close ends the work. l.mu is held.
func (c *cluster) close() {
	c.stop()
	if c.timer != nil {
		c.timer.Stop()
	}
}
