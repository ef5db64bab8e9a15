package proxy

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"riftrelay"
	"riftrelay/internal/tokens"
	"riftrelay/route"
)

// Client is somebody who may use the relay, known by a token.
type Client struct {
	// Name is what logs and metrics call it.
	Name string

	// Tokens are what the client may show: one, or two while the old is being
	// replaced. The tokens themselves are kept nowhere.
	Tokens []tokens.Token

	// Budget is the rate budget of all its calls, whatever X-Rate-Budget says.
	// Empty leaves the choice to the client.
	Budget string

	// NoHigh has X-Priority: high ignored.
	NoHigh bool

	// Allow are the calls that it may make. Empty means all.
	Allow []Allowance

	use *use // since its name is known
}

// Allowance is a part of the API.
type Allowance struct {
	Verb string // "GET"; empty = every verb
	Host string // "kr"; empty = every host
	Path string // beginning of methods' templates in whole parts, "/lol/match/v5"; "/" is all of them
}

// String is as users write it: "GET kr:/lol/match/v5".
func (a Allowance) String() string {
	s := a.Path
	if a.Host != "" {
		s = a.Host + ":" + s
	}
	if a.Verb != "" {
		s = a.Verb + " " + s
	}
	return s
}

func (a Allowance) fits(to route.Route) bool {
	if a.Verb != "" && a.Verb != to.Method.Verb || a.Host != "" && a.Host != to.Host {
		return false
	}
	rest, ok := strings.CutPrefix(to.Method.Template, a.Path)
	return a.Path == "/" || ok && (rest == "" || rest[0] == '/')
}

// clients finds a client by its token.
type clients struct {
	tokens *tokens.Set
	list   []*Client
}

// newClients returns nil for none: then nobody needs a token. Those of the same
// names before are counted on.
func newClients(list []Client, before *clients) *clients {
	if len(list) == 0 {
		return nil
	}
	uses := map[string]*use{}
	if before != nil {
		for _, one := range before.list {
			uses[one.Name] = one.use
		}
	}
	c, owners := &clients{}, make([][]tokens.Token, len(list))
	for i, one := range list {
		one.use = cmp.Or(uses[one.Name], &use{})
		c.list, owners[i] = append(c.list, &one), one.Tokens
	}
	c.tokens = tokens.NewSet(owners)
	return c
}

// of returns the client with a token, nil if there is none.
func (c *clients) of(token string) *Client {
	i, known := c.tokens.Owner(token)
	if !known {
		return nil
	}
	return c.list[i]
}

// SetClients replaces those who may use the relay. With none, everybody may.
func (h *Handler) SetClients(list []Client) { h.clients.Store(newClients(list, h.clients.Load())) }

// NeedsTokens reports whether calls need a client's token.
func (h *Handler) NeedsTokens() bool { return h.clients.Load() != nil }

// admit says who calls, by which token; err is what is wrong with the target, if
// anything is. Nil means that nobody needs one.
func (h *Handler) admit(r *http.Request, to target, err error) (who *Client, token string, barred error) {
	known := h.clients.Load()
	if known == nil {
		return nil, "", nil
	}
	who, token = h.recognise(known, r, to)
	if who == nil {
		return nil, "", refusal(reasonUnauthorized,
			"no token of a client, or a wrong one; allowed: a token of CLIENT_TOKENS as X-Relay-Token, X-Riot-Token, ?api_key= or, except on RSO methods, Authorization: Bearer or Basic")
	}
	return who, token, h.mayCall(who, to, err)
}

// recognise finds the first of all that a request shows that is a token: a
// client can set one of these, as a rule, and some send a dummy in another.
func (h *Handler) recognise(known *clients, r *http.Request, to target) (who *Client, token string) {
	try := func(shown string) bool {
		if who = known.of(shown); who != nil {
			token = shown
		}
		return who != nil
	}
	if try(first(r.Header["X-Relay-Token"])) {
		return who, token
	}
	if len(r.Header["Authorization"]) > 0 && !to.rso() && try(password(r.Header["Authorization"])) {
		return who, token
	}
	_ = try(first(r.Header["X-Riot-Token"])) || try(keyInQuery(r.RequestURI)) || try(password(r.Header["Proxy-Authorization"]))
	return who, token
}

// mayCall refuses what a client's settings leave out.
func (h *Handler) mayCall(who *Client, to target, err error) error {
	if err != nil || len(who.Allow) == 0 {
		return nil //nolint:nilerr // what is wrong with the target is the caller's to say
	}
	if to.unknown != nil {
		return &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: to.unknown}
	}
	if !slices.ContainsFunc(who.Allow, func(a Allowance) bool { return a.fits(to.route) }) {
		return refusal(reasonForbidden, "client "+who.Name+" may not call "+to.route.String()+"; allowed: what CLIENT_"+strings.ToUpper(who.Name)+"_ALLOW lists")
	}
	return nil
}

// admitTunnel is admit for CONNECT to a host that isn't Riot's API: there is
// nothing but the proxy's own header to look at. To the API, the calls within
// carry the token.
func (h *Handler) admitTunnel(r *http.Request) error {
	known := h.clients.Load()
	if known == nil || known.of(password(r.Header["Proxy-Authorization"])) != nil {
		return nil
	}
	return refusal(reasonProxyAuthorization, "no token of a client, or a wrong one; allowed: a token of CLIENT_TOKENS as the proxy's password, as in http://x:token@relay")
}

// restrict holds a client to what it may ask for.
func (who *Client) restrict(o *riftrelay.Options) {
	if who == nil {
		return
	}
	if who.NoHigh {
		o.Priority = riftrelay.Normal
	}
	if who.Budget != "" {
		o.Budget, o.HardBudget = who.Budget, true
	}
}

// players reports whether an Authorization header has what a player has: bearer
// tokens (R5), none of which is one of ours.
func (h *Handler) players(authorization []string) bool {
	return !slices.ContainsFunc(authorization, func(v string) bool {
		token := bearer([]string{v})
		return token == "" || h.mistaken(token)
	})
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return strings.TrimSpace(values[0])
}

func bearer(values []string) string {
	scheme, token, _ := strings.Cut(first(values), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// password is what stands in http://name:password@relay, as a proxy's URL or as
// the base of all others, which is what most programs can be told; the name is
// of no importance. Bearer does as well.
func password(values []string) string {
	scheme, text, _ := strings.Cut(first(values), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return bearer(values)
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(plain), ":")
	return password
}

// keyInQuery returns the first api_key of a target. Tokens have no space, so a
// '+' is one.
func keyInQuery(uri string) (token string) {
	_, query, _ := strings.Cut(uri, "?")
	found := false
	drop(query, apiKey, func(value string) {
		if !found {
			token, found = value, true
		}
	})
	if plain, err := url.PathUnescape(token); err == nil {
		return plain
	}
	return token
}
