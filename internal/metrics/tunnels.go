package metrics

import "github.com/prometheus/client_golang/prometheus"

// Tunnel is what the tunnels to one host do. Hosts are those of TUNNEL_HOSTS, so
// the operator says how many series there are.
type Tunnel struct {
	Host         string
	Open, Opened int64
	Up, Down     int64 // bytes
}

// WatchTunnels adds the tunnels to hosts other than Riot's API: list is called
// once for each scrape. It may be called once; who has no tunnels has no series
// of them.
func (m *Metrics) WatchTunnels(list func() []Tunnel) { m.registry.MustRegister(tunnels(list)) }

type tunnels func() []Tunnel

var (
	descTunnels     = desc("tunnels", "Tunnels that are open to a host of TUNNEL_HOSTS.", "host")
	descTunnelsMade = desc("tunnels_opened_total", "Tunnels that were opened to a host of TUNNEL_HOSTS.", "host")
	descTunnelBytes = desc("tunnel_bytes_total", "Bytes through tunnels, unseen: up, of clients, and down, to them.", "host", "direction")
)

// Describe is part of prometheus.Collector.
func (t tunnels) Describe(to chan<- *prometheus.Desc) {
	to <- descTunnels
	to <- descTunnelsMade
	to <- descTunnelBytes
}

// Collect is part of prometheus.Collector.
func (t tunnels) Collect(to chan<- prometheus.Metric) {
	for _, h := range t() {
		to <- prometheus.MustNewConstMetric(descTunnels, prometheus.GaugeValue, float64(h.Open), h.Host)
		to <- prometheus.MustNewConstMetric(descTunnelsMade, prometheus.CounterValue, float64(h.Opened), h.Host)
		to <- prometheus.MustNewConstMetric(descTunnelBytes, prometheus.CounterValue, float64(h.Up), h.Host, "up")
		to <- prometheus.MustNewConstMetric(descTunnelBytes, prometheus.CounterValue, float64(h.Down), h.Host, "down")
	}
}
