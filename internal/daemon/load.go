package daemon

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// load is the demo's clients: people who look up a player, and crawlers that
// never have enough. Each waits for its answer before it asks
// again and then thinks a little, so the load is bounded in number and rate
// whatever the limits are.
type load struct {
	relays []string // their base URLs; each call goes to any of them
	http   *http.Client
	seed   uint64
	tally  *tally
}

// pairs are platforms with the region that has their accounts and matches.
var pairs = [...]struct{ region, platform string }{{"europe", "euw1"}, {"americas", "na1"}}

const (
	visitors    = 6 // for each pair
	crawlers    = 8 // for each host
	climbers    = 2 // for each platform
	think       = 100 * time.Millisecond
	visitsEvery = 6 * time.Second // visitors come in waves, so that there is something to see
	impatience  = "1s"
)

// mostLoad is about how many calls a second that makes when nothing waits.
var mostLoad = float64(len(pairs)*(visitors+2*crawlers+climbers)) / think.Seconds() / 2

// shortNames are names for the methods that are called.
var shortNames = map[string]string{
	"/riot/account/v1/accounts/by-riot-id/{gameName}/{tagLine}":             "account",
	"/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}":                  "summoner",
	"/lol/league/v4/entries/by-puuid/{encryptedPUUID}":                      "league",
	"/lol/league/v4/challengerleagues/by-queue/{queue}":                     "challengers",
	"/lol/league/v4/entries/{queue}/{tier}/{division}":                      "ladder page",
	"/lol/champion-mastery/v4/champion-masteries/by-puuid/{encryptedPUUID}": "champion mastery",
	"/lol/spectator/v5/active-games/by-summoner/{encryptedPUUID}":           "spectator",
	"/lol/match/v5/matches/by-puuid/{puuid}/ids":                            "match ids",
	"/lol/match/v5/matches/{matchId}":                                       "match",
}

// run calls until ctx ends and returns when all calls have been answered. They
// run under calls, which may live longer than ctx.
func (l *load) run(ctx, calls context.Context) {
	var wg sync.WaitGroup
	var n uint64
	begin := func(job func(*caller)) {
		n++
		c := &caller{load: l, ctx: ctx, calls: calls, rng: rand.New(rand.NewPCG(l.seed, n))}
		wg.Go(func() {
			c.sleep(c.between(0, 10*think)) // they don't all arrive together
			for ctx.Err() == nil {
				job(c)
			}
		})
	}
	for _, p := range pairs {
		for range visitors {
			begin(func(c *caller) { c.visit(p.region, p.platform) })
		}
		for range crawlers {
			begin(func(c *caller) { c.histories(p.region) })
			begin(func(c *caller) { c.profiles(p.platform) })
		}
		for range climbers {
			begin(func(c *caller) { c.ladder(p.platform) })
		}
	}
	wg.Wait()
}

// caller is one of them.
type caller struct {
	*load
	ctx, calls context.Context
	rng        *rand.Rand
}

// visit looks one player up, as a site does for a person who waits: account →
// summoner → league → match ids → matches.
func (c *caller) visit(region, platform string) {
	person := ask{high: true}
	puuid := c.player(region, person)
	c.get(platform, "/lol/summoner/v4/summoners/by-puuid/"+puuid, person)
	c.get(platform, "/lol/league/v4/entries/by-puuid/"+puuid, person)
	for i, id := range c.matches(region, puuid, person) {
		if i == 2 {
			break
		}
		c.get(region, "/lol/match/v5/matches/"+id, person)
	}
	now := time.Now()
	c.sleep(now.Truncate(visitsEvery).Add(visitsEvery).Sub(now) + c.between(0, time.Second))
}

// histories collects matches of one player after the other.
func (c *caller) histories(region string) {
	puuid := c.player(region, ask{})
	for i, id := range c.matches(region, puuid, ask{}) {
		if i == 6 {
			break
		}
		c.get(region, "/lol/match/v5/matches/"+id, c.maybe())
	}
}

// profiles collects what is known of one player after the other.
func (c *caller) profiles(platform string) {
	for _, path := range [...]string{
		"/lol/summoner/v4/summoners/by-puuid/",
		"/lol/league/v4/entries/by-puuid/",
		"/lol/champion-mastery/v4/champion-masteries/by-puuid/",
		"/lol/spectator/v5/active-games/by-summoner/",
	} {
		c.get(platform, path+c.somebody(), c.maybe())
	}
}

// ladder reads the ladder, mostly its top, a method with a narrow limit of its
// own. Who waits for that holds up nobody else.
func (c *caller) ladder(platform string) {
	for range 3 {
		c.get(platform, "/lol/league/v4/challengerleagues/by-queue/RANKED_SOLO_5x5", ask{})
	}
	page := strconv.Itoa(1 + c.rng.IntN(9))
	c.get(platform, "/lol/league/v4/entries/RANKED_SOLO_5x5/DIAMOND/I?page="+page, ask{})
}

// maybe is a crawler's call, which now and then is wanted soon or not at all.
func (c *caller) maybe() ask {
	if c.rng.IntN(12) == 0 {
		return ask{maxWait: impatience}
	}
	return ask{}
}

// player returns a player's id, from Riot if it answers.
func (c *caller) player(region string, a ask) string {
	name := "Summoner" + strconv.Itoa(c.rng.IntN(100_000))
	body := c.get(region, "/riot/account/v1/accounts/by-riot-id/"+url.PathEscape(name)+"/DEMO", a)
	var account struct {
		PUUID string `json:"puuid"`
	}
	if json.Unmarshal(body, &account) != nil || account.PUUID == "" {
		return c.somebody()
	}
	return account.PUUID
}

func (c *caller) matches(region, puuid string, a ask) []string {
	var ids []string
	if json.Unmarshal(c.get(region, "/lol/match/v5/matches/by-puuid/"+puuid+"/ids", a), &ids) != nil {
		return nil // it was refused; the next one, then
	}
	return ids
}

// somebody makes an id up, of a form that Riot's have.
func (c *caller) somebody() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	id := make([]byte, 78)
	for i := range id {
		id[i] = letters[c.rng.IntN(len(letters))]
	}
	return string(id)
}

// ask is how a call wants to be admitted.
type ask struct {
	high    bool
	maxWait string
}

// get makes one call, then thinks. The body is nil unless Riot answered 200.
func (c *caller) get(host, path string, a ask) []byte {
	if c.ctx.Err() != nil {
		return nil
	}
	to := 0
	if n := len(c.relays); n > 1 { // a load balancer's pick
		to = c.rng.IntN(n)
	}
	req, err := http.NewRequestWithContext(c.calls, http.MethodGet, c.relays[to]+"/"+host+path, http.NoBody)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if a.high {
		req.Header.Set("X-Priority", "high")
	}
	if a.maxWait != "" {
		req.Header.Set("X-Max-Wait", a.maxWait)
	}
	c.tally.sent()
	resp, err := c.http.Do(req)
	if err != nil {
		c.tally.answered(outcome{reason: "failed"})
		c.sleep(time.Second)
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	o := outcome{relay: to, status: resp.StatusCode, reason: resp.Header.Get("X-Riftrelay-Reason")}
	if err != nil {
		o.reason = "failed"
	}
	c.tally.answered(o)
	if o.reason == "" && o.status == http.StatusOK {
		c.sleep(c.between(think/2, think*3/2))
		return body
	}
	wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	c.sleep(min(max(think, time.Duration(wait)*time.Second), 3*time.Second))
	return nil
}

func (c *caller) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.rng.Int64N(int64(most-least)+1))
}

// sleep waits, but not beyond the end of the demo.
func (c *caller) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}
