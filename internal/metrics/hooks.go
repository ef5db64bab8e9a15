package metrics

import (
	"cmp"
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"riftrelay"
)

// Hooks returns those that count every admission, every answer and every change.
func (m *Metrics) Hooks() riftrelay.Hooks {
	return riftrelay.Hooks{Admission: m.Admission, Answer: m.Answer, Change: m.Change}
}

// admissions are the ends of waits.
type admissions struct {
	total  *series[admissionKey, prometheus.Counter]
	waited *series[waitKey, prometheus.Observer]
}

type admissionKey struct {
	servedKey
	outcome string
	budget  string
}

type waitKey struct {
	servedKey // coarse
	budget    string
}

const (
	outcomeAllowed  = "allowed"
	outcomeCanceled = "canceled"
	outcomeOther    = "rejected_other"
)

// outcomes are the labels of the reasons. Some differ from their reasons, since
// dashboards of the relay's first version know them so.
var outcomes = map[riftrelay.Reason]string{
	riftrelay.ReasonQueueFull:      "rejected_queue_full",
	riftrelay.ReasonDeadline:       "rejected_deadline",
	riftrelay.ReasonTimeout:        "rejected_timeout",
	riftrelay.ReasonNoKey:          "rejected_no_available_key",
	riftrelay.ReasonShuttingDown:   "shutting_down",
	riftrelay.ReasonInvalidRoute:   "rejected_invalid_route",
	"invalid_token_index":          "rejected_invalid_token_index",
	riftrelay.ReasonUnknownKey:     "rejected_invalid_token_index",
	riftrelay.ReasonInvalidMaxWait: "rejected_invalid_max_wait",
	riftrelay.ReasonInvalidBudget:  "rejected_invalid_budget",

	// Who calls, or from where: the proxy's own.
	"unauthorized":        "rejected_unauthorized",
	"proxy_authorization": "rejected_unauthorized",
	"client_forbidden":    "rejected_client_forbidden",
	"cross_origin":        "rejected_cross_origin",
	"host_not_allowed":    "rejected_host_not_allowed",
	"tls_required":        "rejected_tls_required",
}

func outcome(e riftrelay.AdmissionEvent) string {
	switch {
	case e.Outcome == riftrelay.OutcomeCanceled:
		return outcomeCanceled
	case e.Reason == "":
		return outcomeAllowed
	}
	return cmp.Or(outcomes[e.Reason], outcomeOther)
}

func (m *Metrics) newAdmissions(r prometheus.Registerer) admissions {
	reg := registerer{r}
	total := reg.counter("admission_total",
		"Tries to be admitted, by outcome: allowed, canceled (the client left), or refused and why. Region and endpoint are empty for what was refused before it had a route.",
		"outcome", "region", "endpoint", "priority", "budget_id")
	waited := reg.histogram("queue_wait_seconds",
		"How long calls waited for admission, those included that were refused in the end. Bucket is region:endpoint.", waitBuckets, "bucket", "priority", "budget_id")
	rest := servedKey{place: elsewhere}
	a := admissions{
		total: newSeries(admissionKey{rest, outcomeOther, other}, func(k admissionKey) prometheus.Counter {
			region, endpoint := m.labels(k.place)
			return total.WithLabelValues(k.outcome, region, endpoint, k.priority.String(), k.budget)
		}),
		waited: newSeries(waitKey{rest, other}, func(k waitKey) prometheus.Observer {
			return waited.WithLabelValues(m.bucket(k.place), k.priority.String(), k.budget)
		}),
	}
	// Sums over outcomes are 0 before there is one, not nothing.
	a.of(riftrelay.AdmissionEvent{}, place{})
	a.of(riftrelay.AdmissionEvent{Outcome: riftrelay.OutcomeCanceled}, place{})
	for reason := range outcomes {
		a.of(riftrelay.AdmissionEvent{Reason: reason}, place{})
	}
	return a
}

func (a *admissions) of(e riftrelay.AdmissionEvent, at place) prometheus.Counter {
	return a.total.of(admissionKey{servedKey{at, e.Priority}, outcome(e), budget(e)})
}

// Admission counts the end of one wait.
func (m *Metrics) Admission(_ context.Context, e riftrelay.AdmissionEvent) {
	at := m.place(e.Route)
	m.admitted.of(e, at).Inc()
	if e.Waited > 0 || e.Outcome == riftrelay.OutcomeAdmitted { // what was refused at once didn't wait
		m.admitted.waited.of(waitKey{servedKey{m.coarse(at), e.Priority}, budget(e)}).Observe(e.Waited.Seconds())
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
	priority riftrelay.Priority
	code     int
}

type limitedKey struct {
	keyedPlace
	kind riftrelay.LimitKind
}

var causes = [3]string{cause429: "429", causeStatus: "status", causeError: "error"}

const (
	cause429 = iota
	causeStatus
	causeError
)

func (m *Metrics) newAnswers(r prometheus.Registerer) answers {
	reg := registerer{r}
	total := reg.counter("upstream_responses_total",
		"Tries at Riot, by the status of the answer. Without an answer: 499 when the client left, 504 after UPSTREAM_TIMEOUT, otherwise 502. Key is the name of the key, empty for calls without one.",
		"code", "region", "endpoint", "priority", "key")
	took := reg.histogram("upstream_duration_seconds",
		"Time from a call's admission to the head of Riot's answer.", upstreamBuckets, "region", "endpoint")
	limited := reg.counter("upstream_429_total",
		"429 answers of Riot, by what they limit.", "key", "region", "endpoint", "type")
	violations := reg.counter("violations_total",
		"429 answers of Riot that say that we went over a limit.", "key", "region", "endpoint")
	retries := reg.counter("retries_total", "Calls sent again, by the answer that they had before: 429, another status, or an error.", "cause")

	rest := keyedPlace{elsewhere, other}
	a := answers{
		total: newSeries(answerKey{keyedPlace: rest}, func(k answerKey) prometheus.Counter {
			region, endpoint := m.labels(k.place)
			return total.WithLabelValues(code(k.code), region, endpoint, k.priority.String(), k.key)
		}),
		took: newSeries(elsewhere, func(p place) prometheus.Observer {
			region, endpoint := m.labels(p)
			return took.WithLabelValues(region, endpoint)
		}),
		limited: newSeries(limitedKey{keyedPlace: rest}, func(k limitedKey) prometheus.Counter {
			region, endpoint := m.labels(k.place)
			return limited.WithLabelValues(k.key, region, endpoint, string(k.kind))
		}),
		violations: newSeries(rest, func(k keyedPlace) prometheus.Counter {
			region, endpoint := m.labels(k.place)
			return violations.WithLabelValues(k.key, region, endpoint)
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
	status := e.Status
	if status == 0 {
		status = noAnswer(e.Err)
	}
	m.upstream.total.of(answerKey{at, e.Priority, status}).Inc()
	if e.Status != 0 {
		m.upstream.took.of(m.coarse(at.place)).Observe(e.Duration.Seconds())
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
