package riftrelay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/route"
)

// Limiter admits calls so that Riot's limits are used to the full and never
// exceeded. It is the shell around sched.Machine: the lock, the clock, the
// timer and the callers that wait. All methods are safe for concurrent use.
// Make it with New.
type Limiter struct {
	cfg      Config
	epoch    time.Time // limit.Instant 0
	grouping grouping
	budgets  budgetIDs               // what a call names
	keys     atomic.Pointer[keyList] // written with mu held
	ids17    *idMemory

	mu      sync.Mutex
	machine *sched.Machine
	timer   *time.Timer
	armed   limit.Instant // when timer fires; limit.Never when it won't
	spare   []*waiter
	closed  bool
	cluster *cluster // nil without a Store
	held    []*held  // by the machine's id; also of keys removed, until the id serves another
	ids     []int    // of the keys in use, by place
	groups  []int    // of the keys in use, by place
	own     callKeys
	ended   int // permits that were to end a second time
	news    news

	hookPanics atomic.Int64

	grantedFunc  func(*sched.Waiter, *sched.Permit) // l.granted, bound once
	expelledFunc func(*sched.Waiter, sched.Refusal) // l.expelled
}

// New makes a Limiter. The error names every field of cfg that is wrong, its
// value and what is allowed.
func New(cfg Config) (*Limiter, error) {
	cfg, assumed, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Logger != nil {
		cfg.Hooks = JoinHooks(Hooks{Change: changeLogger(cfg.Logger)}, cfg.Hooks)
	}
	grouping, err := newGrouping(cfg.Groups)
	if err == nil {
		err = grouping.check(cfg.Keys)
	}
	if err != nil {
		return nil, err
	}
	l := &Limiter{cfg: cfg, epoch: time.Now(), armed: limit.Never, grouping: grouping, budgets: newBudgetIDs(cfg.Budgets, cfg.Table)}
	if cfg.Replica == "" {
		cfg.Replica = randomName()
	}
	together, parts := sharedMethods(cfg.Aliases), (func(host, method string) int)(nil)
	if cfg.Store != nil {
		together, parts = nil, dividedMethods(cfg.Aliases)
	}
	l.machine = sched.New(sched.Config{
		Burst:         cfg.Pacing.Share(),
		Margin:        cfg.Margin,
		MaxMargin:     cfg.MaxMargin,
		Assumed:       assumed,
		API:           apisOf(cfg.Table),
		Shares:        sharesOf(cfg.Budgets, l.budgets),
		Alias:         together,
		Parts:         parts,
		Tolerance:     max(0, cfg.ViolationLimit),
		QueueCapacity: max(0, cfg.QueueCapacity),
		QueueTotal:    max(0, cfg.QueueTotal),
		Start:         limit.Instant(cfg.Margin),
		Watch:         cfg.Hooks.Change != nil,
		Shared:        cfg.Store != nil,
		Phase:         phaseOf(cfg.Replica),
	})
	l.grantedFunc, l.expelledFunc = l.granted, l.expelled
	l.ids17 = newIDMemory()
	if err := l.setKeys(0, cfg.Keys); err != nil {
		return nil, err
	}
	if cfg.Store != nil {
		l.cluster = newCluster(l, &cfg)
		l.cluster.start()
	}
	l.cfg.Keys = nil // from here on the list is what SetKeys says
	return l, nil
}

// now reads the clock. It is read with l.mu held, so that the machine's time
// never runs backwards.
func (l *Limiter) now() limit.Instant { return limit.Instant(time.Since(l.epoch)) }

// Acquire waits until the call may go to Riot. The caller then sends it and
// tells the Permit: Sent when it is written, then Observe with the answer, or
// Release without one.
//
// The error is a *RejectedError, or that of ctx when it was cancelled. What
// can't be served before its deadline is rejected at once.
func (l *Limiter) Acquire(ctx context.Context, r route.Route, o Options) (Permit, error) {
	return l.acquire(ctx, r, &o, l.deadline(ctx, &o), 1)
}

// TryAcquire is Acquire that doesn't wait.
func (l *Limiter) TryAcquire(r route.Route, o Options) (Permit, error) {
	o.MaxWait = NowOrNever
	return l.Acquire(context.Background(), r, o)
}

// poll lets go what can go and sets the timer for what can go later. l.mu is
// held.
func (l *Limiter) poll(now limit.Instant) {
	l.machine.Expel(now, l.expelledFunc)
	l.machine.Poll(now, l.grantedFunc)
	if l.cluster != nil {
		l.cluster.pump(now)
	}
	next := l.machine.NextWake()
	if next >= l.armed || l.closed {
		return
	}
	const longest = time.Hour // far beyond any window; keeps Never out of the timer
	d := min(next.Sub(now), longest)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
	l.armed = now.Add(d)
}

func (l *Limiter) fire() {
	l.mu.Lock()
	defer l.unlock()
	l.armed = limit.Never
	l.poll(l.now())
}

// Estimate predicts how long the last of n calls with these options would wait
// if all came now and nothing else did, and what holds back the first of them.
// n is at least 1. With a Config.Store, Estimate may ask that first.
func (l *Limiter) Estimate(r route.Route, n int, o Options) (time.Duration, Wait, error) {
	if n < 1 {
		return 0, Wait{}, fmt.Errorf("riftrelay: estimate of %d calls; allowed: 1 or more", n)
	}
	l.mu.Lock()
	req, err := l.request(r, &o, time.Time{}, false)
	if err != nil {
		l.mu.Unlock()
		return 0, Wait{}, err
	}
	now := l.now()
	if l.cluster != nil {
		l.cluster.look(now, req)
		now = l.now()
	}
	e := l.machine.Estimate(now, req, n)
	why := l.waitOf(l.machine.Why(now, req), now)
	l.mu.Unlock()
	if e.Reason != sched.None {
		return 0, Wait{}, l.rejectedError(r, &o, e, now, nil)
	}
	return max(0, e.Start.Sub(now)), why, nil
}

// SetPacing changes the pacing of all calls, also of those that wait.
func (l *Limiter) SetPacing(p Pacing) {
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	l.machine.SetBurst(now, p.Share())
	l.poll(now)
}

// Drain admits no new calls from now on. Calls in the queues that can start
// within grace still do; the others are rejected at once.
func (l *Limiter) Drain(grace time.Duration) {
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	l.drain(now, now.Add(grace))
	l.poll(now)
}

func (l *Limiter) drain(now, until limit.Instant) {
	l.machine.Drain(now, until, func(w *sched.Waiter, start limit.Instant) {
		w.Data.(*waiter).done <- outcome{refusal: sched.Refusal{Reason: sched.Draining, Start: start}}
	})
}

// Close rejects everything that waits, and all further calls. Permits stay
// valid. Closing twice does no harm.
func (l *Limiter) Close() error {
	l.mu.Lock()
	defer l.unlock()
	l.drain(l.now(), -limit.Never)
	l.closed = true
	if l.cluster != nil {
		l.cluster.close()
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	return nil
}
