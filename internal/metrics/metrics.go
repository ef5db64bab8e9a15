// Package metrics turns what the limiter and the proxy tell into Prometheus
// metrics, prefix riftrelay_, on a registry of its own.
//
// Three sources: hooks.go and changes.go count admissions, answers and changes
// (riftrelay.Hooks), calls.go counts what clients got (the proxy's observer),
// collector.go reads the limits out of one riftrelay.Snapshot for each scrape.
// tunnels.go and store.go have what only some relays have.
//
// Clients choose paths and hosts, so none of their words becomes a label: regions
// are the hosts of the method table, endpoints are its templates, keys and budgets
// are named by configuration, and what has no route has empty labels. So the
// most series that there can be is known, whatever is asked for; series.go
// bounds the rest. labels.go has the scheme of the labels.
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

	// Table has the hosts and methods that may be labels. Any other host, which
	// is possible when unknown hosts are forwarded, is counted as "other".
	// Required.
	Table *route.Table

	// WithoutEndpoints leaves the endpoint out of the histograms.
	WithoutEndpoints bool
}

// Metrics counts. It has riftrelay.Hooks, is an observer for the proxy, and
// safe for use by many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	regions  map[string]bool // hosts that may be labels
	verbs    map[string]bool // templates that have a GET beside other verbs
	plain    bool            // histograms have no endpoints

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
	m := &Metrics{registry: prometheus.NewRegistry(), regions: make(map[string]bool), verbs: make(map[string]bool), plain: o.WithoutEndpoints}
	for _, h := range o.Table.Hosts() {
		m.regions[h] = true
	}
	for _, method := range o.Table.Methods() {
		if method.Verb == "GET" {
			m.verbs[method.Template] = true
		}
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.calls = m.newCalls(m.registry)
	m.admitted = m.newAdmissions(m.registry)
	m.upstream = m.newAnswers(m.registry)
	m.changes = newChanges(m.registry)
	m.clients = newClients(m.registry)
	m.ends = m.newDeprecated(m.registry)
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
