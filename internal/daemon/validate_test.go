package daemon

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// online is what validate --online says to this edge and these settings.
func online(t *testing.T, vars map[string]string) (string, error) {
	t.Helper()
	in, err := config.Parse([]string{"validate", "--online"}, world(vars))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = Process{Stdout: &out, Stderr: &out}.validate(t.Context(), in)
	_, keys, found := strings.Cut(out.String(), "\nKeys, tried by a call each\n")
	if !found {
		t.Errorf("it shows no keys:\n%s", out.String())
	}
	if strings.Contains(out.String(), "RGAPI-") {
		t.Errorf("it shows a key:\n%s", out.String())
	}
	return keys, err
}

func expect(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("no %s in\n%s", p, text)
		}
	}
}

func TestValidateOnline(t *testing.T) {
	t.Parallel()
	const good, spare = "RGAPI-good-key-of-this-test", "RGAPI-spare-key-of-this-test"
	edge, url := startEdge(t, riotsim.Config{Keys: map[string]string{good: "20:1,100:120", spare: "500:10"}, Requests: -1})
	vars := map[string]string{"RIOT_TOKEN": "main=" + good + ",tournament=" + spare, "KEY_ROUTES": "/lol/tournament/=tournament", "UPSTREAM_URL": url}
	keys, err := online(t, vars)
	if err != nil {
		t.Error(err)
	}
	expect(t, keys,
		`^  main        ok +euw1 /lol/status/v4/platform-data: 200 OK in \S+, application limit .*20:1`,
		`^  tournament  ok +.* application limit 500:10$`)
	if n := len(edge.Requests()); n != 2 {
		t.Errorf("%d calls for 2 keys", n)
	}

	vars["RIOT_TOKEN"] += ",gone=RGAPI-expired-key-of-this-test"
	keys, err = online(t, vars)
	if err == nil || err.Error() != "--online: 1 of 3 keys can't be used: gone" {
		t.Errorf("%v", err)
	}
	expect(t, keys, `^  main        ok `, `^  gone        unknown key    euw1 /lol/status/v4/platform-data: 401 Unknown apikey in `)
}

// A key that may not ask for one game's status may ask for another's.
func TestValidateOnlineRefused(t *testing.T) {
	t.Parallel()
	const key = "RGAPI-val-key-of-this-test"
	refusal := func(method string) riotsim.Fault {
		return riotsim.Fault{Method: method, Status: http.StatusForbidden}
	}
	edge, url := startEdge(t, riotsim.Config{Requests: -1, Faults: []riotsim.Fault{refusal("lol-status-v4"), refusal("lor-status-v1")}})
	vars := map[string]string{"RIOT_TOKEN": "val=" + key, "UPSTREAM_URL": url}
	keys, err := online(t, vars)
	if err != nil {
		t.Error(err)
	}
	expect(t, keys, `^  val  ok +euw1 /tft/status/v1/platform-data: 200 `)
	edge.Inject(refusal("tft-status-v1"))
	edge.Inject(refusal("val-status-v1"))
	keys, err = online(t, vars)
	if err == nil {
		t.Error("a key that is refused everywhere is no error")
	}
	expect(t, keys, `^  val  refused +.*: 403 Forbidden in`)
}

func TestValidateOnlineWithoutRiot(t *testing.T) {
	t.Parallel()
	keys, err := online(t, map[string]string{"RIOT_TOKEN": "main=RGAPI-a-key-of-this-test", "UPSTREAM_URL": "http://127.0.0.1:1"})
	if err == nil {
		t.Error("a key that can't be tried is no error")
	}
	expect(t, keys, `^  main  network error  euw1 /lol/status/v4/platform-data: .*refused`)
}
