package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Client is somebody with a token: what it may do, does, and has had since the
// relay started.
type Client struct {
	Name     string   `json:"name"`
	Budget   string   `json:"budget"`        // of all its calls; empty: the client chooses
	High     bool     `json:"high_priority"` // it may ask for high priority
	Allow    []string `json:"allow"`         // what it may call, as in CLIENT_<name>_ALLOW; none = all
	Requests int      `json:"requests"`      // that ended
	Limited  int      `json:"limited"`       // of them, answered by a 429 of Riot's
	Refused  int      `json:"refused"`       // of them, refused by the relay
	InFlight int      `json:"in_flight"`     // let go to Riot, not answered in full
	Waiting  int      `json:"waiting"`
}

// state tells of the limiter and of who uses it.
func (o *Options) state() *State {
	s := stateOf(o.Limiter.Snapshot())
	s.Clients = []Client{}
	if o.Clients != nil {
		s.Clients = append(s.Clients, o.Clients()...)
	}
	s.Connections = []Connections{}
	if o.Connections != nil {
		s.Connections = o.Connections()
	}
	return s
}

// caps says what a client may not do that others may.
func (c Client) caps() string {
	var caps []string
	if !c.High {
		caps = append(caps, "no high priority")
	}
	if len(c.Allow) > 0 {
		caps = append(caps, "only "+strings.Join(c.Allow, ", "))
	}
	return cmp.Or(strings.Join(caps, "; "), "-")
}

func (p *printer) clients(clients []Client) {
	slices.SortStableFunc(clients, func(a, b Client) int { return cmp.Compare(b.Waiting, a.Waiting) })
	var rows [][]cell
	for _, c := range clients {
		refused := cell{fmt.Sprint(c.Refused), ""}
		if c.Refused > 0 {
			refused.code = "33"
		}
		rows = append(rows, []cell{
			{c.Name, ""}, {fmt.Sprint(c.Waiting), "1"}, {fmt.Sprint(c.InFlight), ""}, {fmt.Sprint(c.Requests), ""}, {fmt.Sprint(c.Limited), ""}, refused,
			{cmp.Or(c.Budget, "-"), ""}, {c.caps(), ""},
		})
	}
	if len(rows) > 0 {
		p.table("Clients, since the start", []string{"client", ">waiting", ">in flight", ">requests", ">429s", ">refused", "budget", "caps"}, rows)
	}
}
