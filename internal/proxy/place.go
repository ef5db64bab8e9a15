package proxy

import (
	"net/http"
	"net/url"
	"strings"

	"riftrelay"
	"riftrelay/route"
)

// The ways in which a client can say where a call goes:
//
//	path           GET /euw1/lol/…
//	absolute form  GET http://euw1.api.riotgames.com/lol/… HTTP/1.1
//	Host header    GET /lol/… and Host: euw1.api.riotgames.com
//	CONNECT        the same within TLS for euw1.api.riotgames.com
//	Kernel         GET /lol/…?platform=EUW1
//
// What names Riot names one host of the API exactly, or is refused; what
// doesn't name Riot is the relay's own name, whatever that is.

// target is where a request goes, in the client's own bytes.
type target struct {
	host     string // "euw1"
	path     string // "/lol/…", escaped
	query    string // raw, without api_key
	emptyTag bool   // the target ends in a lone '?'

	route   route.Route // of the three above and the verb; zero if unknown is set
	unknown error       // why no method of Riot's fits
}

// rso reports whether the call goes on a player's token instead of a key (R5).
func (to *target) rso() bool {
	return to.route.Method != nil && to.route.Method.Auth == route.AuthRSO
}

// target reads the raw request target. An error that noCall knows is that of a
// request which isn't a call to Riot.
func (h *Handler) target(r *http.Request) (target, error) {
	switch r.Method {
	case http.MethodConnect:
		return target{}, invalidRoute(http.StatusMethodNotAllowed,
			"method CONNECT is not relayed, since TRUST_DIR is not set; allowed: "+allowedVerbs)
	case http.MethodTrace:
		return target{}, invalidRoute(http.StatusMethodNotAllowed, "method TRACE is not relayed; allowed: "+allowedVerbs)
	}
	if p := upgrade(r.Header); p != "" {
		return target{}, invalidRoute(http.StatusBadRequest, "upgrade to "+show(p)+" is not relayed; allowed: plain HTTP requests")
	}
	host, rest, err := h.named(r)
	if err != nil {
		return target{}, err
	}
	path, raw, asked := strings.Cut(rest, "?")
	if oddQuery(raw) {
		return target{}, invalidRoute(http.StatusBadRequest, "the query has a raw space, # or control byte; allowed: their escapes, as in %20")
	}
	to := target{host: host, path: path, query: dropAPIKey(raw), emptyTag: asked && raw == ""}
	if host != "" {
		switch {
		case path == "" || path == "/": // no page of ours under Riot's name
			return target{}, invalidRoute(http.StatusNotFound, "no path; allowed: one like /lol/status/v4/platform-data")
		case path[0] != '/':
			return target{}, invalidRoute(http.StatusBadRequest, "the request target has no path; allowed: one like /lol/status/v4/platform-data")
		}
		return to, nil
	}
	if to.host, to.path, err = h.table.Split(path); err != nil {
		return target{}, &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: err}
	}
	if _, listed := h.names[to.host]; listed {
		return to, nil
	}
	if h.roots[to.host] {
		to.path = path
		err = h.kernel(r.Method, &to)
		return to, err
	}
	if plainLabel(to.host) { // Riven says EUW1, which is the same name to DNS
		to.host = strings.ToLower(to.host)
	}
	return to, nil
}

// named returns the host of the API that absolute form or Host header name, ""
// if they name none, and what is left of the target: path and query.
func (h *Handler) named(r *http.Request) (host, rest string, err error) {
	authority, rest := r.Host, r.RequestURI
	absolute := rest == "" || rest[0] != '/'
	if absolute {
		var ok bool
		if authority, rest, ok = cutAuthority(rest); !ok {
			return "", "", invalidRoute(http.StatusBadRequest,
				"the request target is neither a path nor http://; allowed: a path like /euw1/lol/status/v4/platform-data")
		}
	}
	label, n := readName(authority)
	switch {
	case n == oddName:
		return "", "", invalidRoute(http.StatusBadRequest, "host "+showName(authority)+" is not relayed; allowed: "+allowedNames)
	case n == ownName && absolute && !plainName(authority):
		return "", "", invalidRoute(http.StatusBadRequest, "host "+showName(authority)+" is malformed; allowed: "+allowedNames)
	case n == ownName && absolute:
		return "", "", invalidRoute(http.StatusForbidden, "host "+showName(authority)+" is not relayed; allowed: "+allowedNames)
	}
	if r.TLS != nil {
		// TLS for one of Riot's names carries requests for that name alone.
		if bound, n := readName(r.TLS.ServerName); n == riotName && bound != label {
			return "", "", invalidRoute(http.StatusMisdirectedRequest,
				"this connection is for "+bound+domain+", the request for "+showName(authority)+"; allowed: the same name in both")
		}
	}
	return label, rest, nil
}

const allowedNames = "{host}" + domain + ", as in euw1" + domain

// cutAuthority cuts a target in absolute form. Some clients send https:// in
// clear to their proxy: it is the same to us.
func cutAuthority(target string) (authority, rest string, ok bool) {
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			target = target[len(scheme):]
			if i := strings.IndexAny(target, "/?#"); i >= 0 {
				return target[:i], target[i:], true
			}
			return target, "", true
		}
	}
	return "", "", false
}

