package tokens

import (
	"strings"
	"testing"
)

func TestOwner(t *testing.T) {
	s := NewSet([][]Token{{Of("a-token-of-web"), Of("short")}, {Of("another-of-bot")}})
	for text, want := range map[string]int{"a-token-of-web": 0, "short": 0, "another-of-bot": 1, "": -1, "A-token-of-web": -1, "a-token-of-we": -1, "a-token-of-web=": -1} {
		if got, known := s.Owner(text); known != (want >= 0) || known && got != want {
			t.Errorf("%q: %d %v, want %d", text, got, known, want)
		}
	}
}

func TestWithin(t *testing.T) {
	// The first two begin alike; the third is as short as can be.
	list := []string{"a-token-of-web+/=", "a-token-of-bot", "eight-88", strings.Repeat("x", 256)}
	owners := [][]Token{nil}
	for _, text := range list {
		owners = append(owners, []Token{Of(text)})
	}
	s := NewSet(append(owners, []Token{Of("seven-7")}))
	for _, text := range list {
		for _, with := range []string{text, strings.ToUpper(text), "x" + text, text + "y", strings.Repeat("/é%a-token", 100) + text + "=", "\x00" + text + "\xff"} {
			if !s.Within(with) {
				t.Errorf("%q is not found within %q", text, with)
			}
		}
		for _, without := range []string{"", text[1:], text[:len(text)-1], text[:3] + "_" + text[3:]} {
			if s.Within(without) {
				t.Errorf("a token is found within %q", without)
			}
		}
	}
	if s.Within("seven-7") {
		t.Error("too short to be looked for, but found")
	}
}

// Another set of the same tokens has another salt.
func TestSalt(t *testing.T) {
	owners := [][]Token{{Of("a-token-of-web")}}
	a, b := NewSet(owners), NewSet(owners)
	for digest := range a.known {
		if _, same := b.known[digest]; same {
			t.Error("two sets have the same digests")
		}
	}
}

func BenchmarkWithin(b *testing.B) {
	s := NewSet([][]Token{{Of("a-token-of-web")}})
	text := "/lol/match/v5/matches/by-puuid/" + strings.Repeat("aB3_", 20) + "/ids?start=0&count=100"
	for b.Loop() {
		if s.Within(text) {
			b.Fatal("found")
		}
	}
}
