package explorer

import (
	"strings"

	"riftrelay/internal/openapi"
)

// known is what is known of a parameter by its name: the first row counts
// whose path is in the template.
type known struct {
	path  string // "" = any
	name  string
	words []string // all values that there are; nil = any
	value string   // to begin with; "" = the first word
	text  string
}

const (
	uuid   = "00000000-0000-0000-0000-000000000000"
	player = "XqJ3sY0vN8kQm2tRb7uWc5dEf1gHi4jKl6oPz9xA-S_BnVCDyGFTMLUaIwOerhpZ00000000000000"

	playersID = "A player's id. Ids are encrypted for one key: take one from an answer to the same key, as of account-v1 by Riot ID."
)

var (
	divisions = []string{"I", "II", "III", "IV"}
	tiers     = []string{"DIAMOND", "EMERALD", "PLATINUM", "GOLD", "SILVER", "BRONZE", "IRON"}
	allTiers  = append([]string{"CHALLENGER", "GRANDMASTER", "MASTER"}, tiers...)
	locales   = []string{
		"en-US", "ar-AE", "de-DE", "en-GB", "es-ES", "es-MX", "fr-FR", "id-ID", "it-IT", "ja-JP", "ko-KR", "pl-PL", "pt-BR", "ru-RU", "th-TH", "tr-TR",
		"vi-VN", "zh-CN", "zh-TW",
	}
)

var inPath = []known{
	{name: "puuid", value: player, text: playersID},
	{name: "encryptedPUUID", value: player, text: playersID},
	{name: "gameName", value: "Riot Tuxedo", text: "The part of a Riot ID before the #."},
	{name: "tagLine", value: "TXC1", text: "The part of a Riot ID behind the #."},

	{path: "/active-shards/", name: "game", words: []string{"val", "lor"}},
	{path: "/region/", name: "game", words: []string{"lol", "tft"}},

	{path: "/lol/league-exp/", name: "tier", words: allTiers},
	{name: "tier", words: tiers},
	{name: "division", words: divisions},
	{path: "/tft/league/v1/rated-ladders/", name: "queue", words: []string{"RANKED_TFT_TURBO"}},
	{path: "/lol/league", name: "queue", words: []string{"RANKED_SOLO_5x5", "RANKED_FLEX_SR"}},
	{path: "/val/match/console/", name: "queue", words: []string{
		"console_competitive", "console_unrated", "console_swiftplay", "console_deathmatch", "console_hurm",
	}},
	{path: "/val/", name: "queue", words: []string{"competitive", "unrated", "spikerush", "swiftplay", "deathmatch", "hurm", "ggteam", "onefa"}},
	{name: "level", words: []string{"CHALLENGER", "GRANDMASTER", "MASTER"}},

	{path: "/lor/", name: "matchId", value: uuid},
	{path: "/val/", name: "matchId", value: uuid},
	{name: "matchId", value: "EUW1_7000000000", text: "As lists of match ids have it. The part before the _ is the platform, which the host's region must contain."},
	{name: "actId", value: uuid, text: "From val-content-v1."},
	{name: "leagueId", value: uuid, text: "From entries of a league."},
	{name: "championId", value: "103"},
	{name: "challengeId", value: "101100"},
	{name: "teamId", value: "1", text: "From clash-v1 by player."},
	{name: "tournamentId", value: "1", text: "From the list of tournaments."},
	{name: "tournamentCode", value: "EUW1-TOURNAMENTCODE0001"},
}

// pathParameter describes a parameter of a template.
func pathParameter(template, name string) openapi.Parameter {
	p := openapi.Parameter{Name: name, In: "path", Required: true, Schema: openapi.Of("string"), Example: "1"}
	for _, k := range inPath {
		if k.name != name || !strings.Contains(template, k.path) {
			continue
		}
		p.Description, p.Example = k.text, k.value
		if k.words != nil {
			p.Schema, p.Example = openapi.Words(k.words...), k.words[0]
		}
		break
	}
	return p
}

