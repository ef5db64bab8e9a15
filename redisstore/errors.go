package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrAway is the error of calls that the server did not answer, or can't at
// the moment. Nothing was granted. errors.As with *AwayError tells why.
var ErrAway = errors.New("redisstore: the server is away")

// Reason is why a server is away, in a word: for metrics.
type Reason string

// The reasons.
const (
	ReasonTimeout  Reason = "timeout"  // no answer in time; or it ran too late, and did nothing
	ReasonNetwork  Reason = "network"  // no connection, or it broke
	ReasonReadOnly Reason = "readonly" // a replica, or too few replicas to write: a failover
	ReasonLoading  Reason = "loading"  // it is starting, or its primary is down
	ReasonMemory   Reason = "memory"   // maxmemory
	ReasonBusy     Reason = "busy"     // another script runs for too long
	ReasonTLS      Reason = "tls"      // its certificate isn't trusted, or it speaks no TLS
	ReasonDenied   Reason = "denied"   // the user may not, or the password is wrong
	ReasonDatabase Reason = "database" // the server has no database of the number in the URL
	ReasonData     Reason = "data"     // a key has something else in it, or another version's
	ReasonCluster  Reason = "cluster"  // part of the cluster is down, or it is one and isn't addressed so
	ReasonMixed    Reason = "mixed"    // the answer to another call came
	ReasonOther    Reason = "other"
)

// AwayError is ErrAway with the reason.
type AwayError struct {
	Reason Reason
	text   string
}

// Error returns the reason, and what the server or the network said. It contains
// no password.
func (e *AwayError) Error() string {
	return ErrAway.Error() + ": " + e.Why()
}

// Why is Error without that the server is away, for those who say so
// themselves.
func (e *AwayError) Why() string {
	if e.text == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.text
}

// Is reports whether target is ErrAway.
func (e *AwayError) Is(target error) bool { return target == ErrAway }

// JumpError is the error of Admit after the server's clock has jumped. Ahead:
// charges would end before Riot's windows do. Back: none would end, since the
// store's time stands still. Nothing is granted until as much time has passed.
type JumpError struct {
	By   time.Duration // the jump, below 0 if back
	Left time.Duration // until Admit grants again
}

// Error tells both durations.
func (e *JumpError) Error() string {
	way := "ahead"
	if e.By < 0 {
		way = "back"
	}
	return fmt.Sprintf("redisstore: the server's clock has jumped %s by %v; nothing is granted for %v", way, e.By.Abs(), e.Left)
}

// Paused is Left: for callers that know the store by its interface.
func (e *JumpError) Paused() time.Duration { return e.Left }

// replies sorts error replies by how they begin.
var replies = []struct {
	prefix string
	reason Reason
}{
	{"READONLY", ReasonReadOnly},
	{"NOREPLICAS", ReasonReadOnly},
	{"LOADING", ReasonLoading},
	{"MASTERDOWN", ReasonLoading},
	{"OOM", ReasonMemory},
	{"MISCONF", ReasonMemory},
	{"BUSY", ReasonBusy},
	{"NOPERM", ReasonDenied},
	{"NOAUTH", ReasonDenied},
	{"WRONGPASS", ReasonDenied},
	{"WRONGTYPE", ReasonData},
	{"VERSION", ReasonData},
	{"CLUSTERDOWN", ReasonCluster},
	{"TRYAGAIN", ReasonCluster},
	{"CROSSSLOT", ReasonCluster},
	{"MOVED", ReasonCluster},
	{"ASK", ReasonCluster},
}

// away returns an AwayError for what go the client gave.
func away(err error, secrets []string) *AwayError {
	var e *AwayError
	if errors.As(err, &e) {
		return e
	}
	text := err.Error()
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	e = &AwayError{Reason: ReasonOther, text: text}
	var reply redis.Error
	var network net.Error
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &untrusted):
		e.Reason = ReasonTLS
		e.text = "the server's certificate isn't trusted; the URL's ca_file names the authorities that are: " + text
	case errors.As(err, &record):
		e.Reason = ReasonTLS
		e.text = "the server speaks no TLS on this port; redis:// in place of rediss:// is without: " + text
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, redis.ErrPoolTimeout):
		e.Reason = ReasonTimeout
	case errors.As(err, &network) && network.Timeout():
		e.Reason = ReasonTimeout
	case errors.As(err, &reply):
		e.Reason = reasonOf(text)
	default:
		e.Reason = ReasonNetwork
	}
	return e
}

// reasonOf finds the code of an error reply. One that a script has raised may
// stand behind its place in the script.
func reasonOf(text string) Reason {
	for _, r := range replies {
		if strings.HasPrefix(text, r.prefix+" ") || strings.Contains(text, ": "+r.prefix+" ") || strings.Contains(text, "-"+r.prefix+" ") {
			return r.reason
		}
	}
	for _, r := range texts {
		if strings.Contains(text, r.text) {
			return r.reason
		}
	}
	return ReasonOther
}

// texts are parts of error replies that have no code of their own, but ERR.
var texts = []struct {
	text   string
	reason Reason
}{
	{"can't run this command", ReasonDenied}, // in a script: ACL, Redis 7
	{"DB index is out of range", ReasonDatabase},
	{"invalid DB index", ReasonDatabase},
}
