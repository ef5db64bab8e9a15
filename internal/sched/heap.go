package sched

import "riftrelay/internal/limit"

// node is an element of a heap, ordered by key: a lane, a host, an account, a
// queue or a client.
type node struct {
	key     int64
	last    int64 // of equal keys the one with the lower last is first
	pos     int   // index in its heap, -1 outside
	lane    *lane
	host    *host
	account *account
	queue   *queue
	client  *client
}

// heap is a binary heap of nodes, the smallest key first, in which every node
// knows its place.
type heap []*node

func (h heap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h heap) less(i, j int) bool { return h[i].less(h[j]) }

func (n *node) less(o *node) bool { return n.key < o.key || n.key == o.key && n.last < o.last }

func (h heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h heap) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *heap) push(n *node, key int64) {
	n.key, n.pos = key, len(*h)
	*h = append(*h, n)
	h.up(n.pos)
}

func (h *heap) remove(n *node) {
	i, last := n.pos, len(*h)-1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	n.pos = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *heap) fix(n *node, key int64) {
	n.key = key
	h.down(n.pos)
	h.up(n.pos)
}

// rank puts a node where it belongs, whether it was in the heap or not.
func (h *heap) rank(n *node, key, last int64) {
	if n.last = last; n.pos < 0 {
		h.push(n, key)
	} else {
		h.fix(n, key)
	}
}

func (h heap) top() limit.Instant {
	if len(h) == 0 {
		return limit.Never
	}
	return limit.Instant(h[0].key)
}
