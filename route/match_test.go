package route_test

import (
	"errors"
	"strings"
	"testing"

	"riftrelay/route"
)

func newTable(t testing.TB, o route.Options) *route.Table {
	t.Helper()
	table, err := route.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// refused checks that err is a refusal and returns it.
func refused(t *testing.T, err error, status int, problem route.Problem) *route.Error {
	t.Helper()
	var e *route.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *route.Error", err)
	}
	if e.Status != status || e.Problem != problem || e.Reason != "invalid_route" || e.Error() == "" {
		t.Fatalf("%+v, want status %d, problem %d", e, status, problem)
	}
	return e
}

func TestMatch(t *testing.T) {
	table := route.Default()
	for _, c := range []struct{ verb, host, path, want string }{
		{"GET", "europe", "/lol/match/v5/matches/EUW1_7", "europe:/lol/match/v5/matches/{matchId}"},
		{"GET", "europe", "/lol/match/v5/matches/EUW1_7/", "europe:/lol/match/v5/matches/{matchId}"},
		{"GET", "europe", "/lol/match/v5/matches/by-puuid", "europe:/lol/match/v5/matches/{matchId}"},
		{"GET", "europe", "/lol/match/v5/matches/by-puuid/timeline", "europe:/lol/match/v5/matches/{matchId}/timeline"},
		{"GET", "europe", "/lol/match/v5/matches/by-puuid/x/ids", "europe:/lol/match/v5/matches/by-puuid/{puuid}/ids"},
		{"GET", "euw1", "/lol/clash/v1/tournaments", "euw1:/lol/clash/v1/tournaments"},
		{"GET", "euw1", "/lol/clash/v1/tournaments/", "euw1:/lol/clash/v1/tournaments"},
		{"GET", "euw1", "/lol/clash/v1/tournaments/5", "euw1:/lol/clash/v1/tournaments/{tournamentId}"},
		{"GET", "euw1", "/lol/clash/v1/tournaments/by-team/5", "euw1:/lol/clash/v1/tournaments/by-team/{teamId}"},
		{"GET", "europe", "/lol/rso-match/v1/matches/ids", "europe:/lol/rso-match/v1/matches/ids"},
		{"GET", "europe", "/lol/rso-match/v1/matches/ids/timeline", "europe:/lol/rso-match/v1/matches/{matchId}/timeline"},
		{"GET", "euw1", "/lol/league/v4/entries/by-puuid/x/I", "euw1:/lol/league/v4/entries/{queue}/{tier}/{division}"},
		{"GET", "kr", "/lol/status/v4/platform-data", "kr:/lol/status/v4/platform-data"},
		{"GET", "kr", "/val/status/v1/platform-data", "kr:/val/status/v1/platform-data"},

		// R7: the verb is part of the method.
		{"GET", "americas", "/lol/tournament/v5/codes/NA-1", "americas:/lol/tournament/v5/codes/{tournamentCode}"},
		{"PUT", "americas", "/lol/tournament/v5/codes/NA-1", "americas:PUT /lol/tournament/v5/codes/{tournamentCode}"},
		{"POST", "americas", "/lol/tournament/v5/codes", "americas:POST /lol/tournament/v5/codes"},
		{"HEAD", "europe", "/lol/match/v5/matches/EUW1_7", "europe:/lol/match/v5/matches/{matchId}"},
		{"", "europe", "/lol/match/v5/matches/EUW1_7", "europe:/lol/match/v5/matches/{matchId}"},

		// R23: whatever a Riot ID holds is one segment.
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/a%2Fb/K%23R1", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/100%25%20+%2B/KR1", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/%EC%95%88/안", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/.../a.b", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/%2e%2E./..a", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/x%2e/%2Ex", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},
		{"GET", "asia", "/riot/account/v1/accounts/by-riot-id/a..%2Fa../.a%2F", "asia:/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}"},

		// A literal that arrives escaped isn't that literal.
		{"GET", "europe", "/lol/rso-match/v1/matches/%69ds", "europe:/lol/rso-match/v1/matches/{matchId}"},
	} {
		got, err := table.Match(c.verb, c.host, c.path)
		if err != nil {
			t.Errorf("%s %s %s: %v", c.verb, c.host, c.path, err)
		} else if got.String() != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.verb, c.host, c.path, got, c.want)
		}
	}
}

