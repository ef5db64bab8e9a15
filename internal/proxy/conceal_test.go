package proxy

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"nothing here":                "nothing here",
		"a RGAPI-12ab-34cd_z b":       "a RGAPI-… b",
		"rgapi-x,RGAPI-y":             "rgapi-…,RGAPI-…",
		"RGAPI-":                      "RGAPI-…",
		"İ RGAPI-12 \xff":             redact("İ RGAPI-12 \xff"),
		"/lol/%52GAPI-12/RGAPI-1?x=1": "/lol/%52GAPI-12/RGAPI-…?x=1",
	} {
		if got := redact(in); got != want || strings.Contains(got, "I-12 ") {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// A token where none belongs, by mistake: in a path, a control header, an id.
// Messages quote such things, and neither they nor the log show it.
func TestTokenInTheWrongPlace(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for name, c := range map[string]struct {
		verb, target string
		headers      []string
	}{
		"path":                   {"GET", "/euw1/lol/" + token, nil},
		"path, escaped":          {"GET", "/euw1/lol/" + token + "%zz", nil},
		"host":                   {"GET", "/" + token + "/lol/status/v4/platform-data", nil},
		"host, in letters alone": {"GET", "/" + plainToken + "/lol/status/v4/platform-data", []string{"X-Relay-Token", plainToken}},
		"platform of Kernel's":   {"GET", "/lol/status/v4/platform-data?platform=" + token, nil},
		"X-Max-Wait":             {"GET", status, []string{"X-Max-Wait", token}},
		"X-Riot-Token-Index":     {"GET", status, []string{"X-Riot-Token-Index", token}},
		"Upgrade":                {"GET", status, []string{"Upgrade", token}},
		"X-Request-Id":           {"GET", "/euw1/lol/x", []string{"X-Request-Id", token}},
		"X-Request-Id alone":     {"GET", status, []string{"X-Request-Id", token, "X-Relay-Token", "wrong"}},
		"verb":                   {token, status, nil},
		"verb alone":             {token, status, []string{"X-Relay-Token", "wrong"}},
	} {
		log.Reset()
		known := append(twoClients(), Client{Name: "plain", Tokens: [][32]byte{digest(plainToken)}})
		headers := c.headers
		if !strings.Contains(strings.Join(headers, " "), "X-Relay-Token") {
			headers = append(headers, "X-Relay-Token", token)
		}
		up := newUpstream(t, say(plainAnswer))
		h, err := New(Options{Table: table(t), Transport: viaUpstream(t, up), Clients: known, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "http://relay.test/", http.NoBody)
		r.Method, r.RequestURI = c.verb, c.target
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code < 400 || len(up.heads) != 0 || log.Len() == 0 {
			t.Errorf("%s: %d %s, sent %q, log %q", name, w.Code, w.Body, up.heads, log.String())
		}
		if said := strings.ToUpper(dump(w.Header()) + w.Body.String() + log.String()); strings.Contains(said, "CANARY") {
			t.Errorf("%s: the token shows: %s", name, said)
		}
	}
}

const plainToken = "CANARYTokenOfPlain"
