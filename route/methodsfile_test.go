package route_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"riftrelay/route"
)

func withMethods(text string) route.Options {
	return route.Options{Methods: strings.NewReader(text)}
}

func methodAt(t *testing.T, table *route.Table, verb, host, path string) *route.Method {
	t.Helper()
	r, err := table.Match(verb, host, path)
	if err != nil {
		t.Fatal(err)
	}
	return r.Method
}

func TestMethodsFileExtends(t *testing.T) {
	table := newTable(t, withMethods("\ufeff# a comment\r\n\r\n"+
		"GET\t/lol/match/v6/matches/{id}\tmatch-v6\t@regions,xx1\tkey\r\n"+
		"  GET /lol/summoner/v4/summoners/by-puuid/{p} summoner-v5 euw1,euw1,br1 rso\n"+ // replaces, with another name
		"PATCH /lol/match/v5/matches/{matchId} match-v5 * key"))
	if got, want := len(table.Methods()), 82+2; got != want {
		t.Errorf("%d methods, want %d", got, want)
	}
	added := methodAt(t, table, "GET", "xx1", "/lol/match/v6/matches/7")
	if want := []string{"americas", "asia", "europe", "sea", "xx1"}; !slices.Equal(added.Hosts, want) || added.Service != "match-v6" {
		t.Errorf("%+v, want hosts %v", added, want)
	}
	replaced := methodAt(t, table, "GET", "euw1", "/lol/summoner/v4/summoners/by-puuid/x")
	if want := []string{"br1", "euw1"}; replaced.Service != "summoner-v5" || replaced.Auth != route.AuthRSO || !slices.Equal(replaced.Hosts, want) {
		t.Errorf("%+v, want the file's row", replaced)
	}
	everywhere := methodAt(t, table, "PATCH", "kr", "/lol/match/v5/matches/7")
	if everywhere.Hosts != nil || everywhere.String() != "PATCH /lol/match/v5/matches/{matchId}" {
		t.Errorf("%v, hosts %v", everywhere, everywhere.Hosts)
	}
	// xx1 is named by a row, so it serves that row only, although nobody listed it.
	_, err := table.Match("GET", "xx1", "/lol/match/v5/matches/7")
	refused(t, err, 404, route.NotServed)
	// The path of the PATCH method is one that GET serves on the regions.
	_, err = table.Match("GET", "kr", "/lol/match/v5/matches/7")
	refused(t, err, 404, route.NotServed)
}

func TestMethodsFileReplaces(t *testing.T) {
	table := newTable(t, withMethods("GET /a/{b} a-v1 xx1,kr key\n!replace\nGET /c c-v1 * key\n"))
	var got []string
	for _, m := range table.Methods() {
		got = append(got, m.String())
	}
	if !slices.Equal(got, []string{"/a/{b}", "/c"}) {
		t.Errorf("methods %v", got)
	}
	methodAt(t, table, "GET", "euw1", "/c")
	methodAt(t, table, "GET", "xx1", "/a/7")
	_, err := table.Match("GET", "euw1", "/lol/status/v4/platform-data")
	refused(t, err, 404, route.UnknownPath)
}

// One line opens a new platform for every row that says @platforms, built-in ones too.
func TestGroupDeclaredAgain(t *testing.T) {
	table := newTable(t, withMethods("@platforms @platforms,xx1\n"))
	methodAt(t, table, "GET", "xx1", "/lol/summoner/v4/summoners/me")
	methodAt(t, table, "GET", "euw1", "/lol/summoner/v4/summoners/me")
	_, err := table.Match("GET", "xx1", "/lol/match/v5/matches/7")
	refused(t, err, 404, route.NotServed)
}

// Where a literal's branch lacks the verb, the parameter's is tried.
func TestVerbBeforeLiteral(t *testing.T) {
	table := newTable(t, withMethods("!replace\nGET /a/me a-v1 * key\nPUT /a/{id} a-v1 * key\nGET /a/{id}/x a-v1 * key\n"))
	for verb, want := range map[string]string{"GET": "/a/me", "PUT": "PUT /a/{id}"} {
		if m := methodAt(t, table, verb, "kr", "/a/me"); m.String() != want {
			t.Errorf("%s /a/me: %s, want %s", verb, m, want)
		}
	}
	if m := methodAt(t, table, "GET", "kr", "/a/me/x"); m.Template != "/a/{id}/x" {
		t.Errorf("/a/me/x: %s", m)
	}
}

// A refusal names each verb of the path once, sorted, and prefers a literal to a parameter where both are near.
func TestRefusalsOfFile(t *testing.T) {
	table := newTable(t, withMethods("!replace\nPUT /a/me a-v1 * key\nGET /a/me a-v1 * key\nPUT /a/{id} a-v1 * key\n"+
		"GET /b/{id}/x b-v1 * key\nGET /b/me/x b-v1 * key\n"))
	_, err := table.Match("POST", "kr", "/a/me")
	if e := refused(t, err, 404, route.UnknownVerb); !strings.HasSuffix(e.Error(), "it has GET, PUT") {
		t.Error(e)
	}
	_, err = table.Match("GET", "kr", "/b/me/y")
	if e := refused(t, err, 404, route.UnknownPath); e.Nearest != "/b/me/x" {
		t.Errorf("nearest %s, want /b/me/x", e.Nearest)
	}
}

