package proxy

import (
	"strings"
	"testing"
)

// Keys and tokens that stand where none belongs never reach Riot.
func TestHardeningSecretsStayHere(t *testing.T) {
	const key = "RGAPI-client-own-key"
	for _, clients := range [][]Client{nil, twoClients()} {
		secrets := []string{key, strings.ToLower(key)}
		if clients != nil {
			secrets = append(secrets, token, botToken)
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
			w, up := ask(t, Options{Clients: clients}, "GET", status, "X-Riot-Token", token, "User-Agent", "bot "+secret, "Accept", secret, "If-None-Match", "\""+secret+"\"")
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
