package riotsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"riftrelay/route"
)

// Body says how much the bodies of successful answers say.
type Body uint8

const (
	// Plausible bodies look like Riot's, have its sizes, and are the same for the same request and key.
	Plausible Body = iota
	// Tiny bodies are "{}", and "[]" for lists: for load tests of everything else.
	Tiny
)

// Schema is one of the two shapes of Riot's JSON errors (R22).
type Schema uint8

const (
	Classic Schema = iota // {"status":{"message":…,"status_code":…}}
	Newer                 // {"httpStatus":…,"errorCode":…,"message":…}
)

// content is a body in two pieces: the piece that depends on the request, and a long one shared by all.
type content struct{ head, tail []byte }

func (c content) len() int { return len(c.head) + len(c.tail) }

// bodies makes the bodies. What is long is built once, when first asked for.
type bodies struct {
	tiny                         bool
	match, timeline, game, table func() []byte
}

func (b *bodies) init(cfg *Config) {
	b.tiny = cfg.Body == Tiny
	size := func(n, usual int) int {
		if n == 0 {
			return usual
		}
		return n
	}
	once := func(begin, unit, end string, n int) func() []byte {
		return sync.OnceValue(func() []byte { return fill(begin, unit, end, n) })
	}
	b.match = once(`"info":{"gameMode":"CLASSIC","gameVersion":"16.1.1","mapId":11,"queueId":420,"participants":[`,
		`{"championId":103,"championName":"Ahri","kills":7,"deaths":3,"assists":9,"goldEarned":12345,"totalMinionsKilled":187,"visionScore":21,"win":true}`,
		`]}}`, size(cfg.MatchBytes, 30_000))
	b.timeline = once(`"info":{"frameInterval":60000,"frames":[`,
		`{"timestamp":60000,"events":[{"type":"ITEM_PURCHASED","itemId":1056,"participantId":1,"timestamp":2345}],"participantFrames":{"1":{"level":1,"totalGold":500,"xp":0}}}`,
		`]}}`, size(cfg.TimelineBytes, 200_000))
	b.game = once(`"gameMode":"CLASSIC","gameQueueConfigId":420,"mapId":11,"bannedChampions":[],"participants":[`,
		`{"championId":103,"teamId":100,"spell1Id":4,"spell2Id":14,"bot":false}`, `]}`, 1500)
	b.table = once(`[`,
		`{"queueType":"RANKED_SOLO_5x5","tier":"GOLD","rank":"I","leaguePoints":42,"wins":101,"losses":99,"hotStreak":false,"veteran":false,"freshBlood":false,"inactive":false}`,
		`]`, 35_000)
}

// fill repeats unit as an element of a JSON list until the text has at least n bytes.
func fill(begin, unit, end string, n int) []byte {
	b := []byte(begin + unit)
	for len(b)+len(end) < n {
		b = append(append(b, ','), unit...)
	}
	return append(b, end...)
}

// params are what a request says beyond its method.
type params struct {
	host, key, query string
	names, values    []string // of the template's parameters, values escaped as sent
}

func readParams(host, key, template, path, query string) params {
	p := params{host: host, key: key, query: query}
	for template != "" && path != "" {
		var name, value string
		name, template, _ = strings.Cut(template[1:], "/")
		value, path, _ = strings.Cut(path[1:], "/")
		if strings.HasPrefix(name, "{") {
			p.names, p.values = append(p.names, name[1:len(name)-1]), append(p.values, value)
		}
		if template != "" {
			template = "/" + template
		}
		if path != "" {
			path = "/" + path
		}
	}
	return p
}

// value returns the first parameter whose name ends in suffix, unescaped.
func (p params) value(suffix string) string {
	for i, name := range p.names {
		if len(name) >= len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix) {
			if v, err := url.PathUnescape(p.values[i]); err == nil {
				return v
			}
			return p.values[i]
		}
	}
	return ""
}

// deserves returns what the service behind answers when it isn't 200: 404 for ids that start with
// "missing", 400 for a bad count and, if checked, for another key's puuid (R17).
func (p params) deserves(m *route.Method, checkIDs bool) (status int, word string) {
	for _, v := range p.values {
		if strings.HasPrefix(v, "missing") {
			return http.StatusNotFound, wordFor(http.StatusNotFound)
		}
	}
	if id := p.value("puuid"); checkIDs && len(id) == puuidLength && m.Auth == route.AuthKey && !strings.HasPrefix(id, tag(p.key)) {
		return http.StatusBadRequest, "Bad Request - Exception decrypting " + id
	}
	if strings.HasSuffix(m.Template, "/by-puuid/{puuid}/ids") {
		if _, _, ok := p.page(); !ok {
			return http.StatusBadRequest, "Bad Request - count must be 0 to 100 and start at least 0"
		}
	}
	return 0, ""
}

// page reads start and count of a list of match ids; 20 from 0 by default.
func (p params) page() (start, count int, ok bool) {
	number := func(name string, usual int) int {
		for pair := range strings.SplitSeq(p.query, "&") {
			if text, found := strings.CutPrefix(pair, name+"="); found {
				n, err := strconv.Atoi(text)
				if err != nil {
					return -1
				}
				return n
			}
		}
		return usual
	}
	start, count = number("start", 0), number("count", 20)
	return start, count, start >= 0 && count >= 0 && count <= 100
}

// errorBody writes a JSON error (R22).
func errorBody(schema Schema, status int, message string) []byte {
	text, _ := json.Marshal(message) // a string always marshals
	if schema == Newer {
		code := strings.ReplaceAll(strings.ToUpper(http.StatusText(status)), " ", "_")
		return fmt.Appendf(nil, `{"httpStatus":%d,"errorCode":%q,"message":%s,"implementationDetails":"filtered"}`, status, code, text)
	}
	return fmt.Appendf(nil, `{"status":{"message":%s,"status_code":%d}}`, text, status)
}

func wordFor(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Data not found"
	case http.StatusServiceUnavailable:
		return "Service unavailable"
	case http.StatusUnauthorized:
		return "Unknown apikey"
	case http.StatusTooManyRequests:
		return "Rate limit exceeded"
	}
	return http.StatusText(status)
}

// gatewayPage is what stands before the API answers with when it fails itself (R3, R21).
func gatewayPage(status int) []byte {
	title := http.StatusText(status)
	if title == "" {
		title = "Web server is returning an unknown error"
	}
	return fmt.Appendf(nil, "<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n<center><h1>%[1]d %[2]s</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n", status, title)
}