func TestMalformed(t *testing.T) {
	// Not even with everything forwarded.
	for _, o := range []route.Options{{}, {ForwardUnknownHosts: true, ForwardUnknownPaths: true}} {
		table := newTable(t, o)
		for _, path := range []string{
			"//", "//lol", "/lol//match", "/lol/match//", "lol", "lol/match",
			"/lol/.", "/lol/./x", "/lol/..", "/lol/../x", "/lol/../", "/.", "/..", "/../..",
			"/lol/%2e", "/lol/%2E/x", "/lol/%2e%2e", "/lol/.%2e/x", "/lol/%2E./x", "/lol/%2e%2E",
			"/lol/\x00", "/lol/a\x1fb", "/lol/\t", "/lol/\n", "/lol/\x7f", "/lol/a b", "/lol/a?b", "/lol/a#b",
			"/lol/%00", "/lol/a%0Ab", "/lol/%1f", "/lol/%7F", "/lol/%7fa",
			"/lol/%", "/lol/%2", "/lol/%2/x", "/lol/%zz", "/lol/%2g", "/lol/%g2", "/lol/%%32", "/lol/x%/", "/%",
			"/lol/..%2f", "/lol/%2f..", "/lol/x%2f..%2f..%2fy", "/lol/x%5c..", "/lol/..\\x", "/lol/x\\.", "/lol/%2e%2e%5Cx", "/lol/x%2F%2e",
		} {
			for _, verb := range []string{"GET", "PUT"} {
				_, err := table.Match(verb, "europe", path)
				t.Run(path, func(t *testing.T) { refused(t, err, 400, route.Malformed) })
			}
		}
		for _, verb := range []string{"TRACE", "CONNECT", "get", "Get", "FETCH", "GET ", " "} {
			_, err := table.Match(verb, "europe", "/lol/match/v5/matches/EUW1_7")
			t.Run(verb, func(t *testing.T) { refused(t, err, 400, route.Malformed) })
		}
	}
}

