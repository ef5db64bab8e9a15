package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// Keys and tokens that stand where none belongs never reach Riot.
func TestHardeningSecretsStayHere(t *testing.T) {
	const key = "RGAPI-client-own-key"
	for _, clients := range [][]Client{nil, twoClients()} {
		secrets := []string{key, strings.ToLower(key)}
		if clients != nil {
			secrets = append(secrets, token, botToken, strings.ToLower(botToken))
		}
		for _, secret := range secrets {
			escaped := strings.ReplaceAll(strings.ReplaceAll(secret, "-", "%2D"), "e", "%65")
			twice := strings.ReplaceAll(escaped, "%", "%25")
			for _, target := range []string{
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?start=0&count=20?api_key=" + secret,
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?start=0?API_KEY=" + escaped,
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?count=20%3Fapi_key%3D" + secret,
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?count=" + escaped,
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?count=" + twice,
				"/europe/riot/account/v1/accounts/by-riot-id/" + secret + "/EUW",
				"/europe/riot/account/v1/accounts/by-riot-id/a/KR1&api_key=" + secret,
				"/europe/riot/account/v1/accounts/by-riot-id/a/" + escaped,
				"/europe/riot/account/v1/accounts/by-riot-id/prefix" + secret + "suffix/" + secret + "suffix",
				"/europe/riot/account/v1/accounts/by-riot-id/a/prefix" + escaped,
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?count=prefix" + secret + "suffix",
				"/americas/lol/match/v5/matches/by-puuid/abc/ids?x=%zz&count=prefix" + escaped + "suffix",
			} {
				up := newUpstream(t, say(plainAnswer))
				w, _ := ask(t, Options{Transport: viaUpstream(t, up), Clients: clients}, "GET", target, "X-Riot-Token", token)
				up.mu.Lock()
				for _, head := range up.heads {
					if h := strings.ToLower(head); strings.Contains(h, strings.ToLower(secret)) || strings.Contains(h, strings.ToLower(escaped)) {
						t.Errorf("%s reached Riot: %s", target, head)
					}
				}
				up.mu.Unlock()
				if w.Code != 200 && w.Code != 400 || strings.Contains(w.Body.String(), secret) {
					t.Errorf("%s: %d %s", target, w.Code, w.Body)
				}
			}
			w, up := ask(t, Options{Clients: clients}, "GET", status, "X-Riot-Token", token, "User-Agent", "bot"+secret+"x", "Accept", secret, "If-None-Match", "\""+secret+"\"")
			if w.Code != 200 || up.Header == nil {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			for name, values := range up.Header {
				if strings.Contains(strings.Join(values, ","), secret) {
					t.Errorf("%s takes it to Riot", name)
				}
			}
		}
	}
}

// They are found wherever they stand, glued to other text, in any case, with or
// without bad escapes around them, and escaped as often as somebody likes.
func TestSecretsAreFoundWithinOtherText(t *testing.T) {
	h, err := New(Options{
		Table: table(t), Transport: roundTrip(nil), Clients: twoClients(),
		Secret: func(s string) bool { return strings.Contains(s, "key-of-no-form") },
	})
	if err != nil {
		t.Fatal(err)
	}
	escape := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
		return b.String()
	}
	for _, secret := range []string{token, oldToken, botToken, "RGAPI-0000", strings.ToUpper(botToken), strings.ToLower(oldToken), "key-of-no-form"} {
		deep := escape(secret)
		for range 30 {
			deep = strings.ReplaceAll(deep, "%", "%25")
		}
		for _, form := range []string{secret, escape(secret), escape(escape(secret)), deep, secret[:3] + escape(secret[3:])} {
			for _, text := range []string{form, "x" + form, form + "y", "/lol/" + form + "/x", "a=1&b=" + form + ";c", "%zz" + form + "%4", "%25zz" + form} {
				if !h.mistaken(text) {
					t.Errorf("%q is not found in %.200q", secret, text)
				}
			}
		}
	}
	for _, text := range []string{"", "%", "%zz", "RGAPI", "a-token-of-web", token[1:], token[:len(token)-1], "/lol/match/v5/matches/by-puuid/%E3%83%84/ids"} {
		if h.mistaken(text) {
			t.Errorf("%q is taken for a secret", text)
		}
	}
}

func TestUnescape(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", ""}, {"abc", "abc", "abc"}, {"%41%zz%4", "A%zz%4", "A%zz%4"}, {"%2541", "%41", "A"}, {"%252541", "%2541", "A"},
		{"%%34%31", "%41", "A"}, {"%2%35%34%31", "%2541", "A"}, {"%25%34%31x", "%41x", "Ax"},
	} {
		if once, whole := unescape(c[0], false), unescape(c[0], true); once != c[1] || whole != c[2] {
			t.Errorf("%q: once %q, whole %q; want %q, %q", c[0], once, whole, c[1], c[2])
		}
	}
}

// A long target that is escaped again and again costs no more than its length.
func BenchmarkMistaken(b *testing.B) {
	h, err := New(Options{Table: table(b), Transport: roundTrip(nil), Clients: twoClients()})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"plain": "/lol/match/v5/matches/by-puuid/" + strings.Repeat("aB3_", 20) + "/ids", "30 kB of %25": strings.Repeat("%25", 10000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if h.mistaken(text) {
					b.Fatal("found")
				}
			}
		})
	}
}
