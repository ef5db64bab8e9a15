package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// sim serves a simulated edge until it is told to stop, then prints what the
// edge saw.
func (p Process) sim(ctx context.Context, o config.SimOptions) error {
	edge, err := newSim(o)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("--addr: can't listen on %s: %w; allowed: an address of this machine that is free", o.Addr, cause(err))
	}
	say(p.Stdout, "simulated Riot on http://%s, %s, %s windows; Ctrl-C for the report\n", l.Addr(), o.AppLimit, o.Window)
	token := "any-key"
	if len(o.Keys) > 0 {
		token = "<one of --key>"
	}
	say(p.Stdout, "a relay for it: RIOT_TOKEN=%s UPSTREAM_URL=http://%s riftrelay\n", token, l.Addr())
	if beyondLoopback(l) {
		say(p.Stdout, "it listens beyond this machine, and anybody may call it\n")
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return edge.Serve(l) })
	g.Go(func() error {
		defer edge.Close()
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for before := 0; ; {
			select {
			case <-p.Signals:
				return nil
			case <-ctx.Done():
				return nil
			case <-tick.C:
				t := edge.Report().Totals
				if t.Arrived != before {
					say(p.Stdout, "%s  arrived %d  accepted %d  429s %d (violations %d)  refused %d\n",
						time.Now().Format(time.TimeOnly), t.Arrived, t.Accepted, t.Rejected.Total(), t.Violations, t.Refused)
				}
				before = t.Arrived
			}
		}
	})
	err = g.Wait()
	say(p.Stdout, "%s\n", edge.Report())
	return err
}

func newSim(o config.SimOptions) (*riotsim.Edge, error) {
	windows := map[string]riotsim.WindowKind{"fixed": riotsim.Fixed, "sliding": riotsim.Sliding, "aligned": riotsim.Aligned}
	half := o.Delay / 2
	cfg := riotsim.Config{
		Windows:   windows[o.Window],
		Latency:   riotsim.Latency{Up: half, Down: o.Delay - half, UpJitter: o.Jitter / 2, DownJitter: o.Jitter - o.Jitter/2},
		AppLimits: []riotsim.Rule{{Limit: o.AppLimit}},
	}
	for _, k := range o.Keys {
		if cfg.Keys == nil {
			cfg.Keys = map[string]string{}
		}
		cfg.Keys[k] = o.AppLimit
	}
	return riotsim.New(cfg)
}
