package redisstore

import (
	"time"

	"riftrelay/limit"
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

func (a *answer) millis() time.Duration { return time.Duration(a.int()) * time.Millisecond }

// decodeReply reads admit.lua's answer.
func decodeReply(ask *limit.Ask, list []any) (limit.Reply, error) {
	a := &answer{list: list}
	r := limit.Reply{Epoch: a.int()}
	now := a.int()
	r.Margin, r.Trip = a.millis(), a.millis()
	for range a.int() {
		demand, high := int(a.int()), a.int() == 1
		start, due, n := time.Duration(a.int())*time.Microsecond, a.int(), a.int()
		if a.broken || demand < 0 || demand >= len(ask.Demands) || n > limit.MostWanted {
			return limit.Reply{}, errBroken
		}
		g := limit.Grant{
			Demand: demand, High: high, Start: start,
			Stub: limit.Stub{Method: ask.Demands[demand].Method, At: now, Due: due},
		}
		for range n {
			r.Grants = append(r.Grants, g)
		}
	}
	r.Waits = make([]limit.Wait, len(ask.Demands))
	for i := range r.Waits {
		r.Waits[i] = limit.Wait{In: a.millis(), Why: limit.WaitKind(a.int())}
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
	v := limit.View{Known: a.int() == 1, Solo: a.int() == 1, Stop: a.millis(), Cause: limit.Kind(a.int()), Level: int(a.int())}
	n := a.int()
	if n < 0 || n > int64(len(a.list)) {
		a.broken = true
		return v
	}
	v.Windows = make([]limit.WindowView, n)
	for i := range v.Windows {
		w := &v.Windows[i]
		w.N, w.W = int(a.int()), a.millis()
		w.Used, w.Others, w.Base = int(a.int()), int(a.int()), int(a.int())
	}
	return v
}

// decodePeers reads beat.lua's answer.
func decodePeers(list []any) (limit.Peers, error) {
	a := &answer{list: list}
	p := limit.Peers{Live: int(a.int())}
	for len(a.list) > 0 {
		name, ok := a.list[0].(string)
		if !ok {
			return limit.Peers{}, errBroken
		}
		a.list = a.list[1:]
		p.Keys = append(p.Keys, limit.KeyHealth{Key: name, Suspect: a.int() == 1, For: a.millis()})
	}
	if a.broken {
		return limit.Peers{}, errBroken
	}
	sortKeys(p.Keys)
	return p, nil
}
