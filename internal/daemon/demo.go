package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// demo shows the relay at work for as long as it may, or until a signal.
func (p Process) demo(ctx context.Context, o config.DemoOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.Signals:
			stop()
		case <-ctx.Done():
		}
	}()
	out := screen{w: p.Stdout}
	if f, ok := p.Stdout.(*os.File); ok {
		out = newScreen(f, p.noColor())
	}
	return demo(ctx, o, out)
}

const demoKey = "RGAPI-demo"

// demo puts the relay of every day in front of a simulated edge, all on
// loopback, lets a load at it, and shows what happens. When ctx ends it says
// what has happened, by the edge's own books.
func demo(ctx context.Context, o config.DemoOptions, out screen) error {
	s, err := newStage(ctx, o)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if o.For > 0 { // the seconds of the load, whatever its preparation takes
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	show := &show{stage: s, out: out, options: o, began: time.Now()}
	err = s.play(ctx, show.run)
	report := summary{counts: s.tally.counts(), edge: s.edge.Report(), took: time.Since(show.began), options: o, store: s.judge.name}
	width := 0
	if out.isTTY {
		width, _ = out.cells()
	}
	_, printed := io.WriteString(out.w, strings.Join(report.lines(width, ink(out.color)), "\n")+"\n")
	return errors.Join(err, printed)
}

// stage is all that runs in a demo.
type stage struct {
	edge   *riotsim.Edge
	riot   net.Listener
	relays []*relay
	judge  judge
	load   load
	client *http.Transport
	tally  *tally
}

func newStage(ctx context.Context, o config.DemoOptions) (*stage, error) {
	edge, err := riotsim.New(riotsim.Config{
		Keys:       map[string]string{demoKey: o.RateLimit},
		Latency:    riotsim.Latency{Up: 15 * time.Millisecond, UpJitter: 10 * time.Millisecond, Down: 15 * time.Millisecond, DownJitter: 10 * time.Millisecond},
		MatchBytes: 8000, // it is the demo's own machine that makes and carries them
		// One method that is narrower than its fair turn, to show that it holds up nobody else.
		MethodLimits: []riotsim.Rule{{Method: "/lol/league/v4/challengerleagues/by-queue/{queue}", Limit: "10:10"}},
		Seed:         o.Seed,
	})
	if err != nil {
		return nil, err
	}
	s := &stage{edge: edge, tally: &tally{}}
	var lc net.ListenConfig
	if s.riot, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if err := s.open(ctx, o); err != nil {
		s.riot.Close()
		for _, r := range s.relays {
			r.abandon()
		}
		s.judge.close()
		return nil, err
	}
	s.client = &http.Transport{MaxIdleConnsPerHost: 128}
	s.load = load{http: &http.Client{Transport: s.client}, seed: o.Seed, tally: s.tally}
	for _, r := range s.relays {
		s.load.relays = append(s.load.relays, "http://"+r.front.listener.Addr().String())
	}
	return s, nil
}

// open has the relays listen, and what they share be there.
func (s *stage) open(ctx context.Context, o config.DemoOptions) error {
	if o.Replicas > 1 {
		var err error
		if s.judge, err = newJudge(); err != nil {
			return err
		}
	}
	for range max(1, o.Replicas) {
		pages := []string{"off"}
		if len(s.relays) == 0 {
			// Where the relay's own would be, so that riftrelay status and top find it, or else anywhere.
			pages = []string{"127.0.0.1:8986", "127.0.0.1:0"}
		}
		if err := s.openOne(ctx, o, pages); err != nil {
			return err
		}
	}
	return nil
}

// openOne has a relay listen, with its page at the first of these addresses that
// is free.
func (s *stage) openOne(ctx context.Context, o config.DemoOptions, pages []string) error {
	var occupied error
	for _, page := range pages {
		r, err := demoRelay("http://"+s.riot.Addr().String(), page, o.Pacing, riftrelay.Hooks{Admission: s.tally.Admission}, s.judge)
		if err != nil {
			return err
		}
		if occupied = r.listen(ctx); occupied == nil {
			s.relays = append(s.relays, r)
			return nil
		}
	}
	return occupied
}

// page is where the first relay's page is.
func (s *stage) page() string { return pageURL(s.relays[0].admin.listener.Addr().String()) }

// demoRelay is a relay as the settings make it, whatever the environment says.
func demoRelay(upstream, admin string, pacing riftrelay.Pacing, also riftrelay.Hooks, judge judge) (*relay, error) {
	settings := map[string]string{
		"RIOT_TOKEN": "demo=" + demoKey, "UPSTREAM_URL": upstream, "PACING": pacing.String(),
		"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": admin, "ENABLE_METRICS": "false", "ENABLE_SWAGGER": "false",
		"STORE_URL":        judge.url,
		"SHUTDOWN_TIMEOUT": "0", // what is queued at the end is refused at once
	}
	in, err := config.Parse(nil, config.Env{
		Lookup:   func(name string) (string, bool) { v, ok := settings[name]; return v, ok },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	})
	if err != nil {
		return nil, err
	}
	return assemble(in.Settings, slog.New(slog.DiscardHandler), also, judge.store)
}

// play runs everything until ctx ends, and watch along with it. What has been
// sent is answered and counted before play returns.
func (s *stage) play(ctx context.Context, watch func(context.Context) error) error {
	up, down := context.WithCancel(context.WithoutCancel(ctx))
	defer down()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.edge.Serve(s.riot) })
	defer s.judge.close()
	for _, r := range s.relays {
		g.Go(func() error { return r.serve(up, nil) })
	}
	g.Go(func() error { return watch(ctx) })
	g.Go(func() error {
		calls, cut := context.WithCancel(up)
		loaded := make(chan struct{})
		go func() {
			s.load.run(ctx, context.WithoutCancel(calls))
			close(loaded)
		}()
		<-ctx.Done()
		down()
		<-loaded
		cut()
		s.client.CloseIdleConnections()
		s.edge.Close()
		return nil
	})
	return g.Wait()
}