func TestRefused(t *testing.T) {
	table := route.Default()
	long := strings.Repeat("/lol", 3000)
	for _, c := range []struct {
		name, verb, host, path string
		problem                route.Problem
		nearest                string // exactly
		says                   string // within the message
	}{
		{"no path", "GET", "euw1", "", route.NoPath, "", `"euw1"`},
		{"only a slash", "GET", "euw1", "/", route.NoPath, "", `"euw1"`},
		{"host misspelt", "GET", "euw2", "/lol/summoner/v4/summoners/me", route.UnknownHost, "euw1", `unknown host "euw2"; the nearest is euw1; hosts that serve /lol/summoner/v4/summoners/me: br1, `},
		{"host cut short", "GET", "euw", "/lol/summoner/v4/summoners/me", route.UnknownHost, "euw1", "euw1"},
		{"host cut short, another method", "GET", "euw", "/val/status/v1/platform-data", route.UnknownHost, "eu", "nearest is eu;"},
		{"host in capitals", "GET", "EUW1", "/lol/summoner/v4/summoners/me", route.UnknownHost, "euw1", "euw1"},
		{"host like nothing", "GET", "antarctica", "/lol/x", route.UnknownHost, "", "known hosts: americas, "},
		{"host escaped", "GET", "euw%31", "/lol/summoner/v4/summoners/me", route.UnknownHost, "euw1", "euw%31"},
		{"host empty", "GET", "", "/lol/summoner/v4/summoners/me", route.UnknownHost, "", `""`},
		{"host endless", "GET", strings.Repeat("e", 5000), "/lol/x", route.UnknownHost, "", "…"},
		{"host with a control byte", "GET", "e\nu", "/lol/x", route.UnknownHost, "eu", `"e\nu"`},
		{"region for platform", "GET", "europe", "/lol/summoner/v4/summoners/me", route.NotServed, "", "host \"europe\" does not serve /lol/summoner/v4/summoners/me; these do: br1, "},
		{"VALORANT shard for platform", "GET", "na", "/lol/summoner/v4/summoners/me", route.NotServed, "na1", "na1"},
		{"account on sea", "GET", "sea", "/riot/account/v1/accounts/me", route.NotServed, "", "these do: americas, asia, europe"},
		{"verb", "DELETE", "americas", "/lol/tournament/v5/codes/X", route.UnknownVerb, "/lol/tournament/v5/codes/{tournamentCode}", "/lol/tournament/v5/codes/{tournamentCode} has no method DELETE; it has GET, PUT"},
		{"HEAD without GET", "HEAD", "americas", "/lol/tournament/v5/providers", route.UnknownVerb, "/lol/tournament/v5/providers", "no method GET; it has POST"},
		{"OPTIONS", "OPTIONS", "europe", "/lol/match/v5/matches/X", route.UnknownVerb, "/lol/match/v5/matches/{matchId}", "it has GET"},
		{"misspelt segment", "GET", "europe", "/lol/match/v5/macthes/EUW1_7", route.UnknownPath, "/lol/match/v5/matches/{matchId}", `"/lol/match/v5/macthes/EUW1_7"`},
		{"old version", "GET", "europe", "/lol/match/v4/matches/EUW1_7", route.UnknownPath, "/lol/match/v5/matches/{matchId}", ""},
		{"removed method", "GET", "euw1", "/lol/summoner/v4/summoners/by-name/x", route.UnknownPath, "/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}", ""},
		{"missing segment", "GET", "europe", "/lol/match/v5/by-puuid/x/ids", route.UnknownPath, "/lol/match/v5/matches/by-puuid/{puuid}/ids", ""},
		{"extra segment", "GET", "euw1", "/lol/status/v4/platform-data/x", route.UnknownPath, "/lol/status/v4/platform-data", ""},
		{"capitals", "GET", "europe", "/lol/match/v5/Matches/EUW1_7", route.UnknownPath, "/lol/match/v5/matches/{matchId}", ""},
		{"all capitals", "GET", "europe", "/LOL/MATCH/V5/MATCHES/EUW1_7/TIMELINE", route.UnknownPath, "/lol/match/v5/matches/{matchId}/timeline", ""},
		{"needless escape", "GET", "europe", "/%6Col/match/v5/matches/EUW1_7", route.UnknownPath, "/lol/match/v5/matches/{matchId}", ""},
		{"escaped separator", "GET", "europe", "/lol/match/v5/matches%2FEUW1_7", route.UnknownPath, "/lol/match/v5/matches/{matchId}", ""},
		{"Riot ID with its #", "GET", "asia", "/riot/account/v1/accounts/by-riot-id/Faker%23KR1", route.UnknownPath, "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", `as in "/riot/account/v1/accounts/by-riot-id/Faker/KR1"`},
		{"Riot ID escaped twice", "HEAD", "asia", "/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush%2523KR1", route.UnknownPath, "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", `as in "/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1"`},
		{"Riot ID with an escaped slash", "GET", "asia", "/riot/account/v1/accounts/by-riot-id/Faker%2fKR1", route.UnknownPath, "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", `as in "/riot/account/v1/accounts/by-riot-id/Faker/KR1"`},
		{"a # where no method is", "GET", "asia", "/riot/account/v1/accounts/of%23KR1", route.UnknownPath, "/riot/account/v1/accounts/me", ""},
		{"a # and nothing behind", "GET", "asia", "/riot/account/v1/accounts/by-riot-id/Faker%23", route.UnknownPath, "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", ""},
		{"Riot ID whose tag was a fragment", "GET", "asia", "/riot/account/v1/accounts/by-riot-id/Faker", route.UnknownPath, "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", ""},
		{"prefix of paths", "GET", "europe", "/lol/", route.UnknownPath, "", ""},
		{"like nothing", "GET", "europe", "/wp-admin/setup.php", route.UnknownPath, "", "/wp-admin/setup.php"},
		{"endless", "GET", "europe", long, route.UnknownPath, "", "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := table.Match(c.verb, c.host, c.path)
			e := refused(t, err, 404, c.problem)
			if e.Nearest != c.nearest {
				t.Errorf("nearest %q, want %q", e.Nearest, c.nearest)
			}
			if !strings.Contains(e.Error(), c.says) || !strings.Contains(e.Error(), c.nearest) {
				t.Errorf("says %q, want %q and %q in it", e, c.says, c.nearest)
			}
			if len(e.Error()) > 600 || strings.ContainsAny(e.Error(), "\n\r\x00") {
				t.Errorf("message of %d bytes or with control bytes: %q", len(e.Error()), e)
			}
		})
	}
}

