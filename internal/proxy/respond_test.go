package proxy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"riftrelay"
)

var update = flag.Bool("update", false, "write the golden files")

// Every answer of the relay's own, as the client gets it: testdata/replies.txt.
func TestReplies(t *testing.T) {
	rt, err := table(t).Match("GET", "euw1", "/lol/status/v4/platform-data")
	if err != nil {
		t.Fatal(err)
	}
	_, unknownHost := table(t).Match("GET", "euw9", "/lol/status/v4/platform-data")
	_, dots := table(t).Match("GET", "euw1", "/lol/../x")
	_, withKey := table(t).Match("GET", "euw1", "/lol/RGAPI-CANARY-1")
	rejected := func(r riftrelay.Reason, after time.Duration) error {
		return &riftrelay.RejectedError{Reason: r, RetryAfter: after, Route: rt}
	}
	address := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 443}, Err: errors.New("connection refused")}

	var got strings.Builder
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"queue full", rejected(riftrelay.ReasonQueueFull, 2300*time.Millisecond)},
		{"queue full, nothing known", rejected(riftrelay.ReasonQueueFull, 0)},
		{"deadline, exactly 3 s", rejected(riftrelay.ReasonDeadline, 3*time.Second)},
		{"deadline, 1 ns", rejected(riftrelay.ReasonDeadline, 1)},
		{"timeout", rejected(riftrelay.ReasonTimeout, 61*time.Second+1)},
		{"timeout, wrapped", fmt.Errorf("outer: %w", rejected(riftrelay.ReasonTimeout, time.Second))},
		{"no key", rejected(riftrelay.ReasonNoKey, 0)},
		{"no key, comes back", rejected(riftrelay.ReasonNoKey, 9500*time.Millisecond)},
		{"shutting down", rejected(riftrelay.ReasonShuttingDown, 0)},
		{"shutting down, comes back", rejected(riftrelay.ReasonShuttingDown, 20*time.Second)},
		{"unknown host", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: unknownHost}},
		{"dot segment", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: dots}},
		{"a key in the path", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: withKey}},
		{"route without a cause", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute}},
		{"token index", &riftrelay.RejectedError{Reason: reasonInvalidTokenIndex, Detail: "X-Riot-Token-Index is \"7\"; allowed: 0 to 1"}},
		{"max wait", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidMaxWait, Detail: "X-Max-Wait is \"<b>\"; allowed: …"}},
		{"budget", &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidBudget, Detail: "budget \"<b>\"; allowed: crawler, default"}},
		{"a reason of tomorrow", rejected("tomorrow", time.Second)},
		{"upstream timeout", fmt.Errorf("x: %w", riftrelay.ErrUpstreamTimeout)},
		{"deadline of the context", context.DeadlineExceeded},
		{"dial timeout", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}},
		{"upstream refuses", address},
		{"upstream resets", io.ErrUnexpectedEOF},
		{"cancelled, but not by the client", context.Canceled},
		{"body too large", &bodyError{&http.MaxBytesError{Limit: 1048576}}},
		{"body too slow", &bodyError{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}},
		{"body malformed", &bodyError{errors.New("invalid byte in chunk length")}},
	} {
		h, err := New(Options{Table: table(t), Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, tt.err })})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", status, nil))
		fmt.Fprintf(&got, "# %s\n%d\n", tt.name, w.Code)
		var lines []string
		for name, vv := range w.Header() {
			if name != "Content-Length" && name != requestID && name != "X-Content-Type-Options" && name != "Cache-Control" && name != "Content-Type" {
				lines = append(lines, name+": "+strings.Join(vv, " | ")+"\n")
			}
		}
		sort.Strings(lines)
		fmt.Fprintf(&got, "%s%s\n\n", strings.Join(lines, ""), w.Body)

		if w.Header().Get("Content-Type") != "application/json;charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
			w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%s: headers %v", tt.name, w.Header())
		}
		for _, secret := range []string{"10.1.2.3", "CANARY"} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: the answer gives %s away: %s", tt.name, secret, w.Body)
			}
		}
	}
	golden(t, "testdata/replies.txt", got.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update writes it); got:\n%s", file, got)
	}
}

// A client that has left gets nothing, not even an empty 200.
func TestClientGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"in the queue", context.Canceled},
		{"at the same time as a refusal", &riftrelay.RejectedError{Reason: riftrelay.ReasonTimeout}},
		{"while the upstream failed", errors.New("reset")},
	} {
		obs := newSeen()
		ctx, cancel := context.WithCancel(t.Context())
		h, err := New(Options{Table: table(t), Observer: obs, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			cancel()
			<-r.Context().Done()
			return nil, tt.err
		})})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Errorf("%s: the connection isn't broken", tt.name)
				}
			}()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", status, nil))
		}()
		delete(w.Header(), requestID) // which is ready for any answer
		if w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%s: %v %s was written", tt.name, w.Header(), w.Body)
		}
		if len(obs.done) != 1 || obs.done[0] != "499 relay euw1:/lol/status/v4/platform-data" {
			t.Errorf("%s: observer saw %q", tt.name, obs.done)
		}
	}
}

// A panic that isn't ours is counted too.
func TestPanicIsCounted(t *testing.T) {
	obs := newSeen()
	h, err := New(Options{Table: table(t), Observer: obs, Transport: roundTrip(func(*http.Request) (*http.Response, error) { panic("boo") })})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", status, nil))
	}()
	if len(obs.done) != 1 || obs.done[0] != "Internal Server Error relay euw1:/lol/status/v4/platform-data" {
		t.Errorf("observer saw %q", obs.done)
	}
}
