package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// asset is a file, compressed.
type asset struct {
	kind   string // Content-Type
	packed []byte // gzip
	tag    string // of the content, for caches
}

func newAsset(kind string, content []byte) asset {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("BUG: explorer: " + err.Error()) // memory doesn't fail
	}
	return packedAsset(kind, b.Bytes())
}

func packedAsset(kind string, packed []byte) asset {
	sum := sha256.Sum256(packed)
	return asset{kind, packed, hex.EncodeToString(sum[:12])}
}

func ownAsset(name string) asset { return newAsset(kindOf(name), read(own, name)) }

// theirAsset is a file of Swagger UI's, which is embedded in compressed form.
func theirAsset(name string) asset { return packedAsset(kindOf(name), read(static.FS, name+".gz")) }

func kindOf(name string) string { return mime.TypeByExtension(path.Ext(name)) }

func read(files fs.ReadFileFS, name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic("BUG: explorer: " + err.Error()) // it is embedded
	}
	return content
}

// ServeHTTP sends the file as the client wants it, or says that what it has is
// still good.
func (a asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	packed := takesGzip(r.Header)
	tag := `"` + a.tag + `"`
	if packed {
		tag = `"` + a.tag + `-gzip"` // other bytes, another tag
	}
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // keep it, and ask whether it is still good
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	if packed {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(a.packed)))
		_, _ = w.Write(a.packed) // whoever asked may have gone
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(a.packed))
	if err != nil {
		panic("BUG: explorer: " + err.Error()) // the test reads each of them
	}
	_, _ = io.Copy(w, z) // as above
}

// takesGzip reads Accept-Encoding. A weight of zero is a no.
func takesGzip(h http.Header) bool {
	for _, v := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(v, ",") {
			name, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
			if strings.EqualFold(name, "gzip") {
				q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
				return err != nil || q > 0
			}
		}
	}
	return false
}
