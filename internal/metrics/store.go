package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// store counts the calls of the shared store. It is registered by Store only:
// who has no store has no series of it.
type store struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// Store adds the calls of a shared store and returns what is to be told of each:
// its name ("admit", "beat"), how long it took, and its error. It may be
// called once.
func (m *Metrics) Store() func(op string, took time.Duration, err error) {
	r := registerer{m.registry}
	s := store{
		calls: r.counter("store_calls_total", "Calls of the shared store.", "op", "result"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "store_call_seconds", Help: "Time that a call of the shared store took.",
			Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1},
		}, []string{"op"}),
	}
	m.registry.MustRegister(s.took)
	for _, op := range [...]string{"admit", "beat"} {
		s.calls.WithLabelValues(op, "failure") // for alerts: 0, not nothing
	}
	return func(op string, took time.Duration, err error) {
		result := "success"
		if err != nil {
			result = "failure"
		}
		s.calls.WithLabelValues(op, result).Inc()
		s.took.WithLabelValues(op).Observe(took.Seconds())
	}
}
