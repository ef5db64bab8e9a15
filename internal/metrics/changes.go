package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"riftrelay"
)

func newChanges(r prometheus.Registerer) *prometheus.CounterVec {
	total := registerer{r}.counter("changes_total",
		"Changes of limits, cool-downs and keys, by kind: limit_reached counts how often calls began to wait for a full window.", "kind")
	for _, kind := range [...]riftrelay.ChangeKind{
		riftrelay.ChangeLimitChanged, riftrelay.ChangeLimitReached, riftrelay.ChangeCooldownBegan, riftrelay.ChangeLimitsHalved, riftrelay.ChangeKeySuspended,
		riftrelay.ChangeStoreAway,
	} {
		total.WithLabelValues(string(kind)) // for alerts: 0, not nothing
	}
	return total
}

// Change counts what has changed.
func (m *Metrics) Change(e riftrelay.ChangeEvent) {
	m.changes.WithLabelValues(string(e.Kind)).Inc()
}
