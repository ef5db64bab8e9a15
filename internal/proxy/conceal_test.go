package proxy

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/internal/tokens"
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
// Another client's token shows no more than one's own, with and without a token
// of one's own, whole, within another text, escaped, and cut by a message's end.
func TestTokensOfOthersInTheWrongPlace(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	escaped := ""
	for _, c := range []byte(botToken) {
		escaped += fmt.Sprintf("%%%02X", c)
	}
	for name, c := range map[string]struct {
		target  string
		headers []string
	}{
		"path":                  {"/euw1/lol/" + botToken, nil},
		"path, within a part":   {"/euw1/lol/x" + botToken + "y", nil},
		"path, escaped":         {"/euw1/lol/" + escaped, nil},
		"path, at the cut":      {"/euw1/lol/" + strings.Repeat("x", 86) + botToken, nil},
		"path of one part":      {"/a" + botToken, nil},
		"host":                  {"/" + botToken + "/lol/status/v4/platform-data", nil},
		"platform of Kernel's":  {"/lol/status/v4/platform-data?platform=" + botToken, nil},
		"X-Max-Wait":            {status, []string{"X-Max-Wait", "5s" + botToken}},
		"X-Rate-Budget":         {status, []string{"X-Rate-Budget", "id-" + botToken}},
		"X-Riot-Token-Index":    {status, []string{"X-Riot-Token-Index", botToken}},
		"X-Request-Id":          {"/euw1/lol/x", []string{"X-Request-Id", "id-" + botToken}},
		"X-Request-Id, its own": {"/euw1/lol/x", []string{"X-Request-Id", "id" + token}},
		"Host":                  {status, []string{"Host", botToken + ".example"}},
		"Origin":                {status, []string{"Origin", "https://" + botToken + ".example", "Sec-Fetch-Site", "cross-site"}},
	} {
		for _, own := range []string{token, ""} {
			log.Reset()
			h, err := New(Options{
				Table: table(t), Clients: twoClients(), Logger: logger, Hosts: []string{"relay.test"},
				Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					return nil, &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidBudget, Detail: "unknown budget"}
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("GET", "http://relay.test/", http.NoBody)
			r.RequestURI = c.target
			for i := 0; i < len(c.headers); i += 2 {
				if r.Header.Add(c.headers[i], c.headers[i+1]); c.headers[i] == "Host" {
					r.Host = c.headers[i+1]
				}
			}
			if own != "" {
				r.Header.Set("X-Relay-Token", own)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code < 400 {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
			if said := strings.ToUpper(dump(w.Header()) + w.Body.String() + log.String()); strings.Contains(said, "CANARY") || strings.Contains(said, escaped[:12]) {
				t.Errorf("%s: the token shows: %s", name, said)
			}
		}
	}
}

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
		known := append(twoClients(), Client{Name: "plain", Tokens: []tokens.Token{tokens.Of(plainToken)}})
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
