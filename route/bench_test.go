package route_test

import (
	"testing"

	"riftrelay/route"
)

const puuid = "kQx3mZ0dJ5v7TnWc2LrBg8YsHf4PeUa6iOoXtVjMwRbNyKlCzDqEu1SpGh9I_A-7FvTgYxBdWnJmRk"

var benchPaths = []struct{ name, host, path string }{
	{"match", "europe", "/lol/match/v5/matches/EUW1_7012345678"},
	{"match-ids", "europe", "/lol/match/v5/matches/by-puuid/" + puuid + "/ids"},
	{"mastery", "euw1", "/lol/champion-mastery/v4/champion-masteries/by-puuid/" + puuid + "/by-champion/266"},
	{"riot-id", "europe", "/riot/account/v1/accounts/by-riot-id/%E3%81%82%E3%81%84/EUW"},
}

func BenchmarkMatch(b *testing.B) {
	table := route.Default()
	for _, p := range benchPaths {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.Match("GET", p.host, p.path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a client can make a refusal cost: the worst inputs known.
func BenchmarkRefuse(b *testing.B) {
	table := route.Default()
	for _, p := range []struct{ name, host, path string }{
		{"typo", "europe", "/lol/match/v5/macthes/EUW1_7012345678"},
		{"long", "europe", "/lol" + string(make4k())},
		{"host", "zzzzzzzzzzzzzzzzzzzzzzzz", "/lol/match/v5/matches/EUW1_7012345678"},
	} {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.Match("GET", p.host, p.path); err == nil {
					b.Fatal("matched")
				}
			}
		})
	}
}

func make4k() []byte {
	path := make([]byte, 4096)
	for i := range path {
		path[i] = 'm'
		if i%40 == 0 {
			path[i] = '/'
		}
	}
	return path
}

func BenchmarkSplit(b *testing.B) {
	table := route.Default()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := table.Split("/europe/lol/match/v5/matches/EUW1_7012345678"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		route.Default()
	}
}
