package riftrelay

import (
	"context"
	"errors"
	"time"

	"riftrelay/internal/limit"
)

// beats says every second that this replica lives, and more often whether the
// store is back.
func (c *cluster) beats() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.kick:
		case <-timer.C:
		}
		timer.Reset(c.beat())
	}
}

// beat sees whether the store is there and returns when to see again.
func (c *cluster) beat() (next time.Duration) {
	l := c.l
	l.mu.Lock()
	news := c.newsOfKeys(l.now())
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, storeTimeout)
	defer cancel()
	peers, err := c.store.Beat(ctx, c.replica, news)

	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	if err != nil {
		c.lost(now, err)
		next = probeEvery
		if left := aloneAfter - time.Since(c.since); !c.gone && left > 0 {
			next = min(left, aloneAfter/3)
		} else if !c.gone {
			c.giveUp(now)
		}
		l.poll(now)
		return next
	}
	c.counted(peers.Live, peers.Rank)
	c.elsewhere(peers.Elsewhere)
	l.machine.SetReplicas(now, peers.Live)
	c.fresh = !c.met || c.fresh && peers.Apart
	c.heardOfKeys(now, news, peers.Keys)
	next = beatEvery
	switch {
	case peers.Apart:
		c.keepApart(now)
	case c.away == nil:
	case !c.gone:
		c.away, c.back = nil, time.Now()
	case time.Since(c.since) < c.paused:
		next = probeEvery
	default:
		c.away, c.back = nil, time.Now()
		if l.cfg.Hooks.Change != nil {
			l.news.add(ChangeEvent{Kind: ChangeStoreBack, At: time.Now()})
		}
		l.machine.Rejoin(now, now.Add(rejoinAfter))
	}
	l.poll(now)
	return next
}

// keepApart has this replica go on within its share, and not more, while there
// are replicas of another version, however many. l.mu is held.
func (c *cluster) keepApart(now limit.Instant) {
	if !errors.Is(c.away, ErrOtherVersion) {
		if c.away == nil {
			c.since, c.gone = time.Now(), false
		}
		c.away, c.paused = ErrOtherVersion, 0
	}
	if !c.gone && c.fresh && time.Since(c.since) < rejoinAfter {
		return // the others may still use all; who has called already goes on
	}
	if !c.gone {
		c.giveUp(now)
	}
	c.l.machine.GoAlone(now, c.share) // LossClosed too: the store is there, and what others do is known
}

// nudge has beats go on at once.
func (c *cluster) nudge() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// listen asks again where a hint says that something changed.
func (c *cluster) listen(hints <-chan limit.Hint) {
	for {
		var h limit.Hint
		var open bool
		select {
		case <-c.ctx.Done():
			return
		case h, open = <-hints:
		}
		if !open {
			return
		}
		c.l.mu.Lock()
		now := c.l.now()
		switch id, found := c.l.idOf(h.Budget.Key); {
		case h.Beat:
			c.nudge()
		case h.Budget == limit.AnyBudget:
			c.l.machine.Hint(now, -1, "", 0)
			c.nudge()
		case found:
			c.l.machine.Hint(now, id, h.Budget.Host, h.Epoch)
		}
		c.l.poll(now)
		c.l.unlock()
	}
}

// sweeps reports calls that take longer than their charges.
func (c *cluster) sweeps() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			c.l.mu.Lock()
			now := c.l.now()
			c.l.machine.Overdue(now)
			c.pump(now)
			c.l.unlock()
		}
	}
}
