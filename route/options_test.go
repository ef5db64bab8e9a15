package route_test

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"riftrelay/route"
)

func TestHostsAdded(t *testing.T) {
	table := newTable(t, route.Options{Hosts: " +xx1, yy2,+euw1 "})
	if got, want := len(table.Hosts()), len(route.Default().Hosts())+2; got != want || !slices.IsSorted(table.Hosts()) {
		t.Errorf("%d hosts %v, want %d, sorted", got, table.Hosts(), want)
	}
	for _, m := range table.Methods() {
		// A new host may serve anything, and a built-in one named again serves what it did.
		for _, host := range []string{"xx1", "yy2"} {
			if r, err := table.Match(m.Verb, host, sample(m.Template)); err != nil || r.Method != m || !slices.Contains(m.Hosts, host) {
				t.Errorf("%s at %s: %v, %v; hosts %v", m, host, r, err, m.Hosts)
			}
		}
	}
	_, err := table.Match("GET", "euw1", "/lol/match/v5/matches/EUW1_7")
	refused(t, err, 404, route.NotServed)
}

func TestHostsReplaced(t *testing.T) {
	table := newTable(t, route.Options{Hosts: "euw1,xx1,euw1"})
	if got := table.Hosts(); !slices.Equal(got, []string{"euw1", "xx1"}) {
		t.Errorf("hosts %v", got)
	}
	for _, c := range []struct {
		host, path string
		problem    route.Problem // 0 = matches
	}{
		{"euw1", "/lol/status/v4/platform-data", 0},
		{"xx1", "/lol/status/v4/platform-data", 0},
		{"xx1", "/val/status/v1/platform-data", 0},
		{"euw1", "/val/status/v1/platform-data", route.NotServed},
		{"kr", "/lol/status/v4/platform-data", route.UnknownHost},
	} {
		_, err := table.Match("GET", c.host, c.path)
		if c.problem == 0 {
			if err != nil {
				t.Errorf("%s %s: %v", c.host, c.path, err)
			}
			continue
		}
		refused(t, err, 404, c.problem)
	}
	for _, m := range table.Methods() {
		if m.Hosts == nil || !slices.Contains(table.Hosts(), m.Hosts[0]) {
			t.Errorf("%s: hosts %v, which aren't all listed", m, m.Hosts)
		}
	}
}

// A method that no listed host serves is not in the list, and its refusal still says what it is.
func TestMethodWithoutHost(t *testing.T) {
	table := newTable(t, route.Options{Hosts: "euw1"})
	for _, m := range table.Methods() {
		if !slices.Equal(m.Hosts, []string{"euw1"}) {
			t.Errorf("%s: hosts %v, want euw1", m, m.Hosts)
		}
	}
	_, err := table.Match("GET", "euw1", "/lol/match/v5/matches/EUW1_7")
	refused(t, err, 404, route.NotServed)
}

func TestHostsWrong(t *testing.T) {
	for option, names := range map[string][]string{
		"+":                             {`""`},
		"euw1,":                         {`""`},
		"EUW1":                          {`"EUW1"`},
		"+a,euw11,localhost.,good1,x/y": {`"a"`, `"euw11"`, `"localhost."`, `"x/y"`},
		"euw1,+na1":                     {`"+na1"`},
		"abcdefghijk":                   {`"abcdefghijk"`},
		"1euw":                          {`"1euw"`},
	} {
		_, err := route.New(route.Options{Hosts: option})
		if err == nil {
			t.Errorf("%q: no error", option)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(names) {
			t.Errorf("%q: %d problems, want %d:\n%v", option, len(lines), len(names), err)
			continue
		}
		for i, name := range names {
			if !strings.HasPrefix(lines[i], "hosts: "+name) || !strings.Contains(lines[i], "2 to 10 letters") {
				t.Errorf("%q: %s; want the value %s and the rule", option, lines[i], name)
			}
		}
	}
}

func TestForwardUnknownHosts(t *testing.T) {
	table := newTable(t, route.Options{ForwardUnknownHosts: true})
	path := "/xx1/lol/match/v5/matches/EUW1_7"
	host, rest, _ := table.Split(path)
	r, err := table.Match("GET", host, rest)
	if err != nil || r.String() != "xx1:/lol/match/v5/matches/{matchId}" {
		t.Fatalf("%v, %v", r, err)
	}
	if unsafe.StringData(r.Host) == unsafe.StringData(host) {
		t.Error("the route keeps the request's path alive")
	}
	if _, err := table.Match("GET", "euw1", rest); err == nil {
		t.Error("a listed host serves what its rows don't say")
	}
	if _, err := table.Match("GET", "xx1", "/no/such"); err == nil {
		t.Error("an unknown path was forwarded")
	}
	for _, bad := range []string{"", "e", "XX1", "xx12", "xx-1", "xx.evil", "evil.com#", "xx1:80", "user@xx", "abcdefghijk", "1", "..", "%78x1"} {
		_, err := table.Match("GET", bad, rest)
		t.Run(bad, func(t *testing.T) { refused(t, err, 404, route.UnknownHost) })
	}
}

func TestForwardUnknownPaths(t *testing.T) {
	table := newTable(t, route.Options{ForwardUnknownPaths: true})
	methods := map[*route.Method]bool{}
	for _, c := range []struct{ verb, path string }{
		{"GET", "/no/such"}, {"POST", "/no/such"}, {"OPTIONS", "/a"}, {"GET", "/x" + strings.Repeat("/x", 40)},
		{"DELETE", "/lol/match/v5/matches/EUW1_7"}, // a verb that the path doesn't have
		{"GET", "/lol/summoner/v4/summoners/me"},   // a method that europe doesn't serve
	} {
		r, err := table.Match(c.verb, "europe", c.path)
		if err != nil || r.String() != "europe:{unknown}" || r.Method.Template != route.UnknownTemplate || r.Method.Hosts != nil {
			t.Errorf("%s %s: %v, %v", c.verb, c.path, r, err)
		}
		methods[r.Method] = true
	}
	if len(methods) != 1 {
		t.Errorf("%d methods for unknown paths, want one", len(methods))
	}
	if r, err := table.Match("GET", "europe", "/lol/match/v5/matches/EUW1_7"); err != nil || r.Method.Template == route.UnknownTemplate {
		t.Errorf("a known path: %v, %v", r, err)
	}
	_, err := table.Match("GET", "xx1", "/no/such")
	refused(t, err, 404, route.UnknownHost)
	_, err = table.Match("GET", "euw1", "/")
	refused(t, err, 404, route.NoPath)
}

func TestTablesAreTheirOwn(t *testing.T) {
	a, b := route.Default(), route.Default()
	a.Hosts()[0], a.Methods()[0] = "changed", nil
	if a.Hosts()[0] == "changed" || a.Methods()[0] == nil {
		t.Error("a caller can change the table")
	}
	if a.Methods()[0] == b.Methods()[0] {
		t.Error("two tables share a method")
	}
}
