package daemon

import (
	"net/http"
	"net/url"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/metrics"
)

// newBase makes the transport to Riot.
func newBase(s *config.Settings) *http.Transport {
	base := riftrelay.NewBase(riftrelay.BaseOptions{Proxy: s.UpstreamProxy, RootCAs: s.UpstreamCAs, DisableHTTP2: !s.UpstreamHTTP2})
	reserve(base, openFiles())
	if s.ProxyOf != nil {
		base.Proxy = func(r *http.Request) (*url.URL, error) { return s.ProxyOf(r.URL) }
	}
	return base
}

// metricsOnRelay serves /metrics on the relay's port: the metrics, or where they are.
func metricsOnRelay(s *config.Settings, meters *metrics.Metrics) http.Handler {
	if s.MetricsOnRelay && s.EnableMetrics {
		return meters.Handler()
	}
	message := "ENABLE_METRICS is false: there are no metrics"
	switch {
	case s.EnableMetrics && s.Admin != "":
		message = "the metrics are on ADMIN_ADDR, http://" + s.Admin + "/metrics; METRICS_ON_RELAY=true serves them here as well"
	case s.EnableMetrics:
		message = "ADMIN_ADDR is off, so no port serves the metrics; METRICS_ON_RELAY=true serves them here"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if readOnly(w, r) {
			writeJSON(w, http.StatusNotFound, map[string]any{"status": map[string]any{"message": message, "status_code": http.StatusNotFound}})
		}
	})
}
