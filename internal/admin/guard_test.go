package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/route"
)

// desk counts what was done, and by name to which keys.
type desk struct {
	fixed
	done    []string
	failure error
}

func (d *desk) do(what, name string) error {
	if !slices.Contains([]string{"main", "spare"}, name) {
		return fmt.Errorf("riftrelay: %w: allowed: main, spare", riftrelay.ErrUnknownKey)
	}
	d.done = append(d.done, what+" "+name)
	return nil
}

func (d *desk) DisableKey(name string) error { return d.do("disable", name) }
func (d *desk) EnableKey(name string) error  { return d.do("enable", name) }
func (d *desk) RecheckKey(name string) error { return d.do("recheck", name) }

func (d *desk) reload() (admin.Reloaded, error) {
	if d.failure != nil {
		return admin.Reloaded{}, d.failure
	}
	d.done = append(d.done, "reload")
	from := []riftrelay.Key{{Name: "main", Value: "a"}, {Name: "spare", Value: "b"}, {Name: "old", Value: "c"}}
	to := []riftrelay.Key{{Name: "main", Value: "a"}, {Name: "new", Value: "d"}, {Name: "spare", Value: "e"}}
	return admin.Changes(from, to), nil
}

// changing are the calls that change something.
var changing = []string{"reload", "keys/main/disable", "keys/main/enable", "keys/spare/recheck"}

