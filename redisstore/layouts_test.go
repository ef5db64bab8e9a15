package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// The layout's number is the scripts'.
func TestLayoutIsTheScripts(t *testing.T) {
	if line := fmt.Sprintf("\nlocal VERSION = %d\n", thisLayout); !strings.Contains(lua("scope"), line) {
		t.Errorf("scope.lua has no line %q: stores of another layout would meet in one hash", strings.TrimSpace(line))
	}
}

// Replicas of two layouts hear of each other with the next beat, and at once
// when the second comes; their budgets lie apart.
func TestLayoutsKeepApart(t *testing.T) {
	server := startServer(t)
	one, two := patient(t, server.url(), nil), patient(t, server.url(), nil)
	two.layout = thisLayout + 1
	apart := func(s *Store, replica string) bool {
		t.Helper()
		p, err := s.Beat(t.Context(), replica, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Apart
	}
	if apart(one, "a") || apart(one, "b") {
		t.Error("one layout alone is apart")
	}
	hints := one.Hints(t.Context())
	await(t, hints, limit.Hint{}) // of the subscription
	if !apart(two, "c") {
		t.Error("the second doesn't know of the first")
	}
	await(t, hints, limit.Hint{Beat: true})
	if !apart(one, "a") {
		t.Error("the first doesn't know of the second")
	}
	if p, err := two.Beat(t.Context(), "c", nil); err != nil || p.Live != 3 {
		t.Errorf("%+v, %v: want 3 replicas of both layouts", p, err)
	}
	granted(t, one)
	granted(t, two) // a ledger of the other's would be an error
	if one.keyOf(aBudget) == two.keyOf(aBudget) {
		t.Error("both use one hash")
	}

	// Two minutes after the last beat of one, the others are among themselves.
	server.do("HSET", "riftrelay:{rr}:layouts", strconv.Itoa(two.layout), time.Now().Add(-layoutLasts-time.Second).UnixMilli())
	if apart(one, "a") {
		t.Error("a layout that is gone is still reckoned with")
	}
	if n := server.do("HLEN", "riftrelay:{rr}:layouts"); n != int64(1) {
		t.Errorf("%v layouts are kept", n)
	}
}

// A hash in which another version has left something all the same is no reason
// to lose what is there.
func TestOtherVersionsLedger(t *testing.T) {
	server := startServer(t)
	s := patient(t, server.url(), nil)
	key := s.keyOf(aBudget)
	server.do("HSET", key, "l", "\x40\x22\x00\x00\x00\x00\x00\x00") // version 9
	before := server.do("HGETALL", key)
	_, err := s.Admit(t.Context(), oneCall())
	var e *AwayError
	if !errors.As(err, &e) || e.Reason != ReasonData || !strings.Contains(err.Error(), "VERSION of what is stored: 9") {
		t.Errorf("%v", err)
	}
	if after := server.do("HGETALL", key); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%q is %q now", before, after)
	}
}
