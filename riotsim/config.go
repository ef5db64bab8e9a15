package riotsim

import (
	"time"

	"riftrelay/route"
)

// Config describes an edge. The zero value is Riot as it is for a development key: any key is known
// and has the Development limit, methods have the limits seen in reality, windows are fixed, nothing
// is slow and nothing fails.
type Config struct {
	// Table routes requests; nil = route.Default().
	Table *route.Table

	// Keys maps each known key to its application limit: a tier such as Production, any "20:1,100:120",
	// NoLimit, or "" for Development. A key that isn't in it gets 401. nil = every non-empty key is
	// known and has the Development limit.
	Keys map[string]string

	// AppLimits overrides the application limit of a key, per key and host; of the rules that fit the last holds.
	AppLimits []Rule
	// MethodLimits overrides the limits of methods, which are those seen in reality otherwise (20000:10,1200000:600
	// for most). []Rule{{Limit: NoLimit}} removes them all.
	MethodLimits []Rule
	// ServiceLimits are limits per host and method over all keys (R4); none by default.
	ServiceLimits []Rule
	// Shared names methods whose budget spans hosts (R8); none by default.
	Shared []Shared

	Windows    WindowKind // where windows lie in time; zero = Fixed
	Order      Order      // of the entries in rate limit headers; zero = Descending, as in all of 2026
	Counts     Counts     // which counts the headers carry; zero = all
	RetryAfter RetryAfter // form of Retry-After on 429; zero = whole seconds

	// Latency is the way there and back; zero = none.
	Latency Latency
	// Faults are injected from the start, as by Edge.Inject.
	Faults []Fault
	// Script, if set, is asked for a fault at every arrival before Faults are. It runs under the
	// edge's lock: it must be quick and must not call the edge. nil result = no fault.
	Script func(Call) *Fault

	Body          Body // how much the bodies say; zero = Plausible
	MatchBytes    int  // size of a match; 0 = 30 000
	TimelineBytes int  // size of a timeline; 0 = 200 000
	CheckIDs      bool // answer 400 "Exception decrypting" to a puuid made for another key (R17)
	Gzip          bool // compress bodies for clients that accept gzip, as Riot does (R15)
	Noise         bool // add the odd headers of R15: a second Date, Set-Cookie, doubled Access-Control-Allow-Origin, trace id

	// Intervals measures the fullest interval of each window (WindowReport.Worst). It costs 8 bytes
	// for each arrival of the last W in each window.
	Intervals bool
	// Arrivals is how many of the latest arrivals Edge.Arrivals keeps; negative = all of them, 0 = none.
	Arrivals int
	// Requests is how many of the latest requests Edge.Requests keeps as they came in; negative = all, 0 = none.
	Requests int

	// Seed decides everything random: the nth request draws the same numbers in every run.
	Seed uint64
}

// Shared makes one budget of a method's budgets on several hosts (R8), e.g. {"tft-match-v1", {"asia", "sea"}}.
// Each key still has its own.
type Shared struct {
	Method string   // as Rule.Method; "" = each method, apart from the others
	Hosts  []string // at least two
}

// Order is the order of entries in rate limit headers. It isn't fixed at Riot (R11).
type Order uint8

const (
	Descending Order = iota // longest window first: 100:120,20:1
	Ascending               // shortest window first: 20:1,100:120
	Shuffled                // drawn from the seed, limits and counts independently
)

// Counts says which entries the count headers have (R11: a limit without a count has an unknown count).
type Counts uint8

const (
	AllCounts     Counts = iota // one for each window
	ShortestCount               // only that of the shortest window
	NoCounts                    // no count headers at all
)

// RetryAfter is the form of the Retry-After header on 429 (R14).
type RetryAfter uint8

const (
	RetryExact    RetryAfter = iota // whole seconds until there is room, rounded up
	RetryMissing                    // no header
	RetryZero                       // "0"
	RetryFraction                   // "1.250"
	RetryDate                       // an HTTP date, not earlier than the right moment
	RetryGarbage                    // "soon"
)

// Latency delays requests. A request takes Up + u·UpJitter to arrive, where u in [0, 1) is drawn from
// the seed, is counted then, and its answer takes Down + u·DownJitter.
type Latency struct {
	Up, UpJitter     time.Duration // before counting
	Down, DownJitter time.Duration // after counting
	// Of, if set, replaces all that: it gets the request's number, counted from 1, and must be safe for concurrent use.
	Of func(n uint64) (up, down time.Duration)
}

func (l *Latency) delays(seed, n uint64) (up, down time.Duration) {
	if l.Of != nil {
		return l.Of(n)
	}
	up, down = l.Up, l.Down
	if l.UpJitter > 0 {
		up += time.Duration(draw(seed, streamUp, n) * float64(l.UpJitter))
	}
	if l.DownJitter > 0 {
		down += time.Duration(draw(seed, streamDown, n) * float64(l.DownJitter))
	}
	return up, down
}

// Each use of chance has a stream of its own, so that switching one on leaves the others as they were.
const (
	streamUp = iota + 1
	streamDown
	streamFault
	streamOrder
	streamWait
)

// draw returns the nth number of a stream in [0, 1). It keeps no state, so it needs no lock.
func draw(seed, stream, n uint64) float64 {
	return float64(mix(mix(mix(seed)^stream)^n)>>11) / (1 << 53)
}

// mix is the finaliser of splitmix64: every bit of the input moves half of the output's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
