package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed web
var web embed.FS

// asset is one file of the page, as it is and compressed.
type asset struct {
	kind, tag   string
	plain, gzip []byte
}

// assets are the page's files, by their name under /assets/; that of the page
// itself is index.html.
type assets struct {
	files map[string]*asset
	build string // of all files together: a page that is older asks to be loaded again
}

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".LICENSE": "text/plain; charset=utf-8",
}

func loadAssets() *assets {
	a := &assets{files: map[string]*asset{}}
	build := sha256.New()
	err := fs.WalkDir(web, "web", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		build.Write([]byte(name))
		build.Write(text)
		a.files[strings.TrimPrefix(name, "web/")] = newAsset(kinds[path.Ext(name)], text)
		return nil
	})
	if err != nil {
		panic("BUG: " + err.Error()) // they are in the program
	}
	a.build = hex.EncodeToString(build.Sum(nil)[:8])
	page := a.files["index.html"]
	a.files["index.html"] = newAsset(page.kind, bytes.ReplaceAll(page.plain, []byte("{{build}}"), []byte(a.build)))
	return a
}

func newAsset(kind string, text []byte) *asset {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("BUG: " + err.Error()) // a buffer takes everything
	}
	sum := sha256.Sum256(text)
	return &asset{kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: text, gzip: packed.Bytes()}
}

// policy lets the page load its own files and call its own origin, and nothing
// else: no script or style within it, no frame around it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	f := a.files[r.PathValue("name")]
	if f == nil || r.PathValue("name") == "index.html" {
		http.NotFound(w, r)
		return
	}
	f.serve(w, r)
}

func (f *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // asks each time, by the tag
	h.Set("ETag", f.tag)
	h.Add("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = f.gzip
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func takesGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") && weight != "q=0" {
			return true
		}
	}
	return false
}

// page shows the page to browsers, and to programs what else there is.
func (d *Dashboard) page(files *assets, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte(d.options.Index))
		return
	}
	files.files["index.html"].serve(w, r)
}
