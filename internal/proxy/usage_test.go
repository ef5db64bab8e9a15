package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riftrelay"
	"riftrelay/internal/tokens"
)

// A client's calls are counted from the moment that it has shown who it is:
// waiting until they are admitted, again before a further try, and then by what
// they got.
func TestClientsAreCounted(t *testing.T) {
	var up roundTrip
	h, err := New(Options{Table: table(t), Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return up(r) }), Clients: twoClients()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(token string, transport roundTrip) {
		up = transport
		r := httptest.NewRequest("GET", status, http.NoBody)
		r.RequestURI = status
		r.Header.Set("X-Relay-Token", token)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	bot := ClientState{Name: "bot", Budget: "crawler", NoHigh: true, Allow: twoClients()[1].Allow}
	expect := func(when string, web ClientState) {
		t.Helper()
		web.Name = "web"
		if diff := cmp.Diff([]ClientState{bot, web}, h.Clients()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	expect("at first", ClientState{})
	call(token, func(r *http.Request) (*http.Response, error) {
		expect("before admission", ClientState{Open: 1, Waiting: 1})
		Waits().Admission(r.Context(), riftrelay.AdmissionEvent{Try: 1, Outcome: riftrelay.OutcomeAdmitted})
		expect("at Riot", ClientState{Open: 1})
		Waits().Answer(r.Context(), riftrelay.AnswerEvent{Try: 1, Status: 429, Retry: true})
		expect("before another try", ClientState{Open: 1, Waiting: 1})
		Waits().Admission(r.Context(), riftrelay.AdmissionEvent{Try: 2, Outcome: riftrelay.OutcomeAdmitted})
		Waits().Answer(r.Context(), riftrelay.AnswerEvent{Try: 2, Status: 429})
		expect("answered", ClientState{Open: 1})
		res := answerOf("{}")
		res.StatusCode = http.StatusTooManyRequests
		return res, nil
	})
	expect("after a 429 of Riot's", ClientState{Calls: 1, Limited: 1})
	call(token, func(r *http.Request) (*http.Response, error) {
		Waits().Answer(r.Context(), riftrelay.AnswerEvent{Status: 503, Retry: true})
		return answerOf("{}"), nil // there was no time for the try that was to follow
	})
	expect("after an answer", ClientState{Calls: 2, Limited: 1})
	call(token, func(*http.Request) (*http.Response, error) {
		return nil, &riftrelay.RejectedError{Reason: riftrelay.ReasonQueueFull}
	})
	expect("after a full queue", ClientState{Calls: 3, Limited: 1, Refused: 1})
	call(token, func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") })
	expect("after a failure, which is no refusal", ClientState{Calls: 4, Limited: 1, Refused: 1})
	call("nobody's", func(*http.Request) (*http.Response, error) { panic("BUG: sent") })
	expect("after somebody else", ClientState{Calls: 4, Limited: 1, Refused: 1})

	// Tokens that are read again count on, and who is gone is gone.
	h.SetClients([]Client{{Name: "web", Tokens: []tokens.Token{tokens.Of("new")}}, {Name: "app"}})
	if got := h.Clients(); len(got) != 2 || got[0].Name != "app" || got[0].Calls != 0 || got[1].Calls != 4 {
		t.Errorf("after a reload: %+v", got)
	}
	h.SetClients(nil)
	if got := h.Clients(); got != nil {
		t.Errorf("without clients: %+v", got)
	}
}

// What a client may not call is a refusal too, and calls of nobody's are none of
// anybody's business.
func TestForbiddenIsARefusal(t *testing.T) {
	h, err := New(Options{Table: table(t), Transport: &sent{}, Clients: twoClients()})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/euw1/lol/league/v4/challengerleagues/by-queue/RANKED_SOLO_5x5", http.NoBody)
	r.Header.Set("X-Relay-Token", botToken)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got := h.Clients()[0]; w.Code != http.StatusForbidden || got.Refused != 1 || got.Calls != 1 || got.Open != 0 {
		t.Errorf("%d, then %+v", w.Code, got)
	}
	Waits().Admission(context.Background(), riftrelay.AdmissionEvent{Outcome: riftrelay.OutcomeAdmitted})
	Waits().Answer(context.Background(), riftrelay.AnswerEvent{Retry: true})
}
