package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clientsOn is what the page is told of clients.
func clientsOn(t *testing.T, d *Dashboard) *clientRows {
	t.Helper()
	var g struct {
		Clients *clientRows `json:"clients"`
	}
	if err := json.Unmarshal(d.general, &g); err != nil {
		t.Fatal(err)
	}
	return g.Clients
}

// The page is told at which address anybody can use the keys.
func TestThePageWarnsOfAnOpenRelay(t *testing.T) {
	d, _ := watching()
	for _, at := range []string{"", "[::]:8985"} {
		d.options.Exposed = func() string { return at }
		d.sample(start)
		if want := fmt.Sprintf(`"exposed":%q`, at); !strings.Contains(string(d.general), want) {
			t.Errorf("%s lacks %s", d.general, want)
		}
	}
}

// The page is told of a full house.
func TestThePageWarnsOfAFullHouse(t *testing.T) {
	d, _ := watching()
	d.options.Connections = func() Connections { return Connections{412, 412, true} }
	d.sample(start)
	if want := `"connections":{"open":412,"most":412,"full":true}`; !strings.Contains(string(d.general), want) {
		t.Errorf("%s lacks %s", d.general, want)
	}
}

func TestClientsOfTheLastMinute(t *testing.T) {
	d, _ := watching()
	web := Client{Name: "web", High: true, Requests: 1000, Limited: 5, Refused: 6, InFlight: 1, Waiting: 3}
	list := func() []Client { return []Client{{Name: "bot", Budget: "crawler", Allow: []string{"kr:/"}}, web} }
	d.options.Clients = func() []Client { return list() }
	d.sample(start)
	bot := clientRow{Name: "bot", Budget: "crawler", Allow: []string{"kr:/"}}
	want := func(rate float64, minute, limited, refused int) *clientRows {
		return &clientRows{All: 2, Waiting: 3, List: []clientRow{bot, {
			Name: "web", High: true, Allow: []string{}, Rate: rate, Minute: minute, Limited: limited, Refused: refused, Flight: 1, Waiting: 3,
		}}}
	}
	if diff := cmp.Diff(want(0, 0, 0, 0), clientsOn(t, d)); diff != "" {
		t.Errorf("what was before is not of the last minute: %s", diff)
	}
	web.Requests, web.Limited, web.Refused = 1010, 6, 8
	d.sample(start.Add(2 * time.Second))
	if diff := cmp.Diff(want(5, 10, 1, 2), clientsOn(t, d)); diff != "" {
		t.Error(diff)
	}
	for i := range 58 { // ten calls a second
		web.Requests += 10
		d.sample(start.Add(time.Duration(3+i) * time.Second))
	}
	if diff := cmp.Diff(want(10, 590, 1, 2), clientsOn(t, d)); diff != "" {
		t.Errorf("a minute, from the first sample on: %s", diff)
	}
	web.Requests += 10
	d.sample(start.Add(62 * time.Second))
	if diff := cmp.Diff(want(8, 590, 0, 0), clientsOn(t, d)); diff != "" {
		t.Errorf("the minute goes on: %s", diff)
	}
	if n := len(d.clients["web"]); n > 62 {
		t.Errorf("%d counts are remembered", n)
	}

	// One of the same name that begins anew, and one that is gone.
	web = Client{Name: "web", Requests: 2}
	list = func() []Client { return []Client{web} }
	d.sample(start.Add(63 * time.Second))
	if got := clientsOn(t, d).List[0]; got.Minute != 0 || got.Rate != 0 || len(d.clients) != 1 {
		t.Errorf("begun anew: %+v, %d remembered", got, len(d.clients))
	}
	list = func() []Client { return nil }
	d.sample(start.Add(64 * time.Second))
	if got := clientsOn(t, d); got != nil || len(d.clients) != 0 {
		t.Errorf("without clients the page is told %+v", got)
	}
}

// Of very many clients the busiest are shown.
func TestBusiestClients(t *testing.T) {
	d, _ := watching()
	d.options.Clients = func() []Client {
		var list []Client
		for i := range 3000 {
			list = append(list, Client{Name: fmt.Sprintf("c%04d", i), Waiting: i % 100})
		}
		return list
	}
	d.sample(start)
	got := clientsOn(t, d)
	if got.All != 3000 || got.Waiting != 30*4950 || len(got.List) != mostClients {
		t.Errorf("%d of %d, %d calls wait", len(got.List), got.All, got.Waiting)
	}
	for _, c := range got.List {
		if c.Waiting < 96 {
			t.Errorf("%s is shown with %d waiting", c.Name, c.Waiting)
		}
	}
	if !slices.IsSortedFunc(got.List, func(a, b clientRow) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not by name")
	}
}

// The page links to what there is, and knows whether the relay speaks TLS.
func TestHelloSaysWhatElseThereIs(t *testing.T) {
	for _, on := range []bool{false, true} {
		d, _ := watching()
		d.options.Explorer, d.options.Metrics = on, on
		d.options.Relay = func() string { return "https://127.0.0.1:8985" }
		d.sample(start)
		hello, _, _ := d.join("build")
		for _, want := range []string{fmt.Sprintf(`"explorer":%v,`, on), fmt.Sprintf(`"metrics":%v,`, on), `"relay":"https://127.0.0.1:8985"`} {
			if !strings.Contains(string(hello), want) {
				t.Errorf("no %s in %s", want, hello)
			}
		}
	}
}
