package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"riftrelay"
	"riftrelay/internal/config"
)

// crowd knows who is being served.
type crowd struct {
	calls       atomic.Int64   // requests whose handler hasn't returned
	connections sync.WaitGroup // those that are open
}

// cause leaves out what the message says already.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// abandon closes what was opened, when nothing has been served.
func (r *relay) abandon() {
	for _, s := range r.servers() {
		if s.listener != nil {
			s.listener.Close()
		}
	}
	_ = r.limiter.Close() // never fails
	closeStore(r.store)
	r.tracing.close()
}

// serve serves until a signal or ctx asks it to stop, or a listener fails. It
// returns when all that it began has ended.
func (r *relay) serve(ctx context.Context, signals <-chan os.Signal) error {
	r.announce()
	stopKeeping := r.keeper.start()
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range r.servers() {
		g.Go(func() error {
			if err := s.serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("%s: %s failed: %w", s.setting, s.address, err)
			}
			return nil
		})
	}
	running, stopping := context.WithCancel(ctx)
	if r.page != nil {
		watching, leave := context.WithCancel(context.WithoutCancel(ctx)) // how it drains is shown too
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			r.page.Run(watching)
		}()
		defer func() { leave(); <-looked }()
	}
	g.Go(func() error {
		r.reloading(running)
		return nil
	})
	g.Go(func() error {
		why := "failure or caller"
		select {
		case sig := <-signals:
			why = sig.String()
		case <-ctx.Done():
		}
		stopping() // keys stay as they are
		r.log.Info("stopping", "why", why, "queued", r.limiter.Snapshot().Queued, "within", r.settings.ShutdownTimeout.String())
		return r.stop(signals)
	})
	err := g.Wait()
	r.tunnels.Close()
	if left := r.rest(); left > 0 {
		r.log.Warn("connections outlived the stop", "count", left)
	}
	stopKeeping() // nothing is let go any longer
	closeStore(r.store)
	r.tracing.close()
	r.log.Info("stopped")
	return err
}

// stop lets those finish who can finish in time, and refuses the rest. A
// further signal ends it now.
func (r *relay) stop(signals <-chan os.Signal) error {
	grace := r.settings.ShutdownTimeout
	bound := max(grace, time.Second)            // refusals have to reach their callers too
	grace -= min(grace/4, time.Second)          // a call that starts in the last moment needs time for its answer
	closing := func() { _ = r.limiter.Close() } // never fails
	r.health.draining.Store(true)
	r.limiter.Drain(grace)
	// What seemed to fit may not have: the first answer of all can bring lower
	// limits than were assumed.
	defer time.AfterFunc(grace, closing).Stop()

	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.front.quiet(ctx)
		_ = r.front.http.Shutdown(ctx) // that time is over: cut tells what it cost
	}()
	insisted := false
	select {
	case <-done:
	case <-signals:
		insisted = true
		cancel()
		<-done
	}
	cut := r.front.calls.Load()
	closing()
	if r.page != nil {
		r.page.Close()
	}
	for _, s := range r.servers() {
		_ = s.http.Close() // of closing a listener that is closed already
	}
	switch {
	case insisted:
		r.log.Warn("told twice to stop", "cut", cut)
		return errInsisted
	case cut > 0:
		return fmt.Errorf("SHUTDOWN_TIMEOUT: %d calls were cut off after %v", cut, bound)
	}
	return nil
}

// quiet waits until nobody is being served. Until then the port stays open, so
// that load balancers see /readyz and new callers a 503 instead of nothing.
func (s *server) quiet(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.calls.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rest waits until the connections are gone, which they are as soon as their
// handlers notice. It returns the number of handlers that don't.
func (r *relay) rest() int64 {
	defer r.base.CloseIdleConnections()
	gone := make(chan struct{})
	go func() {
		for _, s := range r.servers() {
			s.connections.Wait()
		}
		close(gone)
	}()
	select {
	case <-gone:
		return 0
	case <-time.After(time.Second):
		return r.front.calls.Load()
	}
}

// announce says in one line what runs, and in others what to think about.
func (r *relay) announce() {
	admin := "off"
	if r.admin != nil {
		admin = r.admin.listener.Addr().String()
	}
	keys := r.settings.Keys()
	if len(r.settings.Clients) > 0 {
		r.log.Info("clients need a token", "clients", clientNames(r.settings.Clients))
	}
	r.log.Info("riftrelay serves", "relay", r.front.listener.Addr().String(), "admin", admin, "page", pageURL(admin),
		"keys", len(keys), "names", listed(keyNames(keys)), "pacing", r.settings.Pacing.String(),
		"upstream", r.settings.UpstreamURL, "version", config.BuildVersion())
	if r.certificate != nil {
		r.log.Info("the relay's port speaks TLS only", "certificate", r.settings.CertFile, "until", r.certificate.until())
	}
	if at := r.exposed(); at != "" {
		r.log.Warn("whoever reaches the relay's port can use the keys: set CLIENT_TOKENS, or LISTEN_ADDR to localhost", "listen", at)
	}
	if r.settings.TrustDir != "" {
		r.log.Info("CONNECT and TLS are served; riftrelay trust shows how clients trust them", "trust_dir", r.settings.TrustDir, "tunnels", strings.Join(r.settings.TunnelHosts, ","))
	}
	if r.admin != nil && beyondLoopback(r.admin.listener) {
		r.log.Warn("whoever reaches the admin port can read metrics and profiles", "listen", admin)
	}
}

func keyNames(keys []riftrelay.Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return names
}

// listed is a list of names, not too long for a line.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ",")
}
