package proxy

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// traffic is what the tunnels to one host do.
type traffic struct {
	open, opened atomic.Int64
	up, down     atomic.Int64 // bytes
}

func (t *traffic) begins() { t.open.Add(1); t.opened.Add(1) }

func (t *traffic) ends() { t.open.Add(-1) }

// TunnelTraffic is what the tunnels to one host do and have done. What is in them
// nobody sees.
type TunnelTraffic struct {
	Host     string
	Open     int64 // now
	Opened   int64 // since the start
	Up, Down int64 // bytes since the start: of clients to the host, and back
}

// Traffic lists all hosts that tunnels may lead to, by name. A nil t has none.
func (t *Tunnels) Traffic() []TunnelTraffic {
	if t == nil {
		return nil
	}
	list := make([]TunnelTraffic, 0, len(t.hosts))
	for host, c := range t.hosts {
		list = append(list, TunnelTraffic{host, c.open.Load(), c.opened.Load(), c.up.Load(), c.down.Load()})
	}
	slices.SortFunc(list, func(a, b TunnelTraffic) int { return cmp.Compare(a.Host, b.Host) })
	return list
}
