package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// guesses slows down an address that shows wrong tokens, and logs that it does.
type guesses struct {
	log *sparing
	mu  sync.Mutex
	by  map[string]*guesser
}

type guesser struct {
	wrong int
	last  time.Time
}

const (
	freeGuesses   = 5 // a program with an old token isn't an attack
	firstPenalty  = 100 * time.Millisecond
	worstPenalty  = 2 * time.Second
	forgiven      = 5 * time.Minute // after the last wrong token
	mostAddresses = 4096
)

// wrong counts a wrong token and keeps its answer back for a while, or until the
// client leaves. A right token never waits, so one client can't lock out another
// one behind the same address.
func (g *guesses) wrong(r *http.Request, whose string) {
	address := addressOf(r)
	penalty := g.count(address)
	g.log.say(slog.LevelWarn, whose, "wrong or missing token", "of", whose, "address", address)
	if penalty == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), penalty)
	defer cancel()
	<-ctx.Done()
}

func (g *guesses) count(address string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	one := g.by[address]
	if one == nil || now.Sub(one.last) > forgiven {
		if one == nil && len(g.by) >= mostAddresses {
			g.makeRoom(now)
		}
		one = &guesser{}
		if g.by == nil {
			g.by = make(map[string]*guesser)
		}
		g.by[address] = one
	}
	one.wrong++
	one.last = now
	if one.wrong <= freeGuesses {
		return 0
	}
	return min(worstPenalty, firstPenalty<<min(one.wrong-freeGuesses-1, 10))
}

// makeRoom forgets the forgiven, otherwise whoever was longest quiet.
func (g *guesses) makeRoom(now time.Time) {
	var oldest string
	for address, one := range g.by {
		if now.Sub(one.last) > forgiven {
			delete(g.by, address)
		} else if oldest == "" || one.last.Before(g.by[oldest].last) {
			oldest = address
		}
	}
	if len(g.by) >= mostAddresses {
		delete(g.by, oldest)
	}
}

// addressOf is a client's address: of IPv6 the network, since one client has all
// of it.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String() + "/64"
}
