package riftrelay_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"riftrelay"
)

// Only the relay says who answered and why: an answer that says so itself loses
// that.
func TestAnswersDontSpeakForTheRelay(t *testing.T) {
	l, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: canaryA}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := spoof(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for _, name := range []string{"X-RiftRelay-Source", "X-RiftRelay-Reason", "X-RiftRelay-Key", "X-RiftRelay-New"} {
			w.Header().Set(name, "relay")
		}
		return w.Result(), nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, byPUUID, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&riftrelay.Transport{Limiter: l, Base: base}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := resp.Header; h.Get("X-RiftRelay-Source") != "riot" || h.Get("X-RiftRelay-Key") != "main" || h.Get("X-RiftRelay-Reason") != "" || h.Get("X-RiftRelay-New") != "" {
		t.Errorf("%v", h)
	}
}

type spoof func(*http.Request) (*http.Response, error)

func (s spoof) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }
