package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/internal/config"
	"riftrelay/internal/dashboard"
	"riftrelay/internal/explorer"
	"riftrelay/route"
)

// operator does what is wanted of the keys through the admin API. The log hears
// of what changes by the hooks.
type operator struct {
	*riftrelay.Limiter
	pipeline *riftrelay.Transport
	health   *health
	log      *slog.Logger
}

// Estimate is the pipeline's, which knows on which key a player's id has to go.
func (o operator) Estimate(r route.Route, path string, calls int, with riftrelay.Options) (time.Duration, riftrelay.Wait, error) {
	return o.pipeline.Estimate(r, path, calls, with)
}

func (o operator) DisableKey(name string) error {
	defer o.health.forget()
	return o.Limiter.DisableKey(name)
}

func (o operator) EnableKey(name string) error {
	defer o.health.forget()
	return o.Limiter.EnableKey(name)
}

func (o operator) RecheckKey(name string) error {
	err := o.Limiter.RecheckKey(name)
	if err == nil {
		o.log.Info("key is to be rechecked by the next call", "key", name)
	}
	return err
}

// newAdmin makes what the admin listener serves. metrics may be nil.
func (r *relay) newAdmin(metrics http.Handler) http.Handler {
	s := r.settings
	guard := admin.Guard{Token: s.AdminToken(), Loopback: func() bool { return !beyondLoopback(r.admin.listener) }, Wrong: func(q *http.Request) {
		r.meters.Refused("admin_unauthorized")
		r.guesses.wrong(q, "admin")
	}}
	description := admin.Describe(config.BuildVersion())

	mux := http.NewServeMux()
	mux.Handle(explorer.Root, guard.Local(explorer.Handler(description)))
	mux.HandleFunc("/healthz", r.health.alive)
	mux.Handle("/readyz", guard.Local(http.HandlerFunc(r.health.ready)))
	mux.Handle(admin.Root, admin.Handler(admin.Options{
		Limiter: operator{r.limiter, r.pipeline, r.health, r.log}, Matcher: s.Table, Guard: guard, Description: explorer.Description(description),
		Clients: r.clientStates, Connections: r.connectionStates,
		Reload: func() (admin.Reloaded, error) {
			r.reloadClients("admin API")
			r.reloadCertificate("admin API")
			return r.reload("admin API")
		},
	}))
	if metrics != nil {
		mux.Handle("/metrics", guard.Local(metrics))
	}
	if s.EnablePprof {
		for path, profile := range map[string]http.HandlerFunc{
			"": pprof.Index, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
		} {
			mux.Handle("/debug/pprof/"+path, guard.Local(guard.Secret(profile))) // a profile of the heap can hold keys; the command line is not served, for flags can
		}
	}
	mux.Handle("/", guard.Local(r.page.Handler()))
	return mux
}

// newPage makes the page of the admin listener, which hears of everything; nil
// without that listener.
func (r *relay) newPage() riftrelay.Hooks {
	s := r.settings
	if s.Admin == "" {
		return riftrelay.Hooks{}
	}
	r.page = dashboard.New(dashboard.Options{
		Version: config.BuildVersion(),
		Relay:   r.url,
		Clients: r.clientRows,
		Exposed: r.exposed,

		Connections: r.connectionsOnPage,

		Index: adminIndex(s),

		Explorer: s.EnableSwagger,
		Metrics:  s.EnableMetrics,
	})
	return r.page.Hooks()
}

// url is where calls are taken.
func (r *relay) url() string {
	scheme := "http"
	if r.certificate != nil {
		scheme = "https" // plain http is refused
	}
	return scheme + "://" + r.front.listener.Addr().String()
}

// pageURL is the page as a browser on this machine reaches it; "" for an admin
// listener that is off.
func pageURL(admin string) string {
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// adminIndex tells programs what the admin listener serves.
func adminIndex(s *config.Settings) string {
	paths := append([]string{"/healthz", "/readyz", explorer.Root}, admin.Paths[:]...)
	if s.EnableMetrics {
		paths = append(paths, "/metrics")
	}
	if s.EnablePprof {
		paths = append(paths, "/debug/pprof/")
	}
	slices.Sort(paths)
	return fmt.Sprintf("RiftRelay %s, for operators; in a browser this is the page\n\n%s\n", config.BuildVersion(), strings.Join(paths, "\n"))
}