// number is a whole number in a query, of at least least and at most most;
// most 0 is no bound. Nothing is filled in: whoever leaves it empty gets Riot's
// own default, which is usual.
func number(name string, least, most int, usual string) openapi.Parameter {
	s := openapi.Of("integer")
	s.Minimum = &least
	if most > 0 {
		s.Maximum = &most
	}
	return openapi.Parameter{Name: name, In: "query", Description: usual, Schema: s}
}

func word(name, text string, words ...string) openapi.Parameter {
	return openapi.Parameter{Name: name, In: "query", Description: text, Schema: openapi.Words(words...)}
}

// matchIDs are the parameters of lists of match ids.
func matchIDs(more ...openapi.Parameter) []openapi.Parameter {
	return append([]openapi.Parameter{
		number("start", 0, 0, "How many of the newest to leave out; 0 if empty."),
		number("count", 0, 100, "How many to list, 0 to 100; 20 if empty."),
		number("startTime", 0, 0, "Not before: seconds since 1970."),
		number("endTime", 0, 0, "Not after: seconds since 1970."),
	}, more...)
}

var (
	lolQueue = number("queue", 0, 0, "Only those of a queue: 420 is ranked solo, 440 ranked flex, 450 ARAM.")
	lolType  = word("type", "Only those of a type.", "ranked", "normal", "tourney", "tutorial")
	tftQueue = word("queue", "RANKED_TFT if empty.", "RANKED_TFT", "RANKED_TFT_DOUBLE_UP")
	page     = number("page", 1, 0, "Which page, from 1 on; 1 if empty.")
	locale   = word("locale", "All languages if empty.", locales...)
	codes    = []openapi.Parameter{
		{Name: "tournamentId", In: "query", Required: true, Schema: openapi.Of("integer"), Example: 1, Description: "From the answer to POST …/tournaments."},
		number("count", 1, 1000, "How many codes to make, 1 to 1000; 1 if empty."),
	}
	leaderboard = []openapi.Parameter{
		number("size", 1, 200, "How many to list, 1 to 200; 200 if empty."),
		number("startIndex", 0, 0, "How many to leave out; 0 if empty."),
	}
)

// inQuery are the query parameters by method, as route.Method names it.
var inQuery = map[string][]openapi.Parameter{
	"/lol/match/v5/matches/by-puuid/{puuid}/ids": matchIDs(lolQueue, lolType),
	"/lol/rso-match/v1/matches/ids":              matchIDs(lolQueue, lolType),
	"/tft/match/v1/matches/by-puuid/{puuid}/ids": matchIDs(),

	"/lol/champion-mastery/v4/champion-masteries/by-puuid/{encryptedPUUID}/top": {number("count", 1, 0, "How many to list; 3 if empty.")},
	"/lol/challenges/v1/challenges/{challengeId}/leaderboards/by-level/{level}": {number("limit", 1, 0, "How many to list.")},
	"/lol/league/v4/entries/{queue}/{tier}/{division}":                          {page},
	"/lol/league-exp/v4/entries/{queue}/{tier}/{division}":                      {page},
	"/tft/league/v1/entries/{tier}/{division}":                                  {tftQueue, page},
	"/tft/league/v1/challenger":                                                 {tftQueue},
	"/tft/league/v1/grandmaster":                                                {tftQueue},
	"/tft/league/v1/master":                                                     {tftQueue},
	"/val/content/v1/contents":                                                  {locale},
	"/riftbound/content/v1/contents":                                            {locale},
	"/val/ranked/v1/leaderboards/by-act/{actId}":                                leaderboard,
	"/val/console/ranked/v1/leaderboards/by-act/{actId}":                        append([]openapi.Parameter{{Name: "platformType", In: "query", Required: true, Schema: openapi.Words("playstation", "xbox"), Example: "playstation"}}, leaderboard...),
	"POST /lol/tournament/v5/codes":                                             codes,
	"POST /lol/tournament-stub/v5/codes":                                        codes,
}