// A raw # is malformed, and what is meant by it is known all the same.
func TestRawNumberSignIsExplained(t *testing.T) {
	_, err := route.Default().Match("", "asia", "/riot/account/v1/accounts/by-riot-id/Faker#KR1")
	e := refused(t, err, 400, route.Malformed)
	if !strings.Contains(e.Detail, `, as in "/riot/account/v1/accounts/by-riot-id/Faker/KR1"`) || e.Nearest != "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}" {
		t.Errorf("%+v", e)
	}
}

func TestSplit(t *testing.T) {
	table := route.Default()
	for _, c := range []struct {
		path, host, rest string
		status           int // 0 = none
		problem          route.Problem
	}{
		{"/euw1/lol/x", "euw1", "/lol/x", 0, 0},
		{"/euw1/lol/x/", "euw1", "/lol/x/", 0, 0},
		{"/europe/a%2Fb%zz", "europe", "/a%2Fb%zz", 0, 0}, // the rest is Match's business
		{"/euw1//lol", "euw1", "//lol", 0, 0},
		{"/EUW1/lol", "EUW1", "/lol", 0, 0},
		{"", "", "", 404, route.NoPath},
		{"/", "", "", 404, route.NoPath},
		{"/euw1", "euw1", "", 404, route.NoPath},
		{"/euw1/", "euw1", "", 404, route.NoPath},
		{"/favicon.ico", "favicon.ico", "", 404, route.NoPath},
		{"//", "", "", 400, route.Malformed},
		{"//lol/x", "", "", 400, route.Malformed},
		{"euw1/lol", "", "", 400, route.Malformed},
		{"/..", "", "", 400, route.Malformed},
		{"/../lol/x", "", "", 400, route.Malformed},
		{"/%2e%2E/lol/x", "", "", 400, route.Malformed},
		{"/%00/lol/x", "", "", 400, route.Malformed},
		{"/%zz/lol/x", "", "", 400, route.Malformed},
	} {
		host, rest, err := table.Split(c.path)
		if host != c.host || rest != c.rest {
			t.Errorf("%q: %q, %q; want %q, %q", c.path, host, rest, c.host, c.rest)
		}
		if c.status == 0 {
			if err != nil {
				t.Errorf("%q: %v", c.path, err)
			}
			continue
		}
		t.Run(c.path, func(t *testing.T) { refused(t, err, c.status, c.problem) })
	}
}

func TestNoAllocations(t *testing.T) {
	table := newTable(t, route.Options{Hosts: "+xx1", ForwardUnknownPaths: true})
	for _, path := range []string{"/xx1/lol/match/v5/matches/EUW1_7", "/europe/lol/match/v5/matches/by-puuid/" + puuid + "/ids/", "/euw1/what/ever"} {
		allocs := testing.AllocsPerRun(100, func() {
			host, rest, err := table.Split(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := table.Match("GET", host, rest)
			if err != nil || r.Method.String() == "" {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want 0", path, allocs)
		}
	}
}
