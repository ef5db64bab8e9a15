package daemon

import (
	"time"

	"riftrelay/internal/admin"
	"riftrelay/internal/conns"
	"riftrelay/internal/dashboard"
	"riftrelay/internal/metrics"
)

// eachListener calls f with what each listener has that serves.
func (r *relay) eachListener(f func(name string, s conns.Stats)) {
	for i, s := range r.servers() {
		if l := s.conns.Load(); l != nil {
			f([...]string{"relay", "admin"}[i], l.Stats())
		}
	}
}

// connectionStates are clients' connections as the admin API tells of them.
func (r *relay) connectionStates() []admin.Connections {
	list := []admin.Connections{}
	r.eachListener(func(name string, s conns.Stats) {
		c := admin.Connections{
			Listener: name, Most: s.Most, Open: s.Open, Silent: s.In[conns.Silent], Begun: s.In[conns.Begun], Active: s.In[conns.Active],
			Idle: s.In[conns.Idle], Ending: s.In[conns.Ending], Closed: int(s.Closed), Refused: int(s.Refused),
		}
		if !s.Full.IsZero() {
			ago := admin.Seconds(time.Since(s.Full).Seconds())
			c.Full = &ago
		}
		list = append(list, c)
	})
	return list
}

// connectionMetrics are they as the metrics have them.
func (r *relay) connectionMetrics() []metrics.Connections {
	var list []metrics.Connections
	r.eachListener(func(name string, s conns.Stats) {
		open := make(map[string]int, conns.States)
		for state := range conns.States {
			open[state.String()] = s.In[state]
		}
		list = append(list, metrics.Connections{Listener: name, Most: s.Most, Open: open, Closed: s.Closed, Refused: s.Refused})
	})
	return list
}

// connectionsOnPage are those of the relay's port, for the page.
func (r *relay) connectionsOnPage() dashboard.Connections {
	l := r.front.conns.Load()
	if l == nil {
		return dashboard.Connections{}
	}
	s := l.Stats()
	return dashboard.Connections{Open: s.Open, Most: s.Most, Full: !s.Full.IsZero() && time.Since(s.Full) < time.Minute}
}
