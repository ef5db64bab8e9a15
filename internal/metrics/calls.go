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
	inFlight *series[servedKey, prometheus.Gauge]
	total    *series[callKey, prometheus.Counter]
	took     *series[tookKey, prometheus.Observer]
}

type servedKey struct {
	place
	priority riftrelay.Priority
}

type callKey struct {
	servedKey
	code   int
	source string
}

type tookKey struct {
	region   string
	priority riftrelay.Priority
	code     int
}

// Buckets in seconds: from a refusal on the spot to the longest queue.
var (
	callBuckets     = []float64{.001, .005, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	waitBuckets     = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	upstreamBuckets = []float64{.01, .025, .05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 90}
)

func (m *Metrics) newCalls(r prometheus.Registerer) calls {
	reg := registerer{r}
	inFlight := reg.gauge("http_inflight",
		"Calls of clients that are being served, the waiting ones included.", "region", "endpoint", "priority")
	total := reg.counter("http_requests_total",
		"Calls that clients made, by what they got. Code 499: the client left first. Source: who answered, riot or relay. Region and endpoint are empty when the call had no route.",
		"region", "endpoint", "priority", "code", "source")
	took := reg.histogram("request_duration_seconds",
		"Time from a call's arrival to the end of its answer, waiting included.", callBuckets, "region", "priority", "status_code")
	rest := servedKey{place: elsewhere}
	return calls{
		inFlight: newSeries(rest, func(k servedKey) prometheus.Gauge {
			region, endpoint := m.labels(k.place)
			return inFlight.WithLabelValues(region, endpoint, k.priority.String())
		}),
		total: newSeries(callKey{servedKey: rest}, func(k callKey) prometheus.Counter {
			region, endpoint := m.labels(k.place)
			return total.WithLabelValues(region, endpoint, k.priority.String(), code(k.code), k.source)
		}),
		took: newSeries(tookKey{region: other}, func(k tookKey) prometheus.Observer {
			return took.WithLabelValues(k.region, k.priority.String(), code(k.code))
		}),
	}
}

// code is a status as a label.
func code(status int) string {
	if status < 100 || status > 599 {
		return other
	}
	return strconv.Itoa(status)
}

// Started counts a call that is being served from now on.
func (m *Metrics) Started(r route.Route, p riftrelay.Priority) {
	m.calls.inFlight.of(servedKey{m.place(r), p}).Inc()
}

// Done counts a call that Started had counted with the same route and priority,
// by the status that its client got and who sent that: "riot" or "relay".
func (m *Metrics) Done(r route.Route, p riftrelay.Priority, status int, source string, took time.Duration) {
	at := servedKey{m.place(r), p}
	m.calls.inFlight.of(at).Dec()
	m.calls.total.of(callKey{at, status, source}).Inc()
	m.calls.took.of(tookKey{at.region, p, status}).Observe(took.Seconds())
}

// Refused counts a call that was refused before it reached the limiter.
func (m *Metrics) Refused(reason riftrelay.Reason) {
	m.admitted.of(riftrelay.AdmissionEvent{Reason: reason}, place{}).Inc()
}
