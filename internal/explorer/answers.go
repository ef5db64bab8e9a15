package explorer

import (
	"encoding/json"

	"riftrelay/internal/openapi"
)

// shape is the outermost kind of a method's answer, by method, where it isn't an
// object. What is inside changes with each of Riot's patches.
var shape = map[string]*openapi.Schema{
	"/lol/champion-mastery/v4/champion-masteries/by-puuid/{encryptedPUUID}":     objects,
	"/lol/champion-mastery/v4/champion-masteries/by-puuid/{encryptedPUUID}/top": objects,
	"/lol/champion-mastery/v4/scores/by-puuid/{encryptedPUUID}":                 openapi.Of("integer"),
	"/lol/clash/v1/players/by-puuid/{puuid}":                                    objects,
	"/lol/clash/v1/tournaments":                                                 objects,
	"/lol/league-exp/v4/entries/{queue}/{tier}/{division}":                      objects,
	"/lol/league/v4/entries/by-puuid/{encryptedPUUID}":                          objects,
	"/lol/league/v4/entries/{queue}/{tier}/{division}":                          objects,
	"/lol/challenges/v1/challenges/config":                                      objects,
	"/lol/challenges/v1/challenges/{challengeId}/leaderboards/by-level/{level}": objects,
	"/lol/rso-match/v1/matches/ids":                                             texts,
	"/lor/deck/v1/decks/me":                                                     objects,
	"POST /lor/deck/v1/decks/me":                                                openapi.Of("string"),
	"/lor/inventory/v1/cards/me":                                                objects,
	"/lor/match/v1/matches/by-puuid/{puuid}/ids":                                texts,
	"/lol/match/v5/matches/by-puuid/{puuid}/ids":                                texts,
	"/tft/league/v1/by-puuid/{puuid}":                                           objects,
	"/tft/league/v1/entries/{tier}/{division}":                                  objects,
	"/tft/league/v1/rated-ladders/{queue}/top":                                  objects,
	"/tft/match/v1/matches/by-puuid/{puuid}/ids":                                texts,
	"POST /lol/tournament-stub/v5/codes":                                        texts,
	"POST /lol/tournament-stub/v5/providers":                                    openapi.Of("integer"),
	"POST /lol/tournament-stub/v5/tournaments":                                  openapi.Of("integer"),
	"POST /lol/tournament/v5/codes":                                             texts,
	"POST /lol/tournament/v5/providers":                                         openapi.Of("integer"),
	"POST /lol/tournament/v5/tournaments":                                       openapi.Of("integer"),
	"/lol/tournament/v5/games/by-code/{tournamentCode}":                         objects,
}

var (
	objects = openapi.Array(openapi.Of("object"))
	texts   = openapi.Array(openapi.Of("string"))
)

// bodies are examples of what requests carry, by method.
var bodies = map[string]json.RawMessage{
	"POST /lol/tournament-stub/v5/providers":        provider,
	"POST /lol/tournament-stub/v5/tournaments":      tournament,
	"POST /lol/tournament-stub/v5/codes":            newCode,
	"POST /lol/tournament/v5/providers":             provider,
	"POST /lol/tournament/v5/tournaments":           tournament,
	"POST /lol/tournament/v5/codes":                 newCode,
	"PUT /lol/tournament/v5/codes/{tournamentCode}": json.RawMessage(`{"pickType":"TOURNAMENT_DRAFT","mapType":"SUMMONERS_RIFT","spectatorType":"ALL"}`),
	"POST /lor/deck/v1/decks/me":                    json.RawMessage(`{"name":"A deck","code":"CEBAIAIFB4WDANQIAEAQGDAUDAQSIJZUAIAQCBIFAEAQCBAA"}`),
}

var (
	provider   = json.RawMessage(`{"region":"EUW","url":"https://example.com/results"}`)
	tournament = json.RawMessage(`{"name":"A tournament","providerId":1}`)
	newCode    = json.RawMessage(`{"enoughPlayers":true,"mapType":"SUMMONERS_RIFT","metadata":"","pickType":"TOURNAMENT_DRAFT","spectatorType":"ALL","teamSize":5}`)
)

