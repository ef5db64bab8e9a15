package sched

import (
	"testing"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// checkMachine holds what must be true of a machine between any two calls.
func checkMachine(t testing.TB, m *Machine, now limit.Instant) {
	t.Helper()
	checkKeys(t, m)
	checkClients(t, m)
	queued, buckets := 0, map[*host]int{}
	waiting := map[*host]*[2]int{}
	keyed := map[*host]int{}
	for id, b := range m.buckets {
		h := b.host
		if id != (bucketID{h.name, b.method, b.keyless}) || m.hosts[h.name] != h {
			t.Fatalf("bucket %v is not where it belongs", id)
		}
		buckets[h]++
		if waiting[h] == nil {
			waiting[h] = new([2]int)
		}
		inBucket, normal := 0, 0
		for _, l := range b.lanes {
			checkLane(t, l)
			c := l.line.class
			inBucket += l.n
			waiting[h][index(c.high)] += l.n
			if !c.high {
				normal += l.n
				if !c.keyless {
					keyed[h] += l.n
				}
			}
		}
		if b.queued != inBucket || b.normal != normal || b.credit < 0 || b.credit > fairShare || normal == 0 && b.credit > 0 {
			t.Fatalf("bucket %v: queued %d, want %d; normal %d, want %d; credit %d", id, b.queued, inBucket, b.normal, normal, b.credit)
		}
		queued += inBucket
	}
	if m.queued != queued {
		t.Fatalf("queued %d, want %d", m.queued, queued)
	}
	for _, h := range m.hosts {
		w := waiting[h]
		if w == nil || *w != h.waiting || h.keyed != keyed[h] || h.buckets != buckets[h] {
			t.Fatalf("host %s: waiting %v, want %v; keyed %d, want %d; buckets %d, want %d", h.name, h.waiting, w, h.keyed, keyed[h], h.buckets, buckets[h])
		}
		if h.credit < 0 || h.credit > fairShare || h.keyed == 0 && h.credit > 0 {
			t.Fatalf("host %s: credit %d", h.name, h.credit)
		}
		if (h.pos >= 0) == h.empty() {
			t.Fatalf("host %s: in the heap %v, empty %v", h.name, h.pos >= 0, h.empty())
		}
		if h.pos >= 0 && limit.Instant(h.key) > max(now, h.wakeAt()) {
			t.Fatalf("host %s sleeps until %d, its lines can go on at %d", h.name, h.key, h.wakeAt())
		}
		busy := 0
		for _, q := range h.lines {
			if n := len(q.ready) + len(q.parked) + len(q.split); n != q.lanes || n > 0 && h.busy[q.pos] != q {
				t.Fatalf("host %s: a line of %d lanes, want %d, place %d", h.name, q.lanes, n, q.pos)
			}
			if q.lanes > 0 {
				busy++
			}
			for _, heap := range []*heap{&q.ready, &q.parked, &q.split} {
				checkHeap(t, *heap)
				for _, n := range *heap {
					if n.lane.in != heap || n.lane.line != q || n.lane.n == 0 {
						t.Fatalf("host %s: a lane is in a heap that isn't its own, or without calls", h.name)
					}
				}
			}
			for _, n := range q.ready {
				if q := n.lane.queues[0]; n.key != q.key || n.last != q.last {
					t.Fatalf("host %s: a ready lane is ordered by %d, %d, its first queue by %d, %d", h.name, n.key, n.last, q.key, q.last)
				}
			}
		}
		if busy != len(h.busy) {
			t.Fatalf("host %s: %d lines are busy, want %d", h.name, len(h.busy), busy)
		}
	}
	checkHeap(t, m.wakes)
	for i, p := range m.permits {
		if p.index != i || m.buckets[bucketID{p.bucket.host.name, p.bucket.method, p.bucket.keyless}] != p.bucket {
			t.Fatalf("permit %d: index %d, or its bucket was dropped", i, p.index)
		}
	}
}

func checkLane(t testing.TB, l *lane) {
	t.Helper()
	n, queues := 0, 0
	var last *queue
	checkHeap(t, l.queues)
	for q := l.head; q != nil; q = q.next {
		if q.lane != l || q.prev != last || l.queues[q.pos].queue != q || l.find(q.party.client.name) != q {
			t.Fatal("a lane's list is torn")
		}
		checkQueue(t, q)
		last = q
		n += q.n
		queues++
	}
	levels := 0
	for k, level := range l.levels {
		if level < 0 || k > 0 && level > l.levels[k-1] {
			t.Fatalf("levels of a lane: %v", l.levels)
		}
		levels += int(level)
	}
	if l.tail != last || l.n != n || n < maxLevels && levels != n || len(l.queues) != queues || l.recent != nil && l.recent != l.tail || (n > 0) != (l.in != nil) || (n > 0) != (l.pos >= 0) {
		t.Fatalf("a lane of %d calls: n %d, in a heap %v, place %d", n, l.n, l.in != nil, l.pos)
	}
}

func checkQueue(t testing.TB, q *queue) {
	t.Helper()
	n := 0
	var last *Waiter
	for w := q.head; w != nil; w = w.next {
		if w.queue != q || w.prev != last {
			t.Fatal("a queue's list is torn")
		}
		last = w
		n++
	}
	if p := q.party; q.tail != last || q.n != n || n == 0 || p.queues[q.place] != q || q.key != p.key || q.node.last != q.served {
		t.Fatalf("a queue of %d calls, %d counted: %+v", n, q.n, q)
	}
}

// checkClients holds that those are known of which calls wait, and no others.
func checkClients(t testing.TB, m *Machine) {
	t.Helper()
	checkHeap(t, m.crowd)
	queued, parties := 0, map[*host][2]int{}
	for name, c := range m.clients {
		n := 0
		for _, p := range c.parties {
			all := p.host.parties[index(p.high)]
			if p.client != c || all[p.pos] != p || len(p.queues) == 0 || len(all) > 1 && p.key != p.served {
				t.Fatalf("a party of %q is not where it belongs: %+v", name, p)
			}
			for _, q := range p.queues {
				n += q.n
			}
			count := parties[p.host]
			count[index(p.high)]++
			parties[p.host] = count
		}
		if c.name != name || c.n != n || n == 0 || c.key != -int64(n) || m.crowd[c.pos].client != c {
			t.Fatalf("client %q: %d calls, counted %d", name, n, c.n)
		}
		queued += n
	}
	if queued != m.queued || len(m.crowd) != len(m.clients) {
		t.Fatalf("%d calls of clients, want %d; %d of %d clients", queued, m.queued, len(m.crowd), len(m.clients))
	}
	for _, h := range m.hosts {
		if n := parties[h]; len(h.parties[0]) != n[0] || len(h.parties[1]) != n[1] {
			t.Fatalf("host %s: %d and %d parties, want %v", h.name, len(h.parties[0]), len(h.parties[1]), n)
		}
	}
}

func checkHeap(t testing.TB, h heap) {
	t.Helper()
	for i, n := range h {
		if n.pos != i || i > 0 && h[(i-1)/2].key > n.key {
			t.Fatalf("heap out of order at %d", i)
		}
	}
}

// earliest returns the moment at which a call of lane l can go on any key, asked
// the long way round.
func earliest(m *Machine, now limit.Instant, l *lane) limit.Instant {
	b, p := l.bucket, policyOf(m, l)
	if b.keyless {
		return max(b.service.Next(now), m.method(b, 0).Next(now, p))
	}
	at := limit.Never
	c := l.line.class
	ids := m.choice(now, b, c, p)
	for _, key := range ids {
		avoided := limit.Instant(0)
		if c.pin < 0 {
			avoided = m.ring.shuns(now, b, key, ids)
		}
		if m.ring.from[key] == probesOnly {
			avoided = b.endpoint.next(key)
		}
		at = min(at, max(m.ring.from[key], avoided, b.service.Next(now), m.app(b.host, key).Next(now, p), m.method(b, key).Next(now, p)))
	}
	return at
}

// policyOf returns the policy of a lane's calls, for a margin that stays.
func policyOf(m *Machine, l *lane) window.Policy {
	return m.policy(l.bucket.host, l.line.class, l.line.class.high)
}

// checkKeys holds that from says of each key what its other fields mean.
func checkKeys(t testing.TB, m *Machine) {
	t.Helper()
	for id, k := range m.ring.keys {
		want := limit.Instant(0)
		if k.suspect {
			want = probesOnly
		}
		if k.disabled {
			want = limit.Never
		}
		if from := m.ring.from[id]; from != want {
			t.Fatalf("key %d takes calls from %d, want %d: %+v", id, from, want, k)
		}
	}
}
