package riotsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"riftrelay/route"
)

// Application limits of the key tiers seen in reality (R16), for Config.Keys and Rule.Limit.
const (
	Development = "20:1,100:120"         // a development or personal key
	Production  = "500:10,30000:600"     // a production key at first
	Large       = "3000:10,180000:600"   // the largest production key seen
	NoLimit     = "none"                 // no limit and no headers about it
	usualMethod = "20000:10,1200000:600" // a method without a limit of its own
)

// Limit allows N calls per window of length Per; on the wire "N:seconds".
type Limit struct {
	N   int           // calls, at least 1
	Per time.Duration // length of the window: whole seconds, at least 1 s
}

// String returns the wire form, "100:120".
func (l Limit) String() string { return string(l.appendCount(nil, l.N)) }

// appendCount appends n in the wire form of this window, "n:seconds".
func (l Limit) appendCount(b []byte, n int) []byte {
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, ':')
	return strconv.AppendInt(b, int64(l.Per/time.Second), 10)
}

// parseLimits reads "20:1,100:120" in any order and returns it sorted by window, shortest first.
// NoLimit returns an empty list. The error names the entry that is wrong and what is allowed.
func parseLimits(text string) ([]Limit, error) {
	if text == NoLimit {
		return nil, nil
	}
	var limits []Limit
	for entry := range strings.SplitSeq(text, ",") {
		calls, seconds, found := strings.Cut(strings.TrimSpace(entry), ":")
		n, errN := strconv.Atoi(calls)
		s, errS := strconv.Atoi(seconds)
		if !found || errN != nil || errS != nil || n < 1 || s < 1 || s > 1e9 {
			return nil, fmt.Errorf("rate limit %q: entry %q: want calls:seconds, both whole and at least 1, or %q", text, entry, NoLimit)
		}
		limits = append(limits, Limit{n, time.Duration(s) * time.Second})
	}
	slices.SortFunc(limits, func(a, b Limit) int { return int(a.Per/time.Second) - int(b.Per/time.Second) })
	for i := 1; i < len(limits); i++ {
		if limits[i].Per == limits[i-1].Per {
			return nil, fmt.Errorf("rate limit %q: two entries for %d seconds: each window may be named once", text, limits[i].Per/time.Second)
		}
	}
	return limits, nil
}

// Rule returns a limit to the scopes it selects. Of several that fit, the last one holds.
type Rule struct {
	Key    string // the key's value; "" = every key. Ignored for service limits, which all keys share
	Host   string // routing value such as "euw1"; "" = every host
	Method string // a verb and a path template, "PUT /lol/tournament/v5/codes/{tournamentCode}" (without verb: GET), or a service such as "match-v5"; "" = every method. Ignored for application limits
	Limit  string // "20:1,100:120" or NoLimit
}

type rule struct {
	Rule
	limits []Limit
}

// rules are searched from the end, so what is added at run time beats what was there (R6).
type rules []rule

func parseRules(list []Rule) (rules, error) {
	var rs rules
	for _, r := range list {
		if err := rs.add(r); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

func (rs *rules) add(r Rule) error {
	limits, err := parseLimits(r.Limit)
	if err != nil {
		return err
	}
	// A limit that is changed a thousand times in a run must not leave a thousand rules behind.
	*rs = slices.DeleteFunc(*rs, func(old rule) bool {
		return old.Key == r.Key && old.Host == r.Host && old.Method == r.Method
	})
	*rs = append(*rs, rule{r, limits})
	return nil
}

func (rs rules) find(key, host string, m *route.Method) ([]Limit, bool) {
	for _, r := range slices.Backward(rs) {
		if r.selects(key, host, m) {
			return r.limits, true
		}
	}
	return nil, false
}

func (r Rule) selects(key, host string, m *route.Method) bool {
	return (r.Key == "" || r.Key == key) && (r.Host == "" || r.Host == host) && selectsMethod(r.Method, m)
}

// seenMethodLimits returns the method limits seen in 2023-2026, general ones first. They are examples
// that make the simulation plausible: a limiter must learn limits from headers (R6).
func seenMethodLimits() []Rule {
	const apex = "30:10,500:600"
	list := []Rule{
		{Limit: usualMethod},
		{Method: "/riot/account/v1/accounts/by-puuid/{puuid}", Limit: "1000:60"},
		{Method: "/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}", Limit: "1000:60"},
		{Method: "/lol/match/v5/matches/by-puuid/{puuid}/ids", Limit: "2000:10"},
		{Method: "/lol/match/v5/matches/{matchId}", Limit: "2000:10"},
		{Method: "/lol/match/v5/matches/{matchId}/timeline", Limit: "2000:10"},
		{Method: "/lol/league/v4/challengerleagues/by-queue/{queue}", Limit: apex},
		{Method: "/lol/league/v4/grandmasterleagues/by-queue/{queue}", Limit: apex},
		{Method: "/lol/league/v4/masterleagues/by-queue/{queue}", Limit: apex},
		{Method: "/lol/league/v4/entries/{queue}/{tier}/{division}", Limit: "50:10"},
		{Method: "league-exp-v4", Limit: "50:10"},
		{Method: "/lol/league/v4/leagues/{leagueId}", Limit: "500:10"},
		{Method: "champion-v3", Limit: apex},
		{Method: "/lol/clash/v1/teams/{teamId}", Limit: "200:60"},
		{Method: "/lol/clash/v1/tournaments/by-team/{teamId}", Limit: "200:60"},
		{Method: "/lol/clash/v1/tournaments", Limit: "10:60"},
		{Method: "/tft/match/v1/matches/by-puuid/{puuid}/ids", Limit: "600:10"},
		{Method: "/tft/match/v1/matches/{matchId}", Limit: "200:10"},
		{Method: "tft-summoner-v1", Limit: "1600:60"},
		{Method: "/tft/league/v1/challenger", Limit: apex},
		{Method: "/tft/league/v1/grandmaster", Limit: apex},
		{Method: "/tft/league/v1/master", Limit: apex},
		{Method: "tournament-stub-v5", Limit: "10:10,500:600"},
	}
	for limit, hosts := range map[string]string{
		"2000:60": "na1 euw1 kr", "1600:60": "eun1", "1300:60": "br1 tr1",
		"1000:60": "la1 la2 me1 sg2 tw2 vn2", "800:60": "jp1 oc1", "600:60": "ru",
	} {
		for _, host := range strings.Fields(hosts) {
			list = append(list, Rule{Host: host, Method: "/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}", Limit: limit})
		}
	}
	return list
}
