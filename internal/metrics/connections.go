package metrics

import "github.com/prometheus/client_golang/prometheus"

// Connections are what one listener has. Listeners and states are words of ours.
type Connections struct {
	Listener        string
	Most            int
	Open            map[string]int // by state
	Closed, Refused uint64
}

// WatchConnections adds clients' connections: list is called once for each scrape.
// It may be called once.
func (m *Metrics) WatchConnections(list func() []Connections) {
	m.registry.MustRegister(connections(list))
}

type connections func() []Connections

var (
	descConnections        = desc("connections", "Connections of clients: silent, begun (half a head or handshake), active (with a request), idle, ending.", "listener", "state")
	descConnectionsMax     = desc("connections_max", "Connections that a listener may have at once.", "listener")
	descConnectionsClosed  = desc("connections_closed_total", "Connections without a request that were closed because another client found no room.", "listener")
	descConnectionsRefused = desc("connections_refused_total", "Connections that were refused because their address had its share of calls.", "listener")
)

// Describe is part of prometheus.Collector.
func (c connections) Describe(to chan<- *prometheus.Desc) {
	to <- descConnections
	to <- descConnectionsMax
	to <- descConnectionsClosed
	to <- descConnectionsRefused
}

// Collect is part of prometheus.Collector.
func (c connections) Collect(to chan<- prometheus.Metric) {
	for _, l := range c() {
		for state, n := range l.Open {
			to <- prometheus.MustNewConstMetric(descConnections, prometheus.GaugeValue, float64(n), l.Listener, state)
		}
		to <- prometheus.MustNewConstMetric(descConnectionsMax, prometheus.GaugeValue, float64(l.Most), l.Listener)
		to <- prometheus.MustNewConstMetric(descConnectionsClosed, prometheus.CounterValue, float64(l.Closed), l.Listener)
		to <- prometheus.MustNewConstMetric(descConnectionsRefused, prometheus.CounterValue, float64(l.Refused), l.Listener)
	}
}
