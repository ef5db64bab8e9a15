package route_test

import (
	"fmt"
	"strings"

	"riftrelay/route"
)

func ExampleTable_Match() {
	table := route.Default()

	host, path, _ := table.Split("/europe/lol/match/v5/matches/EUW1_7012345678")
	r, _ := table.Match("GET", host, path)
	fmt.Println(r)
	fmt.Println(r.Method.Service, r.Method.Auth, r.Method.Hosts)

	_, err := table.Match("GET", "euw1", path)
	fmt.Println(err)
	_, err = table.Match("GET", "europe", "/lol/match/v5/macthes/EUW1_7012345678")
	fmt.Println(err)
	// Output:
	// europe:/lol/match/v5/matches/{matchId}
	// match-v5 key [americas asia europe sea]
	// host "euw1" does not serve /lol/match/v5/matches/{matchId}; these do: americas, asia, europe, sea
	// unknown path "/lol/match/v5/macthes/EUW1_7012345678"; the nearest known is /lol/match/v5/matches/{matchId}
}

func ExampleNew() {
	table, err := route.New(route.Options{
		Hosts:   "+xx1",
		Methods: strings.NewReader("GET /lol/match/v6/matches/{matchId} match-v6 @regions key"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Match("GET", "xx1", "/lol/match/v6/matches/7/"))
	// Output: xx1:/lol/match/v6/matches/{matchId} <nil>
}
