package limit

import (
	"strings"
)

// Kind says who rejected a call with a 429 (R13).
type Kind uint8

// The kinds of 429.
const (
	NotLimited    Kind = iota // no 429
	Application               // the application's limit: ours
	Method                    // the method's limit: ours
	Service                   // the service's, over all applications
	Server                    // undocumented, since July 2026; as Service
	Other                     // a type unknown to us; as Service
	Untyped                   // no type, no sign of our limit: a service behind the edge; as Service
	UntypedAsOurs             // no type, and our application's limit may be full: as Application
)

var kindNames = [...]string{"", "application", "method", "service", "server", "other", "none", "none"}

// String returns Riot's name of the kind, "none" where there was no type.
func (k Kind) String() string { return kindNames[k] }

// Own reports whether the 429 is a violation of ours, which Riot holds against
// a key (R19), and not trouble of Riot's.
func (k Kind) Own() bool { return k == Application || k == Method || k == UntypedAsOurs }

// KindOf returns the kind of a 429 by its X-Rate-Limit-Type alone (R13); Untyped
// for an empty one.
func KindOf(kind string) Kind {
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "application":
		return Application
	case "method":
		return Method
	case "service":
		return Service
	case "server":
		return Server
	case "":
		return Untyped
	}
	return Other
}
