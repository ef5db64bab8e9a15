package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/conns"
	"riftrelay/internal/dashboard"
	"riftrelay/internal/explorer"
	"riftrelay/internal/limit"
	"riftrelay/internal/metrics"
	"riftrelay/internal/proxy"
)

// relay is all that serves.
type relay struct {
	settings *config.Settings
	log      *slog.Logger
	limiter  *riftrelay.Limiter
	pipeline *riftrelay.Transport
	store    limit.Store // nil = none
	base     *http.Transport
	health   *health
	keeper   *keeper
	meters   *metrics.Metrics
	tracing  *tracing                        // nil = none
	keys     atomic.Pointer[[]riftrelay.Key] // in use, for RIOT_TOKEN_FILE and SIGHUP change them
	reloads  sync.Mutex                      // one at a time
	hangup   <-chan os.Signal                // each asks to read the keys again; nil = none comes
	tunnels  *proxy.Tunnels                  // nil = none
	front    *server
	admin    *server              // nil = none
	page     *dashboard.Dashboard // nil = none
	guesses  *guesses

	handler     *proxy.Handler
	clients     []config.Client // in use; as keys, under reloads
	certificate *certificate    // nil = none
}

// server is one listener and what serves it.
type server struct {
	setting string // that names its address
	address string
	http    *http.Server
	door    *door // nil = TLS isn't spoken
	*crowd
	listener net.Listener // nil until it listens

	limits conns.Limits
	conns  atomic.Pointer[conns.Listener] // nil until it serves
	warned atomic.Int64                   // when a full house was last told of, in seconds since 1970
	log    *slog.Logger
}

// assemble puts the parts together. Nothing runs yet. also hears what the
// metrics hear; store, if not nil, is shared instead of that of
// STORE_URL.
func assemble(s *config.Settings, log *slog.Logger, also riftrelay.Hooks, store limit.Store) (*relay, error) {
	version := config.BuildVersion()
	meters := metrics.New(metrics.Options{Version: version, Table: s.Table, WithoutEndpoints: !s.MetricsEndpoints})

	tracing, err := newTracing(s.TraceEndpoint, version, log)
	if err != nil {
		return nil, err
	}
	if store == nil {
		if store, err = newStore(s, log, meters); err != nil {
			tracing.close()
			return nil, err
		}
	}
	r := &relay{settings: s, log: log, store: store, meters: meters, tracing: tracing, guesses: &guesses{log: &sparing{log: log}}}
	limits := s.Limiter()
	if store != nil {
		limits.Store, limits.Replica = store, replicaName()
	}
	limits.Logger = log
	limits.Hooks = riftrelay.JoinHooks(meters.Hooks(), tracing.hooks(), r.newPage(), proxy.Waits(), (&outages{log: log}).hooks(), (&refusals{&sparing{log: log}}).hooks(), also)
	limiter, err := riftrelay.New(limits)
	if err != nil {
		tracing.close()
		closeStore(store)
		return nil, err
	}
	meters.Watch(limiter.Snapshot)
	meters.WatchConnections(r.connectionMetrics)
	if r.page != nil {
		r.page.Watch(limiter.Snapshot)
	}
	keeper := &keeper{file: s.StateFile, limiter: limiter, log: log, written: meters.StateWritten}
	keeper.load()

	base := newBase(s)
	pipeline := &riftrelay.Transport{
		Limiter: limiter, Base: base, Upstream: s.UpstreamURL, Timeout: s.UpstreamTimeout, Retry: s.Retry,
	}

	health := &health{state: limiter.Snapshot, exposed: r.exposed}
	local := map[string]http.Handler{
		"/healthz": http.HandlerFunc(health.alive),
		"/readyz":  http.HandlerFunc(health.public),
	}
	local["/metrics"] = metricsOnRelay(s, meters)
	r.limiter, r.pipeline, r.base, r.health, r.keeper = limiter, pipeline, base, health, keeper
	keys := s.Keys()
	r.keys.Store(&keys)
	var explore http.Handler
	if s.EnableSwagger {
		o := explorer.RelayOptions{Table: s.Table, Tokens: len(s.Clients) > 0}
		for _, b := range s.Budgets {
			o.Budgets = append(o.Budgets, b.Name)
		}
		explore = explorer.Handler(explorer.Relay(o))
	}
	if s.CertFile != "" {
		r.certificate = &certificate{read: s.Certificate}
		if _, err := r.certificate.load(); err != nil {
			tracing.close()
			return nil, fmt.Errorf("TLS_CERT_FILE: %w", err)
		}
	}
	connect, door, err := connecting(s, r.certificate)
	if err != nil {
		tracing.close()
		return nil, err
	}
	r.clients = s.Clients
	handler, err := proxy.New(proxy.Options{
		Secret: func(text string) bool { return holdsKey(text, *r.keys.Load()) }, WrongToken: func(q *http.Request) { r.guesses.wrong(q, "client") },
		Transport: pipeline, Table: s.Table, Keys: func() []string { return keyNames(*r.keys.Load()) },
		Version: version, AdminAddr: s.Admin, Local: local, Explorer: explore, Observer: meters, Trace: tracing.enters(), Logger: log,
		StripRateHeaders: s.StripRateHeaders, MaxBody: s.MaxBody, MaxWait: s.AdmissionTimeout, Limits: limiter.Limits, Connect: connect,
		Clients: clientsOf(s.Clients), Origins: s.Origins, Hosts: s.Hosts, TLSOnly: s.CertFile != "",
	})
	if err != nil {
		tracing.close()
		_ = limiter.Close() // never fails
		closeStore(store)
		return nil, fmt.Errorf("relay: %w", err)
	}

	r.handler = handler
	r.front = newServer("LISTEN_ADDR and PORT", s.Listen, handler, frontLimits(s), log)
	if door != nil {
		door.serves = handler.Serves
		r.front.door = door
		if connect != nil {
			r.tunnels = connect.Tunnels
			meters.WatchTunnels(r.tunnelTraffic)
		}
	}
	if s.Admin != "" {
		var scrape http.Handler
		if s.EnableMetrics {
			scrape = meters.Handler()
		}
		r.admin = newServer("ADMIN_ADDR", s.Admin, r.newAdmin(scrape), adminLimits(), log)
	}
	return r, nil
}
