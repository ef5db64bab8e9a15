// Command proxy asks with Riot's own URLs, as golio and other clients do that know nothing else. The relay runs with
// TRUST_DIR=trust:
//
//	HTTPS_PROXY=http://127.0.0.1:8985 SSL_CERT_FILE=trust/riftrelay-ca.pem go run ./proxy
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
)

func main() {
	var account struct{ PUUID string }
	get("https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/"+url.PathEscape("Hide on bush")+"/KR1", &account)
	var summoner struct{ SummonerLevel int }
	get("https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/"+account.PUUID, &summoner)
	fmt.Println("level", summoner.SummonerLevel)
}

func get(target string, into any) {
	resp, err := http.Get(target)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		log.Fatal(target, ": ", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		log.Fatal(err)
	}
}