// show tells what happens on the stage.
type show struct {
	*stage
	out     screen
	options config.DemoOptions
	began   time.Time
	past    []moment // of the last seconds
}

// moment is the counts at one time.
type moment struct {
	at time.Time
	counts
}

const (
	frameEvery = 200 * time.Millisecond
	lineEvery  = time.Second
	rateOver   = 3 * time.Second  // a rate is a mean over this time
	waitsOver  = 10 * time.Second // waits are those of this time
)

// run shows until ctx ends. A terminal gets a picture painted over, anything
// else a line each second.
func (s *show) run(ctx context.Context) error {
	every := lineEvery
	if s.out.isTTY {
		every = frameEvery
	} else if _, err := fmt.Fprintf(s.out.w, "RiftRelay demo: a simulated Riot allows %s per host, pacing %s%s\nThe relay's page, while it runs: %s\n", s.options.RateLimit, s.options.Pacing, s.judge.says(s.options.Replicas), s.page()); err != nil {
		return err
	}
	painter := painter{out: s.out}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return painter.end()
		case <-tick.C:
		}
		f := s.frame()
		var err error
		if s.out.isTTY {
			w, h := s.out.cells()
			err = painter.paint(f.lines(w, h, ink(s.out.color)))
		} else {
			_, err = fmt.Fprintln(s.out.w, f.plain())
		}
		if err != nil {
			return errors.Join(err, painter.end())
		}
	}
}

// frame collects what to show now.
func (s *show) frame() frame {
	now := moment{time.Now(), s.tally.counts()}
	s.past = append(s.past, now)
	for len(s.past) > 2 && now.at.Sub(s.past[1].at) >= rateOver {
		s.past = s.past[1:]
	}
	then := s.past[0]
	if len(s.past) == 1 {
		then = moment{at: s.began}
	}
	over := now.at.Sub(then.at).Seconds()
	var all []riftrelay.Snapshot
	for _, r := range s.relays {
		all = append(all, r.limiter.Snapshot())
	}
	snapshot := together(all)
	var replicas []float64
	if len(s.relays) > 1 {
		for i := range s.relays {
			replicas = append(replicas, float64(now.By[i]-then.By[i])/over)
		}
	}
	return frame{
		Elapsed: now.at.Sub(s.began), For: s.options.For, Limit: s.options.RateLimit, Pacing: s.options.Pacing.String(),
		Sent: now.Sent, Accepted: now.Accepted, Refused: now.refused(), TooMany: s.edge.Report().Rejected.Total(),
		SentRate: float64(now.Sent-then.Sent) / over, AcceptedRate: float64(now.Accepted-then.Accepted) / over,
		Queued: snapshot.Queued, InFlight: snapshot.InFlight,
		Normal: s.tally.since(now.at.Add(-waitsOver), riftrelay.Normal),
		High:   s.tally.since(now.at.Add(-waitsOver), riftrelay.High),
		Hosts:  hostsOf(snapshot, shortNames),
		Page:   s.page(),

		Replicas: replicas, Store: storeOf(all, s.judge),
	}
}
