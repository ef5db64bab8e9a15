package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A page that somebody visits can have his browser call any address that he can
// reach, and so use the keys of a relay there. Two things give it away: what the
// browser says of where the page is from, and, where the page has pointed a name
// of its own to the relay's address (DNS rebinding), that name as the Host.

// everyone as Options.Origins or Options.Hosts allows all.
const everyone = "*"

// entrance is what every request must pass, also those that are no calls.
func (h *Handler) entrance(r *http.Request) error {
	if h.tlsOnly && r.TLS == nil && r.Method != http.MethodConnect && !isHealth(r.RequestURI) {
		return refusal(reasonTLSRequired, "this port speaks TLS; allowed: https://")
	}
	if r.Method != http.MethodConnect && !h.ownHost(r.Host) { // the Host of CONNECT is where it leads
		return refusal(reasonHostNotAllowed, "the relay is not called "+showName(r.Host)+"; allowed: IP addresses, localhost, Riot's names and those of ALLOWED_HOSTS")
	}
	return nil
}

// isHealth reports whether a target is one that balancers and healthcheck ask
// for: they know neither names nor certificates.
func isHealth(uri string) bool { return uri == "/healthz" || uri == "/readyz" }

// ownHost reports whether a Host may be one of the relay's. An address always
// may: nobody can point it anywhere else.
func (h *Handler) ownHost(host string) bool {
	if h.hosts == nil || host == "" {
		return true
	}
	if _, n := readName(host); n == riotName {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || h.hosts[host]
}

// hostSet is Options.Hosts for ownHost; nil = all.
func hostSet(list []string) map[string]bool {
	if list == nil || slices.Contains(list, everyone) {
		return nil
	}
	set := make(map[string]bool, len(list))
	for _, host := range list {
		set[strings.ToLower(host)] = true
	}
	return set
}

// cors are the origins whose pages may use the relay.
type cors struct {
	origins map[string]bool // "https://app.example"; nil = none
	all     bool
}

func newCORS(list []string) cors {
	c := cors{all: slices.Contains(list, everyone)}
	if len(list) > 0 && !c.all {
		c.origins = make(map[string]bool, len(list))
		for _, origin := range list {
			c.origins[origin] = true
		}
	}
	return c
}

func (c cors) on() bool { return c.all || c.origins != nil }

// check refuses calls that a page of another site makes. The browser says so by
// Sec-Fetch-Site, which no page can change. Where browsers don't send it, an
// Origin says so, but many programs copy an Origin from somewhere: there it
// counts only if the request looks like a browser's.
func (c cors) check(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if c.all || origin != "" && c.origins[origin] {
		return nil
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // none: typed by a person
		return nil
	case "": // a program, an old browser, or plain http to a name
		if origin == "" || sameHost(origin, r.Host) || !looksLikeABrowser(r.Header) {
			return nil
		}
	}
	from := "a page of another site"
	if origin != "" {
		from = show(origin)
	}
	return refusal(reasonCrossOrigin, "the call comes from "+from+"; allowed: programs, the relay's own pages, and pages of CORS_ORIGINS")
}

// looksLikeABrowser reports whether a browser can have sent these headers for a
// page of another site: it has a browser's User-Agent, which a page can change
// only where a preflight has allowed it, and nothing that no page can send.
func looksLikeABrowser(h http.Header) bool {
	agent := h.Get("User-Agent")
	return (strings.HasPrefix(agent, "Mozilla/") || strings.HasPrefix(agent, "Opera/")) &&
		!slices.ContainsFunc(programsOnly[:], func(name string) bool { return h[name] != nil })
}

// programsOnly are headers that a page can't send to another site: browsers ask
// the relay first, by a preflight, and it allows none but those of CORS_ORIGINS;
// Accept-Charset they let no page set. Authorization isn't among them, because
// a browser sends a password that it remembers for a relay without asking.
var programsOnly = [...]string{
	"X-Riot-Token", "X-Relay-Token", "X-Riot-Token-Index", "X-Priority", "X-Max-Wait", "X-Rate-Budget", "X-Request-Id", "Accept-Charset",
}

// sameHost reports whether an origin is that of the host that was called.
func sameHost(origin, host string) bool {
	_, from, _ := strings.Cut(origin, "://")
	return from != "" && strings.EqualFold(from, host)
}

// permit tells a browser that its page may read the answer, and takes away what
// Riot has told it, twice even (R15): that was meant for the holder of the key. A
// browser's own credentials are never allowed, as there are none.
func (c cors) permit(to http.Header, origin string) {
	if !c.on() {
		return
	}
	for name := range to {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(to, name)
		}
	}
	if !c.all && !slices.ContainsFunc(to["Vary"], func(v string) bool { return mentions(v, "origin") }) {
		to["Vary"] = append(slices.Clip(to["Vary"]), "Origin") // also without: who keeps answers must know
	}
	switch {
	case origin == "":
		return
	case c.all:
		to["Access-Control-Allow-Origin"] = []string{everyone}
	case c.origins[origin]:
		to["Access-Control-Allow-Origin"] = []string{origin}
	default:
		return
	}
	to["Access-Control-Expose-Headers"] = []string{everyone}
}

// preflight answers a browser that asks whether its page may call. It reports
// false if that isn't what the request is.
func (c cors) preflight(w http.ResponseWriter, r *http.Request) bool {
	if !c.on() || r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" || c.check(r) != nil {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", allowedVerbs)
	if names := strings.Join(r.Header["Access-Control-Request-Headers"], ", "); headerNames(names) {
		h.Set("Access-Control-Allow-Headers", names) // "*" would leave Authorization out
	}
	h.Set("Access-Control-Max-Age", "7200")
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("X-Riftrelay-Source", SourceRelay)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// headerNames reports whether a text is a list of names of headers, and not too
// long to be sent back.
func headerNames(s string) bool {
	return s != "" && len(s) <= 2000 && strings.IndexFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == ',' || c == ' ')
	}) < 0
}
