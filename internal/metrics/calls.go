package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"riftrelay"
	"riftrelay/route"
)

// calls are what clients asked and got: the proxy's side.
type calls struct {
	inFlight prometheus.Gauge
	total    *series[callKey, prometheus.Counter]
	took     *series[tookKey, prometheus.Observer]
}

type callKey struct {
	place
	code   int
	source string
}

type tookKey struct{ host, source string }

// Buckets in seconds: from a refusal on the spot to the longest queue.
var (
	callBuckets     = []float64{.001, .005, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	waitBuckets     = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	upstreamBuckets = []float64{.01, .025, .05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 90}
)

func newCalls(r prometheus.Registerer) calls {
	reg := registerer{r}
	total := reg.counter("http_requests_total",
		"Calls that clients made, by what they got. Code 499: the client left first. Source: who answered, riot or relay. Host and method are empty when the call had no route.",
		"host", "method", "code", "source")
	took := reg.histogram("request_duration_seconds",
		"Time from a call's arrival to the end of its answer, waiting included.", callBuckets, "host", "source")
	c := calls{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "http_inflight", Help: "Calls of clients that are being served, the waiting ones included.",
		}),
		total: newSeries(callKey{place: elsewhere}, func(k callKey) prometheus.Counter {
			host, method := k.labels()
			return total.WithLabelValues(host, method, code(k.code), k.source)
		}),
		took: newSeries(tookKey{other, ""}, func(k tookKey) prometheus.Observer { return took.WithLabelValues(k.host, k.source) }),
	}
	r.MustRegister(c.inFlight)
	return c
}

// code is a status as a label. 0 is the absence of one.
func code(status int) string {
	switch {
	case status == 0:
		return "none"
	case status < 100 || status > 599:
		return other
	}
	return strconv.Itoa(status)
}

// Started counts a call that came in.
func (m *Metrics) Started() { m.calls.inFlight.Inc() }

// Done counts a call that Started had counted, with the status that its client
// got and who gave it: "riot" or "relay".
func (m *Metrics) Done(r route.Route, status int, source string, took time.Duration) {
	m.calls.inFlight.Dec()
	p := m.place(r)
	m.calls.total.of(callKey{p, status, source}).Inc()
	m.calls.took.of(tookKey{p.host, source}).Observe(took.Seconds())
}

// Refused counts a call that was refused before it reached the limiter.
func (m *Metrics) Refused(reason riftrelay.Reason) { m.admitted.of(reason).Inc() }
