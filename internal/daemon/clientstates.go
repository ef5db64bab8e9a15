package daemon

import (
	"riftrelay/internal/admin"
	"riftrelay/internal/dashboard"
)

// clientStates are the relay's clients as the admin API tells of them.
func (r *relay) clientStates() []admin.Client {
	states := r.handler.Clients()
	list := make([]admin.Client, len(states))
	for i, s := range states {
		list[i] = admin.Client{
			Name: s.Name, Budget: s.Budget, High: !s.NoHigh, Allow: make([]string, len(s.Allow)),
			Requests: s.Calls, Limited: s.Limited, Refused: s.Refused, InFlight: max(0, s.Open-s.Waiting), Waiting: s.Waiting,
		}
		for j, a := range s.Allow {
			list[i].Allow[j] = a.String()
		}
	}
	return list
}

// clientRows are they as the page samples them.
func (r *relay) clientRows() []dashboard.Client {
	states := r.clientStates()
	list := make([]dashboard.Client, len(states))
	for i, s := range states {
		list[i] = dashboard.Client{
			Name: s.Name, Budget: s.Budget, High: s.High, Allow: s.Allow,
			Requests: s.Requests, Limited: s.Limited, Refused: s.Refused, InFlight: s.InFlight, Waiting: s.Waiting,
		}
	}
	return list
}
