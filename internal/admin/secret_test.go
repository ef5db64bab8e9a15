package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Profiles of a listener that others reach need the token.
func TestSecretsNeedTheTokenBeyondLoopback(t *testing.T) {
	const token = "correct-horse-42"
	for _, c := range []struct {
		loopback      bool
		token, header string
		want, wrong   int
	}{
		{true, "", "", http.StatusOK, 0},
		{true, token, "", http.StatusOK, 0},
		{false, "", "", http.StatusForbidden, 0},
		{false, token, "", http.StatusUnauthorized, 1},
		{false, token, "Bearer other", http.StatusUnauthorized, 1},
		{false, token, "Bearer " + token, http.StatusOK, 0},
	} {
		wrong := 0
		g := Guard{Token: c.token, Loopback: func() bool { return c.loopback }, Wrong: func(*http.Request) { wrong++ }}
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", http.NoBody)
		r.Header.Set("Authorization", c.header)
		w := httptest.NewRecorder()
		g.Secret(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.want || wrong != c.wrong {
			t.Errorf("%+v: status %d, %d wrong tokens", c, w.Code, wrong)
		}
	}
}
