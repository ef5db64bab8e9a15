package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// uPlot is vendored as its package on npm has it: dist/ and LICENSE of
// uplot-1.6.32.tgz, whose integrity is
// sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==
func TestVendoredFilesAreUnmodified(t *testing.T) {
	want := map[string]string{
		"uPlot.LICENSE":     "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	}
	files, err := web.ReadDir("web/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := web.ReadFile("web/vendor/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != want[f.Name()] {
			t.Errorf("%s has the checksum %s, want %q", f.Name(), got, want[f.Name()])
		}
		delete(want, f.Name())
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

func TestPageIsSmall(t *testing.T) {
	const most = 80_000
	total := 0
	for name, f := range loadAssets().files {
		if f.kind == "" {
			t.Errorf("%s: nobody knows what kind of file that is", name)
		}
		if !strings.HasSuffix(name, ".LICENSE") {
			total += len(f.gzip)
		}
	}
	t.Logf("%d bytes, compressed", total)
	if total > most {
		t.Errorf("the page has %d bytes, compressed; allowed: %d", total, most)
	}
}

// A strict policy is of no use to a page that breaks it, and a page that names
// other origins asks them.
func TestPageNeedsNothingElse(t *testing.T) {
	for name, f := range loadAssets().files {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		text := string(f.plain)
		if strings.HasSuffix(name, ".html") {
			for _, bad := range []string{`<style`, `style="`, `javascript:`, `"http`, `"//`} {
				if strings.Contains(text, bad) {
					t.Errorf("%s has %s", name, bad)
				}
			}
			if regexp.MustCompile(`<script(?:>| [^>]*>[^<])|\son[a-z]+=`).MatchString(text) {
				t.Errorf("%s has a script within", name)
			}
		}
		for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"} {
			if strings.HasSuffix(name, ".js") && strings.Contains(text, bad) {
				t.Errorf("%s has %s: text is set as text", name, bad)
			}
		}
	}
}

func TestAssetsAreServed(t *testing.T) {
	handler := New(Options{Index: "what else there is\n"}).Handler()
	get := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	page := get("/", "Accept", "text/html,*/*", "Accept-Encoding", "gzip, br")
	if h := page.Header(); page.Code != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") || h.Get("Content-Encoding") != "gzip" ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'self'; ") || strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("page: %d %v", page.Code, page.Header())
	}
	if again := get("/", "Accept", "text/html", "If-None-Match", page.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("the same page again: %d", again.Code)
	}
	if text := get("/", "Accept", "*/*"); text.Body.String() != "what else there is\n" {
		t.Errorf("a program gets %q", text.Body)
	}
	plain := get("/assets/app.js", "Accept-Encoding", "gzip;q=0")
	if plain.Code != 200 || plain.Header().Get("Content-Encoding") != "" || !strings.HasPrefix(plain.Header().Get("Content-Type"), "text/javascript") {
		t.Errorf("app.js: %d %v", plain.Code, plain.Header())
	}
	for _, path := range []string{"/assets/nothing.js", "/assets/index.html", "/assets/../dashboard.go", "/nothing"} {
		if w := get(path); w.Code == 200 {
			t.Errorf("%s is served", path)
		}
	}
	// The page names no file that isn't there.
	files := loadAssets().files
	for _, m := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(string(files["index.html"].plain), -1) {
		if w := get(m[1]); w.Code != 200 {
			t.Errorf("%s: %d", m[1], w.Code)
		}
	}
	for name, f := range files {
		for _, m := range regexp.MustCompile(`from "\./([^"]+)"`).FindAllStringSubmatch(string(f.plain), -1) {
			if w := get("/assets/" + m[1]); w.Code != 200 {
				t.Errorf("%s imports %s, which isn't served", name, m[1])
			}
		}
	}
}
