package redisstore

import (
	"slices"
	"testing"
	"time"
)

// Relays in two databases of one server hear of each other, though they share
// nothing, and forget each other once one is gone.
func TestOtherDatabaseIsNoticed(t *testing.T) {
	server := startServer(t)
	one, two := patient(t, server.url(), nil), patient(t, server.url()+"/5", nil)
	elsewhere := func(s *Store) []string {
		t.Helper()
		s.databases.mu.Lock()
		s.databases.told = time.Time{} // it is time again
		s.databases.mu.Unlock()
		p, err := s.Beat(t.Context(), "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Live != 1 {
			t.Errorf("%d replicas, which share nothing", p.Live)
		}
		return p.Elsewhere
	}
	stores := []*Store{one, two}
	for _, s := range stores {
		s.Hints(t.Context())
	}
	want := [][]string{{"database 5, not 0"}, {"database 0, not 5"}}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := [][]string{elsewhere(one), elsewhere(two)}
		if slices.EqualFunc(got, want, slices.Equal) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	one.databases.mu.Lock()
	one.databases.heard[5] = time.Now().Add(-elsewhereFor - time.Second)
	one.databases.mu.Unlock()
	if got := one.elsewhere(); len(got) > 0 {
		t.Errorf("%q, though nobody has told of it for long", got)
	}
	if one.announced("key|host") || one.announced("*") || !one.announced("@many") || len(one.elsewhere()) > 0 {
		t.Error("what is told of a database is taken for something else")
	}
}
