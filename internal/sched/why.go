package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Part is what of Riot's rules a call waits for.
type Part uint8

// The parts.
const (
	NoPart      Part = iota // nothing: it goes next
	Application             // the key's budget on the host
	Method                  // the key's budget for the method
	Service                 // the method, for all keys
	NoUsableKey             // a key that is beyond suspicion
	OtherKey                // the key is good, but was refused this method
)

// Why is what holds the head of a queue back: {Application, key 1, {Full, until
// 3s, 100:120}} on key 1, of those it could go on the first with room.
type Why struct {
	Part Part
	Key  int // id; -1 where no key is concerned
	window.Why
	Start limit.Instant // when the head is predicted to start; not before Until, where that is known
}

// why tells what the head of lane l waits for. It costs a look at each key.
func (m *Machine) why(now limit.Instant, l *lane) Why {
	p := m.policy(l.bucket.host, l.line.class, l.line.class.high)
	y := m.hindrance(now, l, p)
	y.Start = m.predict(now, l, l.turn().party.client.name, 1)
	if y.Until < limit.Never && y.Hindrance != window.Solo { // an answer may come earlier
		y.Start = max(y.Start, y.Until)
	}
	return y
}

// Why tells what holds back the next call like r. It changes nothing.
func (m *Machine) Why(now limit.Instant, r Request) Why {
	l := m.laneOf(r)
	y := m.hindrance(now, l, m.policy(l.bucket.host, l.line.class, l.line.class.high))
	y.Start = limit.Never
	return y
}

func (m *Machine) hindrance(now limit.Instant, l *lane, p window.Policy) Why {
	b, c := l.bucket, l.line.class
	if m.closed() {
		return Why{Key: -1, Why: window.Why{Hindrance: window.Shared, Until: limit.Never}}
	}
	if b.keyless {
		return longer(Why{Key: -1, Part: Service, Why: b.service.Why(now)}, Why{Key: -1, Part: Method, Why: m.method(b, 0).Why(now, p)}).orNext(now)
	}
	ids := m.ring.candidates(c)
	if first := m.choice(now, b, c, p); c.first && len(first) == 1 && m.ring.from[first[0]] == 0 {
		ids = first // another key that has room is of no use to it
	}
	best := Why{Why: window.Why{Until: limit.Never}, Key: -1}
	for _, id := range ids {
		if m.ring.from[id] != 0 {
			continue // suspect
		}
		y := longer(Why{Key: id, Part: Application, Why: m.app(b.host, id).Why(now, p)}, Why{Key: id, Part: Method, Why: m.method(b, id).Why(now, p)})
		if b.endpoint.keys != nil && c.pin < 0 {
			y = longer(y, Why{Key: id, Part: OtherKey, Why: window.Why{Until: m.ring.shuns(now, b, id, ids)}})
		}
		if best.Key < 0 || y.Until < best.Until {
			best = y
		}
	}
	if best.Key < 0 {
		return Why{Key: -1, Part: NoUsableKey, Why: window.Why{Until: m.nextProbe(now, b, c)}}
	}
	return longer(best, Why{Key: -1, Part: Service, Why: b.service.Why(now)}).orNext(now)
}

// longer returns the one that lasts longer; a, if they end together.
func longer(a, b Why) Why {
	if b.Until > a.Until {
		return b
	}
	return a
}

// orNext is y, unless that is over.
func (y Why) orNext(now limit.Instant) Why {
	if y.Until <= now {
		return Why{Key: y.Key, Why: window.Why{Until: now}}
	}
	return y
}
