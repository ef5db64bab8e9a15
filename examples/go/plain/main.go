// Command plain asks a relay with net/http: go run ./plain
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

func main() {
	var account struct{ PUUID string }
	get("europe", "/riot/account/v1/accounts/by-riot-id/"+url.PathEscape("Hide on bush")+"/KR1", &account)
	var summoner struct{ SummonerLevel int }
	get("euw1", "/lol/summoner/v4/summoners/by-puuid/"+account.PUUID, &summoner)
	fmt.Println("level", summoner.SummonerLevel)
}

func get(host, path string, into any) {
	relay := os.Getenv("RIFTRELAY")
	if relay == "" {
		relay = "http://127.0.0.1:8985"
	}
	for {
		resp, err := http.Get(relay + "/" + host + path)
		if err != nil {
			log.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK {
			err = json.NewDecoder(resp.Body).Decode(into)
		}
		resp.Body.Close()
		switch {
		case err != nil:
			log.Fatal(err)
		case resp.StatusCode == http.StatusOK:
			return
		case resp.StatusCode != http.StatusTooManyRequests:
			log.Fatal(path, ": ", resp.Status)
		}
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // the relay's queue is full
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}
