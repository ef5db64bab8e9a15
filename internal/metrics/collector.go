package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"riftrelay"
)

// Watch adds the state of the limiter: state is called once for each scrape. It
// may be called once.
func (m *Metrics) Watch(state func() riftrelay.Snapshot) {
	m.registry.MustRegister(&collector{state: state, metrics: m})
}

// collector shows a snapshot, all of it from the same moment.
type collector struct {
	state   func() riftrelay.Snapshot
	metrics *Metrics
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	window = []string{"key", "region", "endpoint", "scope", "window"}
	share  = []string{"budget_id", "key", "region", "window"} // the methods' are in the state alone: they would be too many
)

var (
	descLimit    = desc("limit", "Calls that Riot allows in the window. Window is its length in seconds; endpoint is empty for the application's scope, key for calls without one.", window...)
	descUsed     = desc("limit_used", "Calls that count against the window now: our own, in flight or not, and those of others.", window...)
	descOthers   = desc("limit_others", "Calls of others on the same key that count against the window now.", window...)
	descInFlight = desc("limit_in_flight", "Own calls of the window that Riot hasn't answered yet.", window...)
	descReset    = desc("limit_reset_seconds", "Time until all that counts against the window now has expired.", window...)
	descBudget   = desc("budget_limit", "Calls that the budget may use of the application's window.", share...)
	descSpent    = desc("budget_used", "Calls of the budget that count against the application's window now.", share...)
	descDepth    = desc("queue_depth", "Calls that wait. Bucket is region:endpoint.", "bucket", "priority")
	descMargin   = desc("margin_seconds", "Longest way of a call to Riot that is allowed for.")
	descCooling  = desc("cooldowns", "Scopes that are stopped after a 429.", "scope")
	descPanics   = desc("hook_panics_total", "Panics of what listens to the limiter, metrics and traces, that were contained.")
	descKey      = desc("key_state", "1 for the state that the key is in: usable, suspect (Riot doesn't know it) or disabled.", "key", "state")
	descBreaker  = desc("breaker_level", "How often the limits of a scope are halved, after more violations than are tolerated; none while none is. Endpoint is empty for the application's scope.", "key", "region", "endpoint")

	descStoreUp    = desc("store_up", "1 while the shared store can be reached. None without one.")
	descStoreAlone = desc("store_share_mode", "1 while this replica goes on within its share of the limits, the store being away.")
	descReplicas   = desc("store_replicas", "Replicas that live, this one among them.")
	descStoreTrip  = desc("store_trip_seconds", "Recent way to the store and back.")
	descReturned   = desc("store_permits_returned_total", "Permits of the store that were given back unused.")
	descVoid       = desc("store_permits_void_total", "Permits of the store that came too late, or were not used in time: their charges end by themselves.")
)

// Describe is part of prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descLimit, descUsed, descOthers, descInFlight, descReset, descBudget, descSpent, descDepth, descMargin, descCooling, descPanics, descKey, descBreaker,
		descStoreUp, descStoreAlone, descReplicas, descStoreTrip, descReturned, descVoid,
	} {
		to <- d
	}
}

// Collect is part of prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.state()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(descMargin, s.Margin.Seconds())
	to <- prometheus.MustNewConstMetric(descPanics, prometheus.CounterValue, float64(s.HookPanics))
	for _, k := range s.Keys {
		for _, state := range keyStates {
			gauge(descKey, one(k.State == state), k.Name, string(state))
		}
	}
	if st := s.Store; st != nil {
		gauge(descStoreUp, one(st.Away == ""))
		gauge(descStoreAlone, one(st.Alone))
		gauge(descReplicas, float64(st.Replicas))
		gauge(descStoreTrip, st.Trip.Seconds())
		to <- prometheus.MustNewConstMetric(descReturned, prometheus.CounterValue, float64(st.Returned))
		to <- prometheus.MustNewConstMetric(descVoid, prometheus.CounterValue, float64(st.Void))
	}
	cooling := map[string]int{scopeApplication: 0, scopeMethod: 0}
	for _, scope := range s.Scopes {
		kind := scopeMethod
		if scope.Method == "" {
			kind = scopeApplication
		}
		if scope.Cooldown > 0 {
			cooling[kind]++
		}
		// The limits of unlisted hosts can't be added up, and clients could
		// make up any number of them.
		if c.metrics.region(scope.Host) == other {
			continue
		}
		endpoint := c.metrics.endpoint(scope.Method)
		if scope.Halved > 0 {
			gauge(descBreaker, float64(scope.Halved), scope.Key, scope.Host, endpoint)
		}
		for _, w := range scope.Windows {
			labels := []string{scope.Key, scope.Host, endpoint, kind, length(w)}
			gauge(descLimit, float64(w.Limit), labels...)
			gauge(descUsed, float64(w.Used), labels...)
			gauge(descOthers, float64(w.Others), labels...)
			gauge(descInFlight, float64(w.InFlight), labels...)
			gauge(descReset, w.ResetIn.Seconds(), labels...)
		}
		if scope.Method != "" {
			continue
		}
		for _, b := range scope.Budgets {
			for _, w := range b.Windows {
				gauge(descBudget, float64(w.Limit), b.Name, scope.Key, scope.Host, length(w))
				gauge(descSpent, float64(w.Used), b.Name, scope.Key, scope.Host, length(w))
			}
		}
	}
	for kind, n := range cooling {
		gauge(descCooling, float64(n), kind)
	}
	type line struct {
		bucket   string
		priority riftrelay.Priority
	}
	depth := make(map[line]int, len(s.Queues)) // unlisted hosts share a bucket
	for k := range *c.metrics.calls.inFlight.ready.Load() {
		if k.method != nil { // 0, not nothing, for what was called before
			depth[line{c.metrics.bucket(k.place), k.priority}] = 0
		}
	}
	for _, q := range s.Queues {
		depth[line{c.metrics.region(q.Host) + ":" + c.metrics.endpoint(q.Method), q.Priority}] += q.Depth
	}
	for l, n := range depth {
		gauge(descDepth, float64(n), l.bucket, l.priority.String())
	}
}

var keyStates = [...]riftrelay.KeyCondition{riftrelay.KeyUsable, riftrelay.KeySuspect, riftrelay.KeyDisabled}

const (
	scopeApplication = "application"
	scopeMethod      = "method"
)

// length is a window's, in seconds.
func length(w riftrelay.WindowState) string {
	return strconv.FormatFloat(w.Window.Seconds(), 'f', -1, 64)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
