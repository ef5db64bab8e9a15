package dashboard

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Client is somebody with a token: what it may do, does, and has had since it
// was first known.
type Client struct {
	Name   string
	Budget string   // of all its calls; empty: the client chooses
	High   bool     // it may ask for high priority
	Allow  []string // what it may call; none = all

	Requests int // that ended
	Limited  int // of them, answered by a 429 of Riot's
	Refused  int // of them, refused by the relay
	InFlight int
	Waiting  int
}

const (
	mostClients = 100 // that are shown
	countsOver  = time.Minute
)

// clientMark is what a client's counts were.
type clientMark struct {
	at                         time.Time
	requests, limited, refused int
}

// clientRow is a client on the wire. Counts are those of the last minute.
type clientRow struct {
	Name    string   `json:"name"`
	Budget  string   `json:"budget"`
	High    bool     `json:"high"`
	Allow   []string `json:"allow"`
	Rate    float64  `json:"rate"` // calls that ended, a second
	Minute  int      `json:"minute"`
	Limited int      `json:"limited"`
	Refused int      `json:"refused"`
	Flight  int      `json:"flight"`
	Waiting int      `json:"waiting"`
}

// clientRows are the clients that are shown: all, or of many those that are
// busiest.
type clientRows struct {
	All     int         `json:"all"`
	Waiting int         `json:"waiting"` // calls of all of them
	List    []clientRow `json:"list"`    // by name
}

// clientPasts remembers the last minute of each client's counts, by name.
type clientPasts map[string][]clientMark

// at brings the past up to now; nil when there are no clients.
func (p clientPasts) at(now time.Time, list []Client) *clientRows {
	if len(list) == 0 {
		clear(p)
		return nil
	}
	rows := &clientRows{All: len(list), List: make([]clientRow, len(list))}
	for i := range list {
		rows.List[i] = p.row(now, &list[i])
		rows.Waiting += list[i].Waiting
	}
	if len(p) > len(list) { // some are gone
		for name := range p {
			if !slices.ContainsFunc(list, func(c Client) bool { return c.Name == name }) {
				delete(p, name)
			}
		}
	}
	if len(rows.List) > mostClients {
		slices.SortStableFunc(rows.List, func(a, b clientRow) int {
			return cmp.Or(cmp.Compare(b.Waiting+b.Flight, a.Waiting+a.Flight), cmp.Compare(b.Minute, a.Minute))
		})
		rows.List = rows.List[:mostClients]
	}
	slices.SortFunc(rows.List, func(a, b clientRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

func (p clientPasts) row(now time.Time, c *Client) clientRow {
	marks := p[c.Name]
	latest := clientMark{now, c.Requests, c.Limited, c.Refused}
	if n := len(marks); n > 0 && marks[n-1].requests > latest.requests {
		marks = nil // another client of that name
	}
	marks = append(marks, latest)
	for len(marks) > 1 && now.Sub(marks[1].at) >= countsOver {
		marks = marks[1:]
	}
	p[c.Name] = marks

	since := marks[0]
	few := since // the counts of some seconds ago
	for i := len(marks) - 2; i > 0; i-- {
		if now.Sub(marks[i].at) >= rateOver {
			few = marks[i]
			break
		}
	}
	rate := 0.0
	if over := now.Sub(few.at).Seconds(); over > 0 {
		rate = math.Round(10*float64(latest.requests-few.requests)/over) / 10
	}
	return clientRow{
		Name: c.Name, Budget: c.Budget, High: c.High, Allow: append([]string{}, c.Allow...), Rate: rate,
		Minute: latest.requests - since.requests, Limited: latest.limited - since.limited, Refused: latest.refused - since.refused,
		Flight: c.InFlight, Waiting: c.Waiting,
	}
}
