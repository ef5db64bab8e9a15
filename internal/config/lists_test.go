package config

import (
	"reflect"
	"riftrelay"
	"strings"
	"testing"
)

func TestParseAliases(t *testing.T) {
	got, err := parseAliases(" /tft/summoner/v1/@euw1, ru ;tft/match/v1@asia,sea;")
	if err != nil || len(got) != 2 || got[0].Path != "/tft/summoner/v1" || got[0].Hosts[1] != "ru" || got[1].Path != "/tft/match/v1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"tft@euw1", "@euw1,ru", "tft", "tft@euw1,,ru"} {
		if _, err := parseAliases(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseRetry(t *testing.T) {
	got, err := parseRetry("502, 504,reset,timeout")
	if want := (riftrelay.Retry{Statuses: []int{502, 504}, Reset: true, Timeout: true}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"429", "600", "resets", "5O2"} {
		if _, err := parseRetry(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
