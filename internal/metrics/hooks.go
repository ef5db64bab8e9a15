package metrics

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"riftrelay"
	"riftrelay/limit"
)

// Metrics hears of every admission, every answer and every change.
var _ riftrelay.Hooks = (*Metrics)(nil)

// admissions are the ends of waits.
type admissions struct {
	allowed, canceled, unknown prometheus.Counter

	rejected map[riftrelay.Reason]prometheus.Counter // never written to once made
	waited   *series[waitKey, prometheus.Observer]
}

type waitKey struct {
	place
	priority riftrelay.Priority
}

// outcomes are the labels of the reasons. One is shorter than its reason, since
// dashboards of the relay before this one know it so.
var outcomes = map[riftrelay.Reason]string{
	riftrelay.ReasonQueueFull:         "rejected_queue_full",
	riftrelay.ReasonDeadline:          "rejected_deadline",
	riftrelay.ReasonTimeout:           "rejected_timeout",
	riftrelay.ReasonNoKey:             "rejected_no_key",
	riftrelay.ReasonShuttingDown:      "rejected_shutting_down",
	riftrelay.ReasonInvalidRoute:      "rejected_invalid_route",
	riftrelay.ReasonInvalidTokenIndex: "rejected_invalid_token_index",
	riftrelay.ReasonInvalidMaxWait:    "rejected_invalid_max_wait",
	riftrelay.ReasonInvalidBudget:     "rejected_invalid_budget",

	// Who calls, or from where: the proxy's own.
	"unauthorized":        "rejected_unauthorized",
	"proxy_authorization": "rejected_unauthorized",
	"client_forbidden":    "rejected_client_forbidden",
	"cross_origin":        "rejected_cross_origin",
	"host_not_allowed":    "rejected_host_not_allowed",
	"tls_required":        "rejected_tls_required",
}

func newAdmissions(r prometheus.Registerer) admissions {
	reg := registerer{r}
	total := reg.counter("admission_total",
		"Tries to be admitted, by outcome: allowed, canceled (the client left) or rejected and why.", "outcome")
	waited := reg.histogram("admission_wait_seconds",
		"How long the calls that were admitted had waited.", waitBuckets, "host", "method", "priority")
	a := admissions{
		allowed:  total.WithLabelValues("allowed"),
		canceled: total.WithLabelValues("canceled"),
		unknown:  total.WithLabelValues("rejected_other"),
		rejected: make(map[riftrelay.Reason]prometheus.Counter, len(outcomes)),
		waited: newSeries(waitKey{place: elsewhere}, func(k waitKey) prometheus.Observer {
			host, method := k.labels()
			return waited.WithLabelValues(host, method, k.priority.String())
		}),
	}
	for reason, outcome := range outcomes {
		a.rejected[reason] = total.WithLabelValues(outcome)
	}
	return a
}

func (a *admissions) of(reason riftrelay.Reason) prometheus.Counter {
	if c, ok := a.rejected[reason]; ok {
		return c
	}
	return a.unknown
}

// Admission counts the end of one wait.
func (m *Metrics) Admission(_ context.Context, e riftrelay.AdmissionEvent) {
	switch {
	case e.Gone:
		m.admitted.canceled.Inc()
	case e.Reason != "":
		m.admitted.of(e.Reason).Inc()
	default:
		m.admitted.allowed.Inc()
		m.admitted.waited.of(waitKey{m.place(e.Route), e.Priority}).Observe(e.Waited.Seconds())
	}
}

// answers are what Riot said.
type answers struct {
	total      *series[answerKey, prometheus.Counter]
	took       *series[place, prometheus.Observer]
	limited    *series[limitedKey, prometheus.Counter]
	violations *series[keyedPlace, prometheus.Counter]
	retries    [3]prometheus.Counter // by cause
}

type keyedPlace struct {
	place
	key string
}

type answerKey struct {
	keyedPlace
	code int
}

type limitedKey struct {
	keyedPlace
	kind limit.Kind
}

var causes = [3]string{cause429: "429", causeStatus: "status", causeError: "error"}

const (
	cause429 = iota
	causeStatus
	causeError
)

func newAnswers(r prometheus.Registerer) answers {
	reg := registerer{r}
	total := reg.counter("upstream_responses_total",
		"Tries at Riot, by the status of the answer; none when there was no answer. Key is the name of the key, empty for calls without one.",
		"key", "host", "method", "code")
	took := reg.histogram("upstream_duration_seconds",
		"Time from a call's admission to the head of Riot's answer.", upstreamBuckets, "host", "method")
	limited := reg.counter("upstream_429_total",
		"429 answers of Riot, by what they limit.", "key", "host", "method", "type")
	violations := reg.counter("violations_total",
		"429 answers of Riot that say that we went over a limit.", "key", "host", "method")
	retries := reg.counter("retries_total", "Calls sent again, by the answer that they had before: 429, another status, or an error.", "cause")

	rest := keyedPlace{elsewhere, other}
	a := answers{
		total: newSeries(answerKey{keyedPlace: rest}, func(k answerKey) prometheus.Counter {
			host, method := k.labels()
			return total.WithLabelValues(k.key, host, method, code(k.code))
		}),
		took: newSeries(elsewhere, func(p place) prometheus.Observer {
			host, method := p.labels()
			return took.WithLabelValues(host, method)
		}),
		limited: newSeries(limitedKey{keyedPlace: rest}, func(k limitedKey) prometheus.Counter {
			host, method := k.labels()
			return limited.WithLabelValues(k.key, host, method, k.kind.String())
		}),
		violations: newSeries(rest, func(k keyedPlace) prometheus.Counter {
			host, method := k.labels()
			return violations.WithLabelValues(k.key, host, method)
		}),
	}
	for i, cause := range causes {
		a.retries[i] = retries.WithLabelValues(cause)
	}
	return a
}

// Answer counts the end of one try at Riot.
func (m *Metrics) Answer(_ context.Context, e riftrelay.AnswerEvent) {
	at := keyedPlace{m.place(e.Route), e.Key}
	m.upstream.total.of(answerKey{at, e.Status}).Inc()
	if e.Status != 0 {
		m.upstream.took.of(at.place).Observe(e.Duration.Seconds())
	}
	if e.Status == http.StatusTooManyRequests {
		m.upstream.limited.of(limitedKey{at, e.Kind}).Inc()
		if e.Own {
			m.upstream.violations.of(at).Inc()
		}
	}
	if e.Retry {
		m.upstream.retries[cause(e.Status)].Inc()
	}
}

func cause(status int) int {
	switch status {
	case http.StatusTooManyRequests:
		return cause429
	case 0:
		return causeError
	}
	return causeStatus
}
