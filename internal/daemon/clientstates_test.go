package daemon

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/admin"
	"riftrelay/riotsim"
)

// The state tells what each client does: what waits for the limit is waiting,
// not in flight.
func TestStateTellsOfClients(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "2:600"}, Requests: -1}, map[string]string{
		"CLIENT_TOKENS": "web=" + webToken + ",bot=" + botToken, "CLIENT_BOT_BUDGET": "crawler", "CLIENT_BOT_PRIORITY": "normal", "CLIENT_BOT_ALLOW": "euw1:/lol/status", "RATE_BUDGET_CRAWLER": "0.5",
		"ADMISSION_TIMEOUT": "1h", // no call waits for longer, whatever it asks for
	})
	clients := func() []admin.Client {
		t.Helper()
		var s admin.State
		if a := g.get(g.admin + "/api/v1/state"); a.err != nil || json.Unmarshal([]byte(a.body), &s) != nil {
			t.Fatalf("%+v", a)
		}
		return s.Clients
	}
	for range 2 {
		if a := g.with(t, g.front+status, "X-Relay-Token", webToken); a.status != 200 {
			t.Fatalf("%+v", a)
		}
	}
	if a := g.with(t, g.front+"/kr/lol/status/v4/platform-data", "X-Relay-Token", botToken); a.status != 403 {
		t.Fatalf("%+v", a)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 3 { // the limit is used up for ten minutes
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.front+status, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Relay-Token", webToken)
		req.Header.Set("X-Max-Wait", "2h")
		go func() {
			if resp, err := g.client.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
	}
	bot := admin.Client{Name: "bot", Budget: "crawler", Allow: []string{"euw1:/lol/status"}, Requests: 1, Refused: 1}
	want := func(web admin.Client) {
		t.Helper()
		web.Name, web.High, web.Allow = "web", true, []string{}
		equal := func(a, b admin.Client) bool { return reflect.DeepEqual(a, b) }
		var got []admin.Client
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if got = clients(); slices.EqualFunc(got, []admin.Client{bot, web}, equal) {
				return
			}
		}
		t.Errorf("got %+v, want %+v", got, []admin.Client{bot, web})
	}
	want(admin.Client{Requests: 2, Waiting: 3})
	leave()
	want(admin.Client{Requests: 5})
}
