package proxy

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// page is what "/" shows.
type page struct {
	version, admin, docs string
	explorer             bool   // there is one
	policy               string // Content-Security-Policy
}

func newPage(o Options) page {
	hash := sha256.Sum256([]byte(pageCSS))
	return page{
		version: o.Version, admin: o.AdminAddr, docs: o.Docs, explorer: o.Explorer != nil,
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

// serveLocal answers what isn't a call to Riot: why says so.
func (h *Handler) serveLocal(w http.ResponseWriter, r *http.Request, why error) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if local := h.local[path]; local != nil {
		local.ServeHTTP(w, r)
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case path == "/" && reads:
		h.page.serve(w, r, h.insider(r))
	case path == "/favicon.ico" && reads:
		// Browsers ask on their own; an error would show in their consoles.
		w.Header().Set("Cache-Control", "max-age=86400")
		w.WriteHeader(http.StatusNoContent)
	case path == "/robots.txt" && reads:
		// A crawler that follows links would use the key up.
		send(w, "text/plain; charset=utf-8", "User-agent: *\nDisallow: /\n")
	default:
		a := replyFor(why, false, "")
		if h.stray(r) {
			a.message = strayMessage
		}
		a.write(w)
	}
}

// insider reports whether a request is from this machine or shows a client's
// token. What a reverse proxy on this
// machine hands on is from elsewhere.
func (h *Handler) insider(r *http.Request) bool {
	if known := h.clients.Load(); known != nil {
		if who, _ := h.recognise(known, r, target{}); who != nil {
			return true
		}
	}
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header[name] != nil {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// serve shows the page: HTML to browsers, which ask for it, and JSON to programs.
// Only insiders are told the version and the admin listener's address.
func (p page) serve(w http.ResponseWriter, r *http.Request, insider bool) {
	if !insider {
		p.version, p.admin = "", ""
	}
	h := w.Header()
	h.Set("Vary", "Accept")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Riftrelay-Source", SourceRelay)
	sample := origin(r) + "/euw1/lol/status/v4/platform-data"

	if !strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		facts := map[string]string{"name": "RiftRelay", "sample": sample, "docs": p.docs}
		if insider {
			facts["version"], facts["admin"] = p.version, p.admin
		}
		text, err := json.Marshal(facts)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		send(w, "application/json;charset=utf-8", string(text)+"\n")
		return
	}
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Referrer-Policy", "no-referrer")
	where := ""
	if p.admin != "" {
		where += "<dt>State, limits, metrics</dt><dd>the admin listener, <code>" + html.EscapeString(p.admin) +
			"</code>, with <code>/metrics</code></dd>\n"
	}
	if p.explorer {
		where += `<dt>Every method, to try</dt><dd><a href="swagger/">the explorer</a></dd>` + "\n"
	}
	if strings.HasPrefix(p.docs, "https://") || strings.HasPrefix(p.docs, "http://") {
		docs := html.EscapeString(p.docs)
		where += `<dt>Documentation</dt><dd><a href="` + docs + `">` + docs + "</a></dd>\n"
	}
	send(w, "text/html; charset=utf-8", strings.NewReplacer(
		"{{style}}", pageCSS,
		"{{version}}", html.EscapeString(p.version),
		"{{sample}}", html.EscapeString(sample),
		"{{where}}", where,
	).Replace(pageHTML))
}

const explorerPath = "/swagger"

// explores reports whether a request target is the explorer's.
func explores(target string) bool {
	rest, is := strings.CutPrefix(target, explorerPath)
	return is && (rest == "" || rest[0] == '/' || rest[0] == '?')
}

// origin is the relay as the client calls it. A Host that is no plain name and
// port is left out: people paste the sample into shells.
func origin(r *http.Request) string {
	host := r.Host
	if host == "" || len(host) > 255 || strings.ContainsFunc(host, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(".-:[]", c))
	}) {
		host = "localhost"
	}
	if r.TLS != nil {
		return "https://" + host
	}
	return "http://" + host
}

func send(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Write([]byte(text))
}