// common are the answers that any method can have.
func common(c *openapi.Components) map[string]openapi.Response {
	c.Schemas["Error"] = &openapi.Schema{
		Description: "An error of Riot's, in one of the two forms that Riot has. The relay's own have the first.",
		AnyOf: []*openapi.Schema{
			{Type: openapi.Kinds{"object"}, Required: []string{"status"}, Properties: map[string]*openapi.Schema{"status": {
				Type: openapi.Kinds{"object"}, Required: []string{"status_code"},
				Properties: map[string]*openapi.Schema{"message": openapi.Of("string"), "status_code": openapi.Of("integer")},
			}}},
			{Type: openapi.Kinds{"object"}, Required: []string{"httpStatus"}, Properties: map[string]*openapi.Schema{
				"httpStatus": openapi.Of("integer"), "errorCode": openapi.Of("string"), "message": openapi.Of("string"),
			}},
		},
	}
	failure := func(text string, example string, headers ...string) openapi.Response {
		return openapi.Response{
			Description: text, Headers: headerRefs(append([]string{"X-RiftRelay-Source", "X-RiftRelay-Reason"}, headers...)...),
			Content: openapi.JSON(&openapi.Schema{Ref: "#/components/schemas/Error"}, json.RawMessage(example)),
		}
	}
	c.Responses = map[string]openapi.Response{
		"BadRequest": failure("Riot says that a parameter is wrong, or the relay that a control header is: X-RiftRelay-Source tells which.",
			`{"status":{"message":"X-Max-Wait is \"soon\"; allowed: a duration like 8s or 1m30s, or whole seconds; 0 = now or never","status_code":400}}`),
		"NotFound": failure("Riot has no such thing, or the relay doesn't know host or path.",
			`{"status":{"message":"Data not found","status_code":404}}`),
		"TooManyRequests": failure("The relay refused the call, since it would have waited for longer than it may, or too many wait already. Nothing was sent to Riot.",
			`{"status":{"message":"the rate limits of euw1:/lol/status/v4/platform-data leave no room within the time that the call may wait","status_code":429}}`,
			"Retry-After", "X-Rate-Limit-Type"),
		"Unavailable": failure("The relay has no key that it can use, or is shutting down; or Riot is down.",
			`{"status":{"message":"no API key that can be used now","status_code":503}}`, "Retry-After"),
		"Other": failure("Any other error, of Riot's or on the way there.",
			`{"status":{"message":"euw1.api.riotgames.com did not answer in time","status_code":504}}`),
	}
	for name, r := range c.Responses {
		for header := range r.Headers {
			if h := replyHeaders[header]; header == "Retry-After" && name == "TooManyRequests" {
				h.Required = true // clients need a number
				r.Headers[header] = h
			}
		}
	}
	c.Headers = replyHeaders
	return map[string]openapi.Response{
		"400": {Ref: "#/components/responses/BadRequest"}, "404": {Ref: "#/components/responses/NotFound"},
		"429": {Ref: "#/components/responses/TooManyRequests"}, "503": {Ref: "#/components/responses/Unavailable"},
		"default": {Ref: "#/components/responses/Other"},
	}
}

// replyHeaders are the headers that answers have.
var replyHeaders = map[string]openapi.Header{
	"X-RiftRelay-Source":        {Description: "Who speaks.", Schema: openapi.Words("riot", "relay")},
	"X-RiftRelay-Reason":        {Description: "Why the relay refused the call.", Schema: openapi.Of("string")},
	"X-RiftRelay-Key":           {Description: "Name of the key that the call went with.", Schema: openapi.Of("string")},
	"Retry-After":               {Description: "Seconds after which there is room.", Schema: openapi.Of("integer")},
	"X-Rate-Limit-Type":         {Description: "What stopped the call.", Schema: openapi.Of("string")},
	"X-App-Rate-Limit":          {Description: "Riot's limits of the key on this host, calls:seconds.", Schema: openapi.Of("string")},
	"X-App-Rate-Limit-Count":    {Description: "What Riot has counted of them.", Schema: openapi.Of("string")},
	"X-Method-Rate-Limit":       {Description: "Riot's limits of the method.", Schema: openapi.Of("string")},
	"X-Method-Rate-Limit-Count": {Description: "What Riot has counted of them.", Schema: openapi.Of("string")},
}

// fromRiot are the headers of an answer that came from Riot.
var fromRiot = []string{"X-RiftRelay-Source", "X-RiftRelay-Key", "X-App-Rate-Limit", "X-App-Rate-Limit-Count", "X-Method-Rate-Limit", "X-Method-Rate-Limit-Count"}

func headerRefs(names ...string) map[string]openapi.Header {
	refs := make(map[string]openapi.Header, len(names))
	for _, name := range names {
		refs[name] = openapi.Header{Ref: "#/components/headers/" + name}
	}
	return refs
}
