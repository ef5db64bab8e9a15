// Package explorer shows an API in the browser, where it can be tried: Swagger
// UI, with nothing fetched from anywhere but here.
//
//   - explorer.go, asset.go: the page and its files, compressed once.
//   - relay.go: the description of what a relay serves, made of its own method
//     table, so that a method that is added to the table can be tried at once.
//   - parameters.go, answers.go: what the table doesn't say, as data: good
//     values for parameters, query parameters, and shapes of answers.
//
// "Try it" calls the host that the page is from. On the relay's listener that
// is the relay: calls from the page wait for the limits as all others do.
package explorer

import (
	"embed"
	"html"
	"net/http"
	"path"
	"strings"

	"github.com/swaggest/swgui/v5/static"

	"riftrelay/internal/openapi"
)

// Root is where a Handler has to be served.
const Root = "/swagger/"

//go:embed page.html page.js page.css
var own embed.FS

// fewPaths are so many that a page can show them all at first.
const fewPaths = 20

// policy lets the page have nothing but what comes from here; Swagger UI has
// its symbols in data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Description serves d alone, wherever.
func Description(d openapi.Document) http.Handler { return newAsset(jsonKind, d.Marshal()) }

const jsonKind = "application/json"

// Handler serves the explorer of d below Root. What it serves is made here,
// once.
func Handler(d openapi.Document) http.Handler {
	files := map[string]asset{
		"openapi.json":         newAsset(jsonKind, d.Marshal()),
		"page.js":              ownAsset("page.js"),
		"page.css":             ownAsset("page.css"),
		"swagger-ui-bundle.js": theirAsset("swagger-ui-bundle.js"),
		"swagger-ui.css":       theirAsset("swagger-ui.css"),
		"favicon.png":          newAsset("image/png", read(static.FS, "favicon-32x32.png")),
	}
	expansion := "none"
	if len(d.Paths) <= fewPaths {
		expansion = "list"
	}
	page := strings.NewReplacer("{{title}}", html.EscapeString(d.Info.Title), "{{expansion}}", expansion).Replace(string(read(own, "page.html")))
	files[""] = newAsset("text/html; charset=utf-8", []byte(page))
	files["index.html"] = files[""]

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Riftrelay-Source", "relay")
		file, found := files[strings.TrimPrefix(r.URL.Path, Root)]
		switch {
		case r.URL.Path+"/" == Root:
			w.Header().Set("Location", path.Base(Root)+"/") // relative: what stands before us is unknown
			w.WriteHeader(http.StatusMovedPermanently)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "allowed: GET, HEAD", http.StatusMethodNotAllowed)
		case !found:
			http.Error(w, "page not found; allowed: "+Root, http.StatusNotFound)
		default:
			w.Header().Set("Content-Security-Policy", policy)
			w.Header().Set("Referrer-Policy", "no-referrer")
			file.ServeHTTP(w, r)
		}
	})
}
