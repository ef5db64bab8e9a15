package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"riftrelay/route"
)

// clientKey has the name of a configured client, never one that a call brings
// along.
type clientKey struct {
	name string
	code int
}

func newClients(r prometheus.Registerer) *series[clientKey, prometheus.Counter] {
	total := registerer{r}.counter("client_requests_total",
		"Calls by the client whose token they had, and by what they got. Only where CLIENT_TOKENS is set.", "client", "code")
	return newSeries(clientKey{name: other}, func(k clientKey) prometheus.Counter { return total.WithLabelValues(k.name, code(k.code)) })
}

// ClientDone counts a call of a client, with the status that it got.
func (m *Metrics) ClientDone(name string, status int) { m.clients.of(clientKey{name, status}).Inc() }

func (m *Metrics) newDeprecated(r prometheus.Registerer) *series[*route.Method, prometheus.Gauge] {
	ends := registerer{r}.gauge("deprecated_methods",
		"Methods that were called and that Riot is going to switch off: when, in seconds since 1970; 0 if it doesn't say.", "endpoint")
	return newSeries(elsewhere.method, func(at *route.Method) prometheus.Gauge { return ends.WithLabelValues(m.endpoint(at.String())) })
}

// Deprecated notes that Riot is going to switch a method off; the zero Time is
// none.
func (m *Metrics) Deprecated(method *route.Method, end time.Time) {
	seconds := 0.0
	if !end.IsZero() {
		seconds = float64(end.UnixMilli()) / 1000
	}
	m.ends.of(method).Set(seconds)
}
