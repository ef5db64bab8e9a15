package proxy

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAnswersKeepSecretsBack(t *testing.T) {
	h := &Handler{secret: func(s string) bool { return strings.Contains(s, "own-key-without-form") }}
	c := &call{token: "Clients-Token"}
	header := http.Header{
		"X-Riot-Token": {"RGAPI-1234"}, "X-Echo": {"fine", "x own-key-without-form y", "also fine"},
		"Location": {"https://host/?t=clients-token"}, "Date": {"today"},
	}
	h.withoutSecrets(c, header)
	if len(header) != 2 || !slices.Equal(header["X-Echo"], []string{"fine", "also fine"}) || header.Get("Date") != "today" {
		t.Errorf("left: %v", header)
	}
}