// name sorts what an authority names.
type name uint8

const (
	ownName  name = iota // not Riot: whatever the relay is called
	riotName             // exactly one host of the API, known or not
	oddName              // Riot's domain in some other form: nobody means that well
)

const riots = "riotgames.com"

// readName reads an authority, "name" or "name:port". Of Riot's names it returns
// the first label in lower case. A port is one that http:// and https:// have
// anyway. No more is allowed of a name than letters and digits in front of the
// domain; the table knows which of them are hosts.
func readName(authority string) (label string, n name) {
	if len(authority) < len(riots) || !mentions(authority, riots) {
		return "", ownName
	}
	name := strings.TrimSuffix(authority, ":443")
	if len(name) == len(authority) {
		name = strings.TrimSuffix(authority, ":80")
	}
	i := len(name) - len(domain)
	if i < 1 || !strings.EqualFold(name[i:], domain) {
		return "", oddName
	}
	if label = name[:i]; !plainLabel(label) {
		return "", oddName
	}
	return strings.ToLower(label), riotName
}

// plainLabel reports whether a label has ASCII letters and digits only. There
// are others that become one of them in lower case.
func plainLabel(label string) bool {
	for _, c := range []byte(label) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// mentions reports whether s has word in it, which is in lower case.
func mentions(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0]|0x20 && strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// showName quotes an authority without its user, who may have a password.
func showName(authority string) string {
	return show(authority[strings.LastIndexByte(authority, '@')+1:])
}

// plainName reports whether an authority is a name or an IPv4 address, with a
// port or without.
func plainName(authority string) bool {
	name, port, _ := strings.Cut(authority, ":")
	return name != "" && strings.Trim(port, "0123456789") == "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-')
	})
}

// Serves reports whether a name is that of a host of the API that the relay
// serves, as in "euw1.api.riotgames.com". The error says why not.
func (h *Handler) Serves(name string) error {
	label, n := readName(name)
	if n != riotName || len(label)+len(domain) != len(name) || name != label+domain {
		return invalidRoute(http.StatusForbidden, "no host of the API is called "+show(name)+"; allowed: "+allowedNames)
	}
	if _, listed := h.names[label]; listed {
		return nil
	}
	if bad := problem(h.matchError(label)); bad != nil && bad.Problem == route.UnknownHost {
		return invalidRoute(http.StatusForbidden, bad.Detail)
	}
	return nil
}

// matchError is what the table says of a host, and of a path that isn't there.
func (h *Handler) matchError(host string) error {
	_, err := h.table.Match(http.MethodGet, host, "/-")
	return err
}

// roots are the first segments of Riot's paths: "lol", "riot", "tft".
func roots(t *route.Table) map[string]bool {
	set := make(map[string]bool)
	for _, m := range t.Methods() {
		first, _, _ := strings.Cut(strings.TrimPrefix(m.Template, "/"), "/")
		set[first] = true
	}
	return set
}

// regions says where the players of a platform have what is kept by region.
var regions = map[string]string{
	"br1": "americas", "la1": "americas", "la2": "americas", "na1": "americas",
	"jp1": "asia", "kr": "asia",
	"eun1": "europe", "euw1": "europe", "me1": "europe", "ru": "europe", "tr1": "europe",
	"oc1": "sea", "sg2": "sea", "tw2": "sea", "vn2": "sea",
}

// kernel reads a target as Kernel took it: Riot's path, and the platform in the
// query, in capitals. The platform is for the relay, and not sent on. Methods
// that live on regions go to the platform's region; account-v1 is the same
// everywhere, and not on sea.
func (h *Handler) kernel(verb string, to *target) error {
	platform, n, same := "", 0, true
	query := drop(to.query, "platform", func(value string) {
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		if plainLabel(value) { // other letters can become one of these in lower case
			value = strings.ToLower(value)
		}
		same = same && (n == 0 || value == platform)
		platform = value
		n++
	})
	switch {
	case n == 0 || platform == "":
		return invalidRoute(http.StatusNotFound, "no host for "+show(to.path)+"; allowed: /euw1"+some(to.path)+", or ?platform=EUW1, or Host: euw1"+domain)
	case !same:
		return invalidRoute(http.StatusBadRequest, "the query has several platforms; allowed: one, as in ?platform=EUW1")
	}
	to.host, to.query = platform, query
	to.emptyTag = false
	m, err := h.table.Match(verb, platform, to.path)
	if err == nil && m.Method.Template != route.UnknownTemplate {
		return nil
	}
	for _, region := range [...]string{regions[platform], "asia"} {
		if region == "" {
			continue
		}
		m, err := h.table.Match(verb, region, to.path)
		if err == nil && m.Method.Template != route.UnknownTemplate && (region == regions[platform] || m.Method.Service == "account-v1") {
			to.host = region
			return nil
		}
	}
	return nil // the table will say what is wrong
}

// some is the beginning of a path, for messages.
func some(path string) string {
	const most = 60
	if len(path) <= most && strings.IndexFunc(path, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) < 0 {
		return path
	}
	return "/lol/…"
}
