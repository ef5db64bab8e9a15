package daemon

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"riftrelay/internal/admin"
)

// takesBack is Riot's edge over HTTP/2, frame by frame. The first request of each
// path is not processed: a POST's stream is refused, and a GET's connection ends
// with a GOAWAY for earlier streams.
type takesBack struct {
	mu   sync.Mutex
	came map[string]int // by verb
}

func (u *takesBack) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	verbs := map[uint32]string{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			verbs[frame.StreamID] = frame.PseudoValue("method")
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			ended = frame.StreamEnded()
		}
		if ended && !u.answer(f, frame.Header().StreamID, verbs[frame.Header().StreamID]) {
			return
		}
	}
}

// answer reports whether the connection goes on.
func (u *takesBack) answer(f *http2.Framer, id uint32, verb string) bool {
	u.mu.Lock()
	u.came[verb]++
	n := u.came[verb]
	u.mu.Unlock()
	switch {
	case n == 1 && verb == http.MethodPost:
		return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil
	case n == 1:
		_ = f.WriteGoAway(id-1, http2.ErrCodeNo, nil)
		return false
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":status", "200"}, {"x-app-rate-limit", "100:120"}, {"x-app-rate-limit-count", "1:120"}, {"x-method-rate-limit", "100:120"}, {"x-method-rate-limit-count", "1:120"},
	} {
		_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
	return f.WriteData(id, true, []byte("{}")) == nil
}

// What Riot's edge didn't process by its own word is sent again, a POST too, and
// each sending has one charge.
func TestCallsThatRiotTakesBackAreSentAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "edge.pem")
	authority := certFile(t, file, 1)
	cert, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	edge := &takesBack{came: map[string]int{}}
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			busy.Go(func() { edge.serve(conn) })
		}
	})
	defer busy.Wait()
	defer l.Close()

	p := startProcess(t, dir, "RIOT_TOKEN=main="+canary, "UPSTREAM_URL=https://"+l.Addr().String(), "UPSTREAM_CA_FILE="+trusted, "ADMIN_ADDR=127.0.0.1:0", "PACING=burst")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, verb := range []string{http.MethodGet, http.MethodPost} {
		url, body := p.front+"/americas/lol/tournament/v5/codes/x", ""
		if verb == http.MethodPost {
			url, body = p.front+stubCodes, `{"mapType":"SUMMONERS_RIFT"}`
		}
		req, err := http.NewRequest(verb, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		edge.mu.Lock()
		if resp.StatusCode != 200 || edge.came[verb] != 2 {
			t.Errorf("%s: %d %s, came %d times", verb, resp.StatusCode, text, edge.came[verb])
		}
		edge.mu.Unlock()
	}
	if text := visit(t, p.admin+"/metrics", "").body; !strings.Contains(text, `riftrelay_retries_total{cause="error"} 2`) {
		t.Errorf("metrics:\n%s", text)
	}
	var s admin.State
	if err := json.Unmarshal([]byte(visit(t, p.admin+"/api/v1/state", "").body), &s); err != nil {
		t.Fatal(err)
	}
	for _, scope := range s.Scopes {
		if scope.Method == "" && (len(scope.Windows) != 1 || scope.Windows[0].Ours != 4 || scope.InFlight != 0) {
			t.Errorf("after four sendings: %+v", scope)
		}
	}
	p.stop(t)
}
