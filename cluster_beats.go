package riftrelay

import (
	"context"
	"time"

	"riftrelay/limit"
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

// beat sees whether the store is there, and gives when to see again.
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
	c.peers = peers.Live
	l.machine.SetReplicas(now, peers.Live)
	for _, k := range news {
		c.told[k.Key] = k.Suspect
	}
	c.adoptKeys(now, peers.Keys)
	next = beatEvery
	switch {
	case c.away == nil:
	case !c.gone:
		c.away, c.back = nil, time.Now()
	case time.Since(c.since) < c.paused:
		next = probeEvery
	default:
		c.away, c.back = nil, time.Now()
		if l.cfg.Hooks != nil {
			l.news.add(ChangeEvent{Kind: ChangeStoreBack, At: time.Now()})
		}
		l.machine.Rejoin(now, now.Add(rejoinAfter))
	}
	l.poll(now)
	return next
}

// newsOfKeys gives the keys whose health is another than the store was told.
// l.mu is held.
func (c *cluster) newsOfKeys(now limit.Instant) (news []limit.KeyHealth) {
	for _, h := range c.l.inUse() {
		health := c.l.machine.KeyHealth(h.id)
		if health.Suspect == c.told[h.kid] {
			continue
		}
		k := limit.KeyHealth{Key: h.kid, Suspect: health.Suspect}
		if n := len(health.Reasons); n > 0 {
			k.For = now.Sub(health.Reasons[n-1].At)
		}
		news = append(news, k)
	}
	return news
}

// adoptKeys takes over what other replicas have found of the keys. l.mu is held.
func (c *cluster) adoptKeys(now limit.Instant, keys []limit.KeyHealth) {
	for _, k := range keys {
		if k.Suspect == c.told[k.Key] {
			continue
		}
		for _, h := range c.l.inUse() {
			if h.kid == k.Key && c.l.machine.KeyHealth(h.id).Suspect == c.told[k.Key] {
				c.l.machine.Suspected(now, h.id, k.Suspect)
				c.told[k.Key] = k.Suspect
			}
		}
	}
}