// More hosts than a machine word has bits, each with a method of its own.
func TestManyHosts(t *testing.T) {
	var text strings.Builder
	var hosts []string
	for i := range 150 {
		host := fmt.Sprintf("%c%c%d", 'a'+i/10, 'a'+i/10, i%10)
		hosts = append(hosts, host)
		fmt.Fprintf(&text, "GET /own/%s own-v1 %s key\n", host, host)
	}
	table := newTable(t, withMethods(text.String()))
	for _, own := range hosts {
		for _, host := range hosts {
			if _, err := table.Match("GET", host, "/own/"+own); (err == nil) != (host == own) {
				t.Fatalf("%s's method at %s: %v", own, host, err)
			}
		}
	}
}

func TestMethodsFileWrong(t *testing.T) {
	const head = "methods file line "
	for _, c := range []struct {
		name, text string
		want       []string // one a problem: the message starts with it
	}{
		{"fields", "GET /a a-v1 key", []string{head + `1: "GET /a a-v1 key" has 4 fields: want 5: method path service hosts auth`}},
		{"many at once", "\n\nFETCH a A_1 EUW1 none", []string{
			head + `3: method "FETCH": want GET, POST`, head + `3: path "a": want /segments`, head + `3: service "A_1": want lower-case`,
			head + `3: auth "none": want key or RSO`, head + `3: hosts "EUW1": "EUW1" is not a host name: want 2 to 10 letters`,
		}},
		{"HEAD", "HEAD /a a-v1 * key", []string{head + `1: method "HEAD"`}},
		{"lower case", "get /a a-v1 * key", []string{head + `1: method "get"`}},
		{"trailing slash", "GET /a/ a-v1 * key", []string{head + `1: path "/a/": want no empty segment`}},
		{"inner slash", "GET /a//b a-v1 * key", []string{head + `1: path "/a//b": want no empty segment`}},
		{"root", "GET / a-v1 * key", []string{head + `1: path "/": want /segments`}},
		{"dots", "GET /a/.. a-v1 * key", []string{head + `1: path "/a/..": a literal segment`}},
		{"escape", "GET /a%20b a-v1 * key", []string{head + `1: path "/a%20b": a literal segment`}},
		{"part of a segment", "GET /a/x{b} a-v1 * key", []string{head + `1: path "/a/x{b}": a literal segment`}},
		{"brace open", "GET /a/{b a-v1 * key", []string{head + `1: path "/a/{b": a parameter is a whole segment`}},
		{"nameless", "GET /a/{} a-v1 * key", []string{head + `1: path "/a/{}": a parameter is a whole segment`}},
		{"twice in a path", "GET /a/{b}/{b} a-v1 * key", []string{head + `1: path "/a/{b}/{b}": parameter {b} occurs twice`}},
		{"everything", "GET /{a}/b a-v1 * key", []string{head + `1: path "/{a}/b": the first segment is a literal`}},
		{"deep", "GET " + strings.Repeat("/a", 13) + " a-v1 * key", []string{head + `1: path "` + strings.Repeat("/a", 13) + `": want at most 12`}},
		{"long", "GET /" + strings.Repeat("a", 256) + " a-v1 * key", []string{head + `1: path "/aaa`}},
		{"twice in a file", "GET /a/{b} a-v1 * key\nPUT /a/{b} a-v1 * key\nGET /a/{c} a-v1 * key", []string{head + "3: GET /a/{c} is the method of line 1 again"}},
		{"group", "GET /a a-v1 @nowhere,euw1 key", []string{head + `1: hosts "@nowhere,euw1": no group @nowhere is declared here or above: want @accounts, @lor`}},
		{"group of itself", "@new @new", []string{head + `1: hosts "@new": no group @new`}},
		{"group's fields", "@new euw1 na1", []string{head + `1: "@new euw1 na1": a group is @name`}},
		{"group's name", "@New euw1", []string{head + `1: "@New euw1": a group is @name`}},
		{"group's hosts", "@new euw1,", []string{head + `1: hosts "euw1,": "" is not a host name`}},
		{"star among hosts", "GET /a a-v1 euw1,* key", []string{head + `1: hosts "euw1,*": "*" is not a host name`}},
		{"directive", "!replace now\n!drop", []string{head + `1: "!replace now": the only directive is !replace`, head + `2: "!drop": the only`}},
		{"nothing left", "!replace\n# no rows", []string{"methods file: !replace, but no method follows"}},
		{"size", "#" + strings.Repeat("x", 1<<20), []string{"methods file: longer than 1048576 bytes"}},
		{"binary", "\x00\xff\x1b[31m", []string{head + `1: "\x00\xff\x1b[31m" has 1 fields`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := route.New(withMethods(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(lines), len(c.want), err)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("%s\nwant %s …", lines[i], want)
				}
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, err := route.New(withMethods(strings.Repeat("<p>\n", 100_000)))
	if n := strings.Count(err.Error(), "\n") + 1; n != 26 {
		t.Errorf("%d lines, want 25 and one that says there are more", n)
	}
}

func TestRowsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "GET /x/%d x-v1 * key\n", i)
	}
	if _, err := route.New(withMethods(text.String())); err == nil || !strings.Contains(err.Error(), "more than 4096 methods") {
		t.Errorf("%v", err)
	}
}

// Hosts and file are checked together, so one start shows every mistake.
func TestProblemsOfBoth(t *testing.T) {
	_, err := route.New(route.Options{Hosts: "EUW1", Methods: strings.NewReader("x")})
	if err == nil || !strings.Contains(err.Error(), "hosts: ") || !strings.Contains(err.Error(), "methods file line 1") {
		t.Errorf("%v", err)
	}
}

func TestMethodsFileUnreadable(t *testing.T) {
	gone := errors.New("gone")
	if _, err := route.New(route.Options{Methods: iotest.ErrReader(gone)}); !errors.Is(err, gone) {
		t.Errorf("%v, want the reader's error", err)
	}
}
