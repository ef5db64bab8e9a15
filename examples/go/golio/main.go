//go:build ignore

// golio knows nothing but Riot's own URLs, and takes whatever does requests: here one that sends them to the relay.
// As it is, without a line of code, it takes HTTPS_PROXY and SSL_CERT_FILE, like the program in ../proxy.
//
//	go get github.com/KnutZuidema/golio && go run golio/main.go
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/KnutZuidema/golio"
	"github.com/KnutZuidema/golio/api"
)

// viaRelay makes https://euw1.api.riotgames.com/lol/… http://127.0.0.1:8985/euw1/lol/…
type viaRelay string

func (relay viaRelay) Do(r *http.Request) (*http.Response, error) {
	host, _, _ := strings.Cut(r.URL.Host, ".")
	to, err := url.Parse(string(relay) + "/" + host + r.URL.RequestURI())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL, r.Host = to, ""
	return http.DefaultClient.Do(r)
}

func main() {
	relay := os.Getenv("RIFTRELAY")
	if relay == "" {
		relay = "http://127.0.0.1:8985"
	}
	client := golio.NewClient("x", golio.WithRegion(api.RegionEuropeWest), golio.WithClient(viaRelay(relay)))

	account, err := client.Riot.Account.GetByRiotID("Hide on bush", "KR1")
	if err != nil {
		log.Fatal(err)
	}
	summoner, err := client.Riot.LoL.Summoner.GetByPUUID(account.Puuid)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("level", summoner.SummonerLevel)
}
