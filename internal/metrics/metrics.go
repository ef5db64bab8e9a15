// Package metrics turns what the limiter and the proxy tell into Prometheus
// metrics, prefix riftrelay_, on a registry of its own.
//
// Three sources: hooks.go and changes.go count admissions, answers and changes
// (riftrelay.Hooks), calls.go counts what clients got (the proxy's observer),
// collector.go reads the limits out of one riftrelay.Snapshot for each scrape.
// tunnels.go and store.go have what only some relays have.
//
// Clients choose paths and hosts, so none of their words becomes a label: hosts
// are those of the method table, methods are its templates, keys are named by
// configuration, and what has no route has empty labels. How many series there
// can be is thus known beforehand, whatever is asked for; series.go bounds the
// rest.
package metrics

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"riftrelay/route"
)

const namespace = "riftrelay"

// Options describe a Metrics.
type Options struct {
	// Version is the label of build_info. Empty means "dev".
	Version string

	// Hosts may be labels: those of the method table. Any other, which is
	// possible when unknown hosts are forwarded, is counted as "other".
	Hosts []string
}

// Metrics counts. It is a riftrelay.Hooks and an observer for the proxy, and
// safe for use by many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	hosts    map[string]bool

	calls    calls
	admitted admissions
	upstream answers
	changes  *prometheus.CounterVec
	clients  *series[clientKey, prometheus.Counter]
	ends     *series[*route.Method, prometheus.Gauge]
	reloads  tries
	writes   tries
}

// New makes a Metrics with everything at zero.
func New(o Options) *Metrics {
	if o.Version == "" {
		o.Version = "dev"
	}
	m := &Metrics{registry: prometheus.NewRegistry(), hosts: make(map[string]bool, len(o.Hosts))}
	for _, h := range o.Hosts {
		m.hosts[h] = true
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.calls = newCalls(m.registry)
	m.admitted = newAdmissions(m.registry)
	m.upstream = newAnswers(m.registry)
	m.changes = newChanges(m.registry)
	m.clients = newClients(m.registry)
	m.ends = newDeprecated(m.registry)
	m.reloads = newTries(m.registry, "config_reloads_total", "Times that keys, tokens of clients or the certificate were read again: success, or failure, which changes nothing.")
	m.writes = newTries(m.registry, "state_writes_total", "Times that STATE_FILE was written: success, or failure, after which a restart knows less.")
	return m
}

// tries counts what succeeds or fails.
type tries struct{ success, failure prometheus.Counter }

func newTries(r prometheus.Registerer, name, help string) tries {
	v := registerer{r}.counter(name, help, "result")
	return tries{v.WithLabelValues("success"), v.WithLabelValues("failure")}
}

func (t tries) ended(ok bool) {
	if ok {
		t.success.Inc()
	} else {
		t.failure.Inc()
	}
}

// Reloaded counts a reading of the keys while the relay serves.
func (m *Metrics) Reloaded(ok bool) { m.reloads.ended(ok) }

// StateWritten counts a writing of STATE_FILE.
func (m *Metrics) StateWritten(ok bool) { m.writes.ended(ok) }

// Registry is where further parts register what they count.
func (m *Metrics) Registry() prometheus.Registerer { return m.registry }

// Handler serves the metrics. Few scrapes are served at a time: each takes a
// snapshot of the limiter.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		MaxRequestsInFlight: 4,
	})
}

// other stands for what must not become a label of its own.
const other = "other"

// host is the label of a route's host.
func (m *Metrics) host(name string) string {
	if name == "" || m.hosts[name] {
		return name
	}
	return other
}
