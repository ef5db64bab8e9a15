package redisstore

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/limit"
)

// documentedUser is the ACL user of docs/operations.md.
func documentedUser(t *testing.T) []any {
	t.Helper()
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ +ACL SETUSER riftrelay .*$`).Find(doc)
	if line == nil {
		t.Fatal("docs/operations.md has no line ACL SETUSER riftrelay …")
	}
	var args []any
	for _, f := range strings.Fields(string(line)) {
		args = append(args, f)
	}
	return args
}

// The user that docs/operations.md creates is enough, and none of its rights is
// too many.
func TestDocumentedUserSuffices(t *testing.T) {
	server := startServer(t)
	args := documentedUser(t)
	server.do(args...)
	url := strings.Replace(server.url(), "redis://", "redis://riftrelay:PASSWORD@", 1)

	s := patient(t, url, nil)
	hints := s.Hints(t.Context())
	await(t, hints, limit.Hint{})
	r := granted(t, s)
	await(t, hints, limit.Hint{Budget: aBudget, Epoch: 1})
	ask := oneCall()
	ask.Merge = &limit.Merge{Process: 1, Number: 1}
	if _, err := s.Admit(t.Context(), ask); err != nil {
		t.Error(err)
	}
	for range 2 { // a replica that is gone is removed
		server.do("HSET", "riftrelay:{rr}", "rgone", "1")
		if _, err := s.Beat(t.Context(), "a", []limit.KeyHealth{{Key: "k", Is: true}}); err != nil {
			t.Error(err)
		}
	}
	if r.Epoch == 0 {
		t.Error("no epoch")
	}
	log, ok := server.do("ACL", "LOG").([]any)
	if !ok || len(log) > 0 {
		t.Errorf("the server refused something: %v", log)
	}
	s.Close()

	for _, right := range args[3:] {
		right := right.(string)
		if !strings.HasPrefix(right, "+") {
			continue
		}
		t.Run("without "+right, func(t *testing.T) {
			server.do("FLUSHALL")
			server.do("SCRIPT", "FLUSH")
			server.do("ACL", "LOG", "RESET")
			server.do("ACL", "SETUSER", "riftrelay", "-"+right[1:])
			defer server.do("ACL", "SETUSER", "riftrelay", right)
			s := patient(t, url, nil)
			defer s.Close()
			s.Hints(t.Context())
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				_, _ = s.Admit(t.Context(), oneCall())
				server.do("HSET", "riftrelay:{rr}", "rgone", "1")
				_, _ = s.Beat(t.Context(), "a", nil)
				if log := server.do("ACL", "LOG").([]any); len(log) > 0 {
					return
				}
			}
			t.Error("isn't needed")
		})
	}
}

// So is a database that the server doesn't have.
func TestWrongDatabase(t *testing.T) {
	server := startServer(t)
	s, err := New(context.Background(), Options{URL: server.url() + "/99", Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var e *AwayError
	if _, err = s.State(); !errors.As(err, &e) || e.Reason != ReasonDatabase {
		t.Errorf("%v, want %s", err, ReasonDatabase)
	}
}

// A wrong password is told as such, and not shown.
func TestWrongPassword(t *testing.T) {
	server := startServer(t, "--requirepass", "right")
	for _, url := range []string{"redis://:wr0ng@" + server.Addr, "redis://" + server.Addr} {
		s, err := New(context.Background(), Options{URL: url, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.State()
		var e *AwayError
		if !errors.As(err, &e) || e.Reason != ReasonDenied || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%v, want %s", err, ReasonDenied)
		}
		s.Close()
	}
	if err := redis.NewClient(&redis.Options{Addr: server.Addr, Password: "right"}).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}
