package limit

import (
	"context"
	"time"
)

// Store is the judge where several processes, replicas, call with the same
// keys: it holds the charges of all of them and says which of their calls may
// go. Each replica queues its own callers and asks for as many permits as it
// has waiters. A Store passes the suite in limittest.
//
// Its answers are durations from the moment of the answer, never instants:
// replicas' clocks need not agree. What it is told has happened Ago; the way to
// it only makes that seem later than it was, never earlier.
//
// All methods are safe for concurrent use. An error means that nothing was
// granted; what was reported may have been taken over, and must not be
// reported again. A Merge is the exception: it is told until an answer comes.
type Store interface {
	// Admit tells what was spent without the store, reports what became of
	// permits and what answers taught, in this order, and then asks for more, in
	// one indivisible step. A replica has one Admit under way for each budget.
	Admit(ctx context.Context, ask *Ask) (Reply, error)

	// Beat says that a replica lives and how its keys are and returns the same of
	// all. A replica that hasn't been heard of for PeerTimeout is gone. What was
	// said of a key is forgotten after a day: see KeyHealth.
	Beat(ctx context.Context, replica string, keys []KeyHealth) (Peers, error)

	// Hints returns a channel of its own, which ends with ctx or Close. It is
	// advice: hints get lost, and waiting is right without them.
	Hints(ctx context.Context) <-chan Hint

	// Close ends all use. Further calls give an error.
	Close() error
}

// Budget is what one key may call on one host.
type Budget struct {
	Key  string // a name for the key that doesn't give it away, the same in all replicas; empty for calls without one (R5), which have no application's scope
	Host string
}

// Hint says what has changed in a store that no wait which was told before
// reckons with.
type Hint struct {
	// Budget has a stop set or lifted, or a limit raised. AnyBudget stands for
	// all: hints may have been missed.
	Budget Budget

	// Epoch is not 0 when the budget is new in the store: a replica that has
	// spent something of it in another epoch tells what (Merge).
	Epoch int64

	// Beat says that it is keys or replicas that have changed, and no budget:
	// the next Beat tells.
	Beat bool
}

// AnyBudget in Hint stands for all budgets.
var AnyBudget = Budget{}

// Constants that all replicas and stores share.
const (
	// SendBy is within what time after its Start a permit is sent or given
	// back.
	SendBy = time.Second

	// PeerTimeout is how long a silent replica is reckoned with.
	PeerTimeout = 5 * time.Second

	// MostDemands bounds the methods of one Ask, MostWanted the permits wanted
	// of each class, MostDone and MostFacts what is reported with it.
	MostDemands = 32
	MostWanted  = 1000
	MostDone    = 1000
	MostFacts   = 200
)

// Ask is a call of Store.Admit.
type Ask struct {
	Budget  Budget
	Replica string   // who asks
	Merge   *Merge   // nil: there is nothing to tell
	Demands []Demand // each of another method, in the order of whose turn it is
	Done    []Done
	Facts   []Fact

	Burst   float64       // share of each window that needs no pacing, 0 to 1
	Margin  time.Duration // J of the asker
	Horizon time.Duration // permits may start up to so much later: the time until the next Ask, about
	Assumed []Quota       // of an application of which nothing is known
}

// Demand is how many calls wait for one method. Method is empty in none.
type Demand struct {
	Method string
	Want   [2]int // by class: normal, high
}

// Grant is the permit for one call.
type Grant struct {
	Demand int           // index in Ask.Demands
	High   bool          // of that class
	Start  time.Duration // not before, from now on
	Stub   Stub
}

// Stub is what is kept of a permit to report what became of it.
type Stub struct {
	Method string
	At     int64 // the store's own: when it was granted
	Due    int64 // the store's own: the charge's expiry, less its window
}

// Done is what became of a permit. It is reported once: when its answer came or
// J after its sending, whichever is earlier, or when it was given back.
type Done struct {
	Stub   Stub
	Unsent bool          // never written: costs nothing
	Ago    time.Duration // how long before the Ask Riot has counted it at the latest (u); may be negative
}

// Fact is what an answer taught of one scope, or the end of the call that went
// alone for it.
type Fact struct {
	Method  string // empty: the application's scope
	SentAgo time.Duration
	Passed  bool // the call succeeded: counted, and no 429
	Counted bool // Riot counts answers of this status: see SilentAnswers

	// Limits are those of the header, nil if there was none; Counts Riot's
	// counts in them. Bases are of the Reply that granted the call.
	Limits []Quota
	Counts []Quota
	Bases  []Basis

	Stop  time.Duration // a 429's: the scope is closed for so long
	Cause Kind          // of the stop
	Level int           // how often violations have halved the limits
}

// Reply is the answer to an Ask.
type Reply struct {
	Grants []Grant
	Waits  []Wait // by demand: of what wasn't granted
	App    View
	Views  []View        // by demand
	Margin time.Duration // the largest J of the replicas that asked lately

	// Epoch is another when the store knows nothing any longer that it knew
	// before: permits granted in another epoch are void unless sent, and each
	// replica tells all that it has spent with its next Ask (Merge).
	Epoch int64
}

// Wait is when to ask again, and why.
type Wait struct {
	In  time.Duration // 0 if everything was granted
	Why WaitKind
}

// WaitKind is what a demand waits for.
type WaitKind uint8

// The kinds.
const (
	WaitNone    WaitKind = iota
	WaitCharges          // a window of Riot's is full
	WaitPace             // calls are spread
	WaitStop             // a stop after a 429
	WaitAlone            // one call went ahead, for its answer
	WaitShare            // it is another replica's turn
)

// Basis is what a store needs to know of a call to compare Riot's count on it with
// its own: Base and Used of the WindowView of length W.
type Basis struct {
	W          time.Duration
	Base, Used int
}

// WindowView is one limit.
type WindowView struct {
	Quota
	Used   int // charges of all replicas that count now
	Others int // charges of others on the same key, not in Used
	Base   int // for Fact.Bases of the calls granted now

	// Next is when there is room for one more call, at the earliest; 0 if there is.
	Next time.Duration
}

// Account is what one replica knows of a scope: Saved, and when that was.
type Account struct {
	Method string // empty: the application's scope
	Saved  Saved
}

// KeyHealth is how a key is, in one respect. A store keeps each respect by
// itself, and for a day: replicas that find it forgotten say it again.
type KeyHealth struct {
	Key string // as Budget.Key
	Of  KeyTrait
	Is  bool
	For time.Duration // how long that has been so
}

// KeyTrait is what may be the matter with a key.
type KeyTrait uint8

// The traits.
const (
	KeySuspect  KeyTrait = iota // Riot doesn't know it
	KeyDisabled                 // an operator wants no calls on it
)

// Peers is what Beat tells.
type Peers struct {
	Live int         // replicas, the asker among them
	Rank int         // of the asker among them, from 0, by name
	Keys []KeyHealth // what replicas have said last of each key

	// Apart says that there are also replicas whose charges this store can't
	// hold together with the asker's: of another version. Each replica is to
	// keep to its share then.
	Apart bool

	// Elsewhere names where the store has heard of replicas that share nothing with
	// the asker, by mistake as a rule: another database of the same server.
	Elsewhere []string
}
