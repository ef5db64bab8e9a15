package sched

import "riftrelay/internal/limit"

// A machine whose calls don't wait asks the store nothing, and so doesn't know what
// other replicas use.

// lookAfter is how old what the store said of a budget may be for an estimate.
const lookAfter = limit.MostWait

// Look returns questions for an estimate of r, which want no permits: one for each
// key of which it isn't known what other replicas use. Their answers go to Replied,
// or Failed.
func (m *Machine) Look(now limit.Instant, r Request) (list []*Ask) {
	const most = 4 // keys
	h, b := m.hosts[r.Host], m.buckets[bucketID{r.Host, r.Method, r.Keyless}]
	if m.desk == nil || m.desk.alone || h == nil {
		return nil
	}
	ids := []int{-1}
	if !r.Keyless {
		ids = m.ring.candidates(r.class())
	}
	for _, id := range ids[:min(len(ids), most)] {
		a := m.account(h, id)
		if a.asking || a.owes() || id >= 0 && m.app(h, id).Heard(now) < lookAfter {
			continue
		}
		q := &Ask{Key: id, Host: h.name, account: a}
		q.Burst, q.Margin = m.cfg.Burst, h.margin.J()
		if id >= 0 {
			q.Assumed = m.cfg.Assumed
		}
		if b != nil && at(b.set.scopes, max(id, 0)) != nil {
			q.Demands, q.buckets, q.wants = []limit.Demand{{Method: b.method}}, []*bucket{b}, [][2]int{{}}
		}
		a.asking = true
		list = append(list, q)
	}
	return list
}
