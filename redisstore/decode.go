package redisstore

import (
	"math"
	"strings"
	"time"

	"riftrelay/internal/limit"
)

// answer reads what a script gave, number by number.
type answer struct {
	list   []any
	broken bool
}

func (a *answer) int() int64 {
	if len(a.list) == 0 {
		a.broken = true
		return 0
	}
	n, ok := a.list[0].(int64)
	if !ok {
		a.broken = true
	}
	a.list = a.list[1:]
	return n
}

// most is the largest number of calls, or of replicas, that there may be.
const most = 1 << 30

// upTo is int from 0 to most.
func (a *answer) upTo(most int64) int {
	n := a.int()
	if n < 0 || n > most {
		a.broken = true
		return 0
	}
	return int(n)
}

// count is a number of charges, of which there may be more than matters.
func (a *answer) count() int { return int(min(a.int(), most)) }

// long is a length of time in units, which may be negative.
func (a *answer) long(unit time.Duration) time.Duration {
	n := a.int()
	if d := math.MaxInt64 / int64(unit); n > d || n < -d {
		a.broken = true
		return 0
	}
	return time.Duration(n) * unit
}

func (a *answer) millis() time.Duration { return a.long(time.Millisecond) }

// decodeReply reads ADMIT's answer.
func decodeReply(ask *limit.Ask, list []any) (limit.Reply, error) {
	a := &answer{list: list}
	r := limit.Reply{Epoch: a.int()}
	now := a.int()
	r.Margin = a.millis()
	var buf [limit.MostDemands][2]int
	wanted := buf[:0]
	for _, d := range ask.Demands {
		wanted = append(wanted, d.Want)
	}
	for range a.int() {
		demand, class := a.upTo(int64(len(wanted))-1), a.upTo(1)
		start, due, n := a.long(time.Microsecond), a.int(), a.int()
		if a.broken || n < 0 || n > int64(wanted[demand][class]) {
			return limit.Reply{}, errBroken
		}
		wanted[demand][class] -= int(n)
		g := limit.Grant{
			Demand: demand, High: class == 1, Start: start,
			Stub: limit.Stub{Method: ask.Demands[demand].Method, At: now, Due: due},
		}
		for range n {
			r.Grants = append(r.Grants, g)
		}
	}
	r.Waits = make([]limit.Wait, len(ask.Demands))
	for i := range r.Waits {
		r.Waits[i] = limit.Wait{In: a.millis(), Why: limit.WaitKind(a.upTo(math.MaxUint8))}
	}
	r.App = a.view()
	for range ask.Demands {
		r.Views = append(r.Views, a.view())
	}
	if a.broken || len(a.list) > 0 {
		return limit.Reply{}, errBroken
	}
	return r, nil
}

func (a *answer) view() limit.View {
	v := limit.View{Known: a.int() == 1, Solo: a.int() == 1, Stop: a.millis(), Cause: limit.Kind(a.upTo(math.MaxUint8)), Level: a.upTo(most)}
	n := a.upTo(int64(len(a.list)) / 6)
	if a.broken {
		return v
	}
	v.Windows = make([]limit.WindowView, n)
	for i := range v.Windows {
		w := &v.Windows[i]
		w.N, w.W = a.upTo(most), a.millis()
		w.Used, w.Others, w.Base = a.count(), a.count(), int(a.int())
		w.Next = a.millis()
	}
	return v
}

// decodePeers reads BEAT's answer.
func decodePeers(list []any) (limit.Peers, error) {
	a := &answer{list: list}
	p := limit.Peers{Live: a.upTo(most), Rank: a.upTo(most)}
	if p.Live < 1 || p.Rank >= p.Live { // the asker lives
		return limit.Peers{}, errBroken
	}
	for len(a.list) > 0 {
		name, ok := a.list[0].(string)
		if !ok {
			return limit.Peers{}, errBroken
		}
		a.list = a.list[1:]
		k := limit.KeyHealth{Key: name, Is: a.int() == 1, For: a.millis()}
		if key, disabled := strings.CutSuffix(name, traits[limit.KeyDisabled]); disabled {
			k.Key, k.Of = key, limit.KeyDisabled
		}
		p.Keys = append(p.Keys, k)
		if a.broken {
			return limit.Peers{}, errBroken
		}
	}
	sortKeys(p.Keys)
	return p, nil
}
