// Package dashboard is the page of the admin listener: in three seconds, am I
// limited, by what, until when, and is my key alive?
//
//	tally.go    counts what the limiter's hooks tell, a second at a time
//	waits.go    waits as percentiles
//	rows.go     one row for each scope: its limits, its queue, recent events
//	clients.go  who has a token, and what it did recently
//	history.go  the past ten minutes: a ring of seconds, and one for each window
//	events.go   what changed, in sentences
//	sample.go   once a second: snapshot, history, what viewers get
//	general.go  of that, what is no row: keys, store, clients
//	stream.go   viewers, over server-sent events
//	assets.go   the page's files, which are embedded and ask nobody else
//
// One sampler owns all but the tally. Nothing here holds up a call: the hooks
// count under a lock that is held for a few instructions, and viewers wait for
// the sampler, never the other way round.
package dashboard

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"riftrelay"
)

// Options describe a Dashboard.
type Options struct {
	// Version is shown. Empty means "dev".
	Version string
	// Relay returns the URL where calls are taken, "http://127.0.0.1:8985", for the
	// lines that people paste. Nil, or an empty one, leaves port 8985.
	Relay func() string
	// Clients tells of those who have tokens. Nil, or none, means that nobody
	// needs one.
	Clients func() []Client
	// Exposed returns the address at which anybody can use the keys, "" if there
	// is none. Nil means none.
	Exposed func() string
	// Connections tells of clients' connections. Nil means that nobody knows.
	Connections func() Connections
	// Index is shown to programs that ask for the page, as text.
	Index string

	Explorer bool // the relay's listener has /swagger/
	Metrics  bool // this one has /metrics
}

// Connections are those of clients.
type Connections struct {
	Open int  `json:"open"`
	Most int  `json:"most"` // 0 = nobody knows
	Full bool `json:"full"` // in the last minute one found no room
}

// Dashboard remembers what its Hooks are told, and is a page that shows it.
// Watch comes before everything else but the hooks.
type Dashboard struct {
	options  Options
	boot     string // tells this process from the one before
	snapshot func() riftrelay.Snapshot
	now      func() time.Time

	tally   tally
	feed    feed
	closed  chan struct{}
	close   sync.Once
	streams sync.WaitGroup // of viewers; grows under mu, and not once closed

	mu sync.Mutex // guards what follows, for the sampler and those who connect
	state
}

// Hooks returns those of the limiter whose state is shown.
func (d *Dashboard) Hooks() riftrelay.Hooks {
	return riftrelay.Hooks{Admission: d.Admission, Answer: d.Answer, Change: d.Change}
}

// New makes a Dashboard that has seen nothing.
func New(o Options) *Dashboard {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Exposed == nil {
		o.Exposed = func() string { return "" }
	}
	if o.Connections == nil {
		o.Connections = func() Connections { return Connections{} }
	}
	d := &Dashboard{options: o, boot: rand.Text(), now: time.Now, closed: make(chan struct{})}
	d.state = newState()
	d.feed.add(Event{At: millis(d.now()), Level: "info", Text: "the relay started, version " + o.Version})
	return d
}

// Watch says whose state is shown.
func (d *Dashboard) Watch(snapshot func() riftrelay.Snapshot) { d.snapshot = snapshot }

// Run samples, once a second where anybody looks, until ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if now := d.now(); d.due(now) {
			d.sample(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// farewell is how long Close waits for viewers to have been told.
const farewell = 250 * time.Millisecond

// Close ends the streams of all viewers, whom it tells so. Later ones get none.
func (d *Dashboard) Close() {
	d.close.Do(func() {
		d.mu.Lock()
		close(d.closed)
		d.mu.Unlock()
		told := make(chan struct{})
		go func() {
			d.streams.Wait()
			close(told)
		}()
		select {
		case <-told:
		case <-time.After(farewell):
		}
	})
}

// Handler serves the page at "/" and what it needs below.
func (d *Dashboard) Handler() http.Handler {
	mux := http.NewServeMux()
	files := loadAssets()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { d.page(files, w, r) })
	mux.HandleFunc("GET /assets/{name...}", files.serve)
	mux.HandleFunc("GET /live", ownPage(func(w http.ResponseWriter, r *http.Request) { d.stream(files.build, w, r) }))
	mux.HandleFunc("GET /live/windows", ownPage(d.windows))
	return mux
}

// Admission counts the end of a wait.
func (d *Dashboard) Admission(_ context.Context, e riftrelay.AdmissionEvent) { d.tally.admission(e) }

// Answer counts the end of a try at Riot.
func (d *Dashboard) Answer(_ context.Context, e riftrelay.AnswerEvent) { d.tally.answer(e) }

// Change puts a change into the feed.
func (d *Dashboard) Change(e riftrelay.ChangeEvent) { d.feed.add(eventOf(e)) }

func millis(t time.Time) int64 { return t.UnixMilli() }
