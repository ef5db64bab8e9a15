package metrics

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"riftrelay"
	"riftrelay/route"
)

// The labels have the names and values that the relay's first version gave them:
//
//   - region: a host of Riot's, "euw1".
//   - endpoint: a method's template without the leading slash,
//     "lol/match/v5/matches/{matchId}". Where a template has a GET and another
//     verb, the other one stands in front: "PUT lol/tournament/v5/codes/{tournamentCode}".
//   - bucket: region:endpoint.
//   - priority: normal or high.
//   - budget_id: a budget's name; default for none.

// other stands for what must not become a label of its own.
const other = "other"

// noBudget is the label of calls without a budget.
const noBudget = riftrelay.NoBudget

// region returns the label of a route's host.
func (m *Metrics) region(host string) string {
	if host == "" || m.regions[host] {
		return host
	}
	return other
}

// endpoint returns the label of a method, named as route.Method.String does.
func (m *Metrics) endpoint(method string) string {
	verb, template, some := strings.Cut(method, " ")
	if !some {
		verb, template = "", method
	}
	name := strings.TrimPrefix(template, "/")
	if verb != "" && m.verbs[template] {
		return verb + " " + name
	}
	return name
}

// place is a route as labels are made from it: its region is a label already.
type place struct {
	region string
	method *route.Method // nil without a route
}

// elsewhere is the place of all that is too much.
var elsewhere = place{region: other, method: &route.Method{Template: other}}

func (m *Metrics) place(r route.Route) place {
	if r.Method == nil {
		return place{}
	}
	return place{m.region(r.Host), r.Method}
}

// labels returns region and endpoint.
func (m *Metrics) labels(p place) (region, endpoint string) {
	if p.method == nil {
		return p.region, ""
	}
	return p.region, m.endpoint(p.method.String())
}

// coarse returns the place as histograms count it: without its method where
// endpoints are left out of them.
func (m *Metrics) coarse(p place) place {
	if m.plain {
		p.method = nil
	}
	return p
}

// bucket returns the label bucket of a coarse place.
func (m *Metrics) bucket(p place) string {
	region, endpoint := m.labels(p)
	if endpoint == "" {
		return region
	}
	return region + ":" + endpoint
}

// budget returns the label budget_id of an admission.
func budget(e riftrelay.AdmissionEvent) string {
	if e.Reason == riftrelay.ReasonInvalidBudget {
		return other
	}
	return cmp.Or(e.Budget, noBudget)
}

// noAnswer returns the status that stands for an answer that didn't come, by why
// it didn't: the one that the client gets.
func noAnswer(err error) int {
	switch {
	case errors.Is(err, context.Canceled):
		return 499
	case errors.Is(err, riftrelay.ErrUpstreamTimeout), errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}
