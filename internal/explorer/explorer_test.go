package explorer_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"riftrelay/internal/explorer"
	"riftrelay/route"
)

func relay() http.Handler {
	return explorer.Handler(explorer.Relay(explorer.RelayOptions{Table: route.Default()}))
}

func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	h := relay()
	for path, kind := range map[string]string{
		"": "text/html", "page.js": "javascript", "page.css": "text/css", "openapi.json": "application/json",
		"swagger-ui-bundle.js": "javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png",
	} {
		plain := get(h, explorer.Root+path)
		packed := get(h, explorer.Root+path, "Accept-Encoding", "br, gzip;q=0.5")
		if plain.Code != http.StatusOK || packed.Code != http.StatusOK {
			t.Fatalf("%s: %d and %d", path, plain.Code, packed.Code)
		}
		if got := plain.Header().Get("Content-Type"); !strings.Contains(got, kind) {
			t.Errorf("%s: it is %s", path, got)
		}
		if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: not encoded as asked for", path)
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil || string(text) != plain.Body.String() || len(text) == 0 {
			t.Errorf("%s: two contents (%v)", path, err)
		}
		tags := [2]string{plain.Header().Get("ETag"), packed.Header().Get("ETag")}
		if tags[0] == tags[1] || tags[0] == "" {
			t.Errorf("%s: ETags %q", path, tags)
		}
		if again := get(h, explorer.Root+path, "If-None-Match", tags[0]); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: %d for what the client has", path, again.Code)
		}
		if w := get(h, explorer.Root+path, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: gzip, which the client doesn't want", path)
		}
	}
}

// The page asks nobody but the listener that it is from.
func TestPageIsAlone(t *testing.T) {
	h := relay()
	w := get(h, explorer.Root)
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("Content-Security-Policy: %s", policy)
	}
	page := w.Body.String()
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if got := get(h, explorer.Root+m[1]); got.Code != http.StatusOK {
			t.Errorf("%s: %d", m[1], got.Code)
		}
	}
	if regexp.MustCompile(`<script>|<style|style=|https?://`).MatchString(page + get(h, explorer.Root+"page.js").Body.String()) {
		t.Errorf("inline code, or an address of elsewhere:\n%s", page)
	}
}

func TestOtherRequests(t *testing.T) {
	h := relay()
	if w := get(h, "/swagger"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "swagger/" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	for _, path := range []string{"nothing", "page.html", "../asset.go", "openapi.json/"} {
		if w := get(h, explorer.Root+path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, explorer.Root, http.NoBody))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
}

// It is built at each start, whether somebody looks at it or not.
func BenchmarkBuild(b *testing.B) {
	table := route.Default()
	for b.Loop() {
		explorer.Handler(explorer.Relay(explorer.RelayOptions{Table: table}))
	}
	size := len(explorer.Relay(explorer.RelayOptions{Table: table}).Marshal())
	if size > 1<<20 {
		b.Errorf("%d bytes", size)
	}
	b.ReportMetric(float64(size), "bytes")
}
