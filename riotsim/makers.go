package riotsim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"riftrelay/route"
)

// of returns the body of a 200; methods without a shape of their own get "{}".
func (b *bodies) of(m *route.Method, p params) content {
	if b.tiny {
		if strings.HasSuffix(m.Template, "/ids") {
			return content{tail: []byte("[]")}
		}
		return content{tail: []byte("{}")}
	}
	switch m.String() {
	case "/riot/account/v1/accounts/by-puuid/{puuid}",
		"/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}",
		"/riot/account/v1/accounts/me":
		return content{head: account(p)}
	case "/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}",
		"/lol/summoner/v4/summoners/me",
		"/tft/summoner/v1/summoners/by-puuid/{encryptedPUUID}":
		return content{head: summoner(p)}
	case "/lol/league/v4/entries/by-puuid/{encryptedPUUID}":
		return content{head: entries(p)}
	case "/lol/league/v4/entries/{queue}/{tier}/{division}",
		"/lol/league-exp/v4/entries/{queue}/{tier}/{division}":
		return content{tail: b.table()}
	case "/lol/match/v5/matches/by-puuid/{puuid}/ids",
		"/tft/match/v1/matches/by-puuid/{puuid}/ids":
		return content{head: matchIDs(p)}
	case "/lol/match/v5/matches/{matchId}",
		"/tft/match/v1/matches/{matchId}":
		return content{p.metadata(), b.match()}
	case "/lol/match/v5/matches/{matchId}/timeline":
		return content{p.metadata(), b.timeline()}
	case "/lol/spectator/v5/active-games/by-summoner/{encryptedPUUID}":
		return content{activeGame(p), b.game()}
	case "POST /lol/tournament/v5/codes",
		"POST /lol/tournament-stub/v5/codes":
		return content{head: tournamentCodes(p)}
	case "POST /lol/tournament/v5/providers",
		"POST /lol/tournament/v5/tournaments",
		"POST /lol/tournament-stub/v5/providers",
		"POST /lol/tournament-stub/v5/tournaments":
		return content{head: tournamentNumber(p)}
	case "/lol/tournament/v5/codes/{tournamentCode}":
		return content{head: tournamentCode(p)}
	}
	return content{tail: []byte("{}")}
}

const puuidLength = 78

// tag begins every puuid made for a key: ids are encrypted per key (R17).
func tag(key string) string { return fmt.Sprintf("%08x", uint32(hash(key))) }

// hash is FNV-1a, mixed: the same text gives the same data in every run.
func hash(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return mix(h)
}

// puuid returns the id of a player for a key.
func puuid(key, player string) string {
	return string(appendPUUID(make([]byte, 0, puuidLength), tag(key), hash(player)))
}

func appendPUUID(b []byte, tag string, x uint64) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	b = append(b, tag...)
	for range (puuidLength - len(tag)) / 10 {
		bits := x
		for range 10 { // 6 bits a letter
			b = append(b, letters[bits%64])
			bits /= 64
		}
		x = mix(x)
	}
	return b
}

// player returns the puuid that the request names, or that of the Riot ID it names.
func (p params) player() string {
	if id := p.value("puuid"); id != "" {
		return id
	}
	return puuid(p.key, strings.ToLower(p.value("gameName")+"#"+p.value("tagLine")))
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string always marshals
	return string(b)
}

func account(p params) []byte {
	id := p.player()
	name, line := p.value("gameName"), p.value("tagLine")
	if name == "" {
		name, line = fmt.Sprintf("Player %d", hash(id)%10_000), "SIM"
	}
	return fmt.Appendf(nil, `{"puuid":%s,"gameName":%s,"tagLine":%s}`, quote(id), quote(name), quote(line))
}

func summoner(p params) []byte {
	id := p.player()
	h := hash(id)
	return fmt.Appendf(nil, `{"puuid":%s,"profileIconId":%d,"revisionDate":%d,"summonerLevel":%d}`,
		quote(id), h%5000, 1_760_000_000_000+h%1_000_000_000, 30+h%900)
}

func entries(p params) []byte {
	id := p.player()
	h := hash(id)
	tier := [...]string{"IRON", "BRONZE", "SILVER", "GOLD", "PLATINUM", "EMERALD", "DIAMOND"}[h%7]
	return fmt.Appendf(nil, `[{"leagueId":"%016x","queueType":"RANKED_SOLO_5x5","tier":%q,"rank":"II","puuid":%s,"leaguePoints":%d,"wins":%d,"losses":%d,"veteran":false,"inactive":false,"freshBlood":false,"hotStreak":false}]`,
		h, tier, quote(id), h%100, h>>8%300, h>>16%300)
}

// matches is how many match ids each player has.
const matches = 200

func matchIDs(p params) []byte {
	start, count, _ := p.page()
	platform := map[string]string{"americas": "NA1_", "asia": "KR_", "sea": "OC1_"}[p.host]
	if platform == "" {
		platform = "EUW1_"
	}
	newest := 7_000_000_000 + int(hash(p.player())%100_000_000)
	b := []byte{'['}
	for i := start; i < min(start+count, matches); i++ {
		if i > start {
			b = append(b, ',')
		}
		b = append(append(b, '"'), platform...)
		b = append(strconv.AppendInt(b, int64(newest-i*977), 10), '"')
	}
	return append(b, ']')
}

func (p params) metadata() []byte {
	id := p.value("matchId")
	b := fmt.Appendf(make([]byte, 0, 1024), `{"metadata":{"dataVersion":"2","matchId":%s,"participants":[`, quote(id))
	own, x := tag(p.key), hash(id)
	for i := range 10 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendPUUID(append(b, '"'), own, mix(x+uint64(i))), '"')
	}
	return append(b, "]},"...)
}

func activeGame(p params) []byte {
	h := hash(p.player())
	return fmt.Appendf(nil, `{"gameId":%d,"platformId":%q,"gameLength":%d,`, 7_000_000_000+h%100_000_000, strings.ToUpper(p.host), h%2400)
}

func tournamentCodes(p params) []byte {
	return fmt.Appendf(nil, `["EUW04%x-TOURNAMENTCODE%04d"]`, hash(p.query)&0xfff, hash(p.query)%10_000)
}

func tournamentNumber(p params) []byte {
	return strconv.AppendUint(nil, 1+hash(p.key)%100_000, 10)
}

func tournamentCode(p params) []byte {
	return fmt.Appendf(nil, `{"code":%s,"spectators":"ALL","region":"EUW","map":"SUMMONERS_RIFT","teamSize":5,"pickType":"TOURNAMENT_DRAFT","id":%d}`,
		quote(p.value("tournamentCode")), hash(p.value("tournamentCode"))%100_000)
}