// try makes a call to a listener at 127.0.0.1:8986, or beyond loopback.
func (d *desk) try(verb, path, token string, beyond bool, change func(*http.Request)) *httptest.ResponseRecorder {
	h := admin.Handler(admin.Options{
		Limiter: d, Matcher: route.Default(), Reload: d.reload,
		Guard: admin.Guard{Token: token, Loopback: func() bool { return !beyond }},
	})
	r := httptest.NewRequest(verb, admin.Root+path, http.NoBody)
	if r.Host = "127.0.0.1:8986"; beyond {
		r.Host = "relay.lan:8986"
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (d *desk) mustRefuse(t *testing.T, name string, w *httptest.ResponseRecorder, status int, why string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"error": `) || !strings.Contains(w.Body.String(), why) || len(d.done) > 0 {
		t.Errorf("%s: %d %s, done %v; want %d with %q", name, w.Code, w.Body, d.done, status, why)
	}
}

func TestChanges(t *testing.T) {
	d := &desk{}
	for _, path := range changing {
		if w := d.try(http.MethodPost, path, "", false, nil); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if want := []string{"reload", "disable main", "enable main", "recheck spare"}; !slices.Equal(d.done, want) {
		t.Errorf("done %v, want %v", d.done, want)
	}
	body := d.try(http.MethodPost, "keys/spare/disable", "", false, nil).Body.String()
	if !strings.Contains(body, `"name": "spare"`) || !strings.Contains(body, `"state": "suspect"`) {
		t.Errorf("the key is not told of: %s", body)
	}
	body = strings.Join(strings.Fields(d.try(http.MethodPost, "reload", "", false, nil).Body.String()), "")
	if want := `{"keys":["main","new","spare"],"added":["new"],"replaced":["spare"],"removed":["old"]}`; body != want {
		t.Errorf("reload: %s, want %s", body, want)
	}
}

func TestReloadThatFails(t *testing.T) {
	d := &desk{failure: errors.New(`RIOT_TOKEN_FILE is "keys": line 2 has a wrong name`)}
	d.mustRefuse(t, "reload", d.try(http.MethodPost, "reload", "", false, nil), http.StatusUnprocessableEntity, "line 2")
}

func TestUnknownKeyIsRefused(t *testing.T) {
	d := &desk{}
	for _, action := range []string{"disable", "enable", "recheck"} {
		d.mustRefuse(t, action, d.try(http.MethodPost, "keys/nobody/"+action, "", false, nil), http.StatusNotFound, "allowed: main, spare")
	}
}

func TestChangesNeedTheToken(t *testing.T) {
	const token = "correct-horse"
	for _, beyond := range []bool{false, true} {
		for _, sent := range []string{"", token, "Bearer", "Bearer ", "Bearer correct-hors", "Bearer correct-horse2", "Basic " + token, "Bearer " + strings.ToUpper(token)} {
			for _, path := range changing {
				d := &desk{}
				w := d.try(http.MethodPost, path, token, beyond, func(r *http.Request) { r.Header.Set("Authorization", sent) })
				d.mustRefuse(t, path+" with "+sent, w, http.StatusUnauthorized, "ADMIN_TOKEN")
				if w.Header().Get("WWW-Authenticate") == "" || strings.Contains(w.Body.String(), "horse") {
					t.Errorf("%v %s", w.Header(), w.Body)
				}
			}
		}
		for _, path := range changing {
			d := &desk{}
			if w := d.try(http.MethodPost, path, token, beyond, func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }); w.Code != http.StatusOK || len(d.done) != 1 {
				t.Errorf("%s with the token: %d %s", path, w.Code, w.Body)
			}
		}
		if w := (&desk{}).try(http.MethodGet, "state", token, beyond, nil); w.Code != http.StatusOK {
			t.Errorf("reading: %d %s", w.Code, w.Body)
		}
	}
}

func TestChangesWithoutATokenAreForLoopback(t *testing.T) {
	for _, path := range changing {
		d := &desk{}
		d.mustRefuse(t, path, d.try(http.MethodPost, path, "", true, nil), http.StatusForbidden, "ADMIN_TOKEN is not set")
	}
	if w := (&desk{}).try(http.MethodGet, "state", "", true, nil); w.Code != http.StatusOK {
		t.Errorf("reading: %d %s", w.Code, w.Body)
	}
}

// A page of another origin that an operator visits can change nothing, with or
// without the token.
func TestChangesOfOtherOriginsAreRefused(t *testing.T) {
	for name, header := range map[string][]string{
		"another host":           {"Origin", "https://evil.example"},
		"another port":           {"Origin", "http://127.0.0.1:3000"},
		"a page without origin":  {"Origin", "null"},
		"a site that is another": {"Sec-Fetch-Site", "cross-site"},
		"a site that is near":    {"Sec-Fetch-Site", "same-site"},
		"a browser that lies":    {"Sec-Fetch-Site", "same-origin", "Origin", "https://evil.example"},
	} {
		for _, path := range changing {
			d := &desk{}
			w := d.try(http.MethodPost, path, "correct-horse", false, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer correct-horse")
				for i := 0; i < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
			})
			d.mustRefuse(t, path+" by "+name, w, http.StatusForbidden, "another origin")
		}
	}
	for name, header := range map[string][]string{
		"its own page":       {"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:8986"},
		"an older browser":   {"Origin", "http://127.0.0.1:8986"},
		"the address itself": {"Sec-Fetch-Site", "none"},
	} {
		d := &desk{}
		w := d.try(http.MethodPost, "reload", "", false, func(r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
		})
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// DNS rebinding: a name of the attacker's that means 127.0.0.1 makes the page
// one of the same origin, but the name is in the Host header.
func TestOtherHostsAreRefusedOnLoopback(t *testing.T) {
	paths := map[string]string{"state": http.MethodGet, "estimate": http.MethodGet, "nothing": http.MethodGet}
	for _, path := range changing {
		paths[path] = http.MethodPost
	}
	for _, host := range []string{"evil.example", "evil.example:8986", "localhost.evil.example", "127.0.0.1.evil.example:8986", "10.0.0.1", "0.0.0.0:8986", "[::2]:8986", "", "2130706433", "127.1"} {
		for path, verb := range paths {
			d := &desk{}
			d.mustRefuse(t, verb+" "+path+" at "+host, d.try(verb, path, "", false, func(r *http.Request) { r.Host = host }), http.StatusForbidden, "Host header")
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:8986", "localhost.:8986", "127.0.0.1", "127.3.2.1:1", "[::1]", "[::1]:8986", "::1"} {
		if w := (&desk{}).try(http.MethodGet, "state", "", false, func(r *http.Request) { r.Host = host }); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
	}
	// Beyond loopback it goes by whatever name its operator gave it.
	if w := (&desk{}).try(http.MethodGet, "state", "", true, func(r *http.Request) { r.Host = "relay.example" }); w.Code != http.StatusOK {
		t.Errorf("beyond loopback: %d %s", w.Code, w.Body)
	}
}
