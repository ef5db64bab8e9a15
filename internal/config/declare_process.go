package config

// declareProcess lists the settings of the process itself: its files, its end,
// and how it is watched.
func declareProcess(in *Invocation, d *draft) []setting {
	s := in.Settings
	return []setting{
		{
			name: "CONFIG_FILE", group: groupLife, help: "YAML file of settings: queue_total: 5000",
			more:  "Keys are the names of settings in lower case. Not settable in the file itself.",
			value: file(&d.configFile, "a readable YAML file"),
		},
		{
			name: "STATE_FILE", group: groupLife, help: "file that keeps limits and their use over restarts",
			more: "Written every 5 seconds and at the end, read at the start; it contains no key. Its directory must be writable: the file is replaced as a whole. " +
				"Empty: a start knows nothing of before.",
			value: file(&s.StateFile, "a file in a directory that can be written"),
		},
		{
			name: "SHUTDOWN_TIMEOUT", group: groupLife, def: "20s", help: "time to serve what is queued when stopping",
			more:  "0: what is queued is refused at once. Calls under way finish in either case, within this time.",
			value: within(&s.ShutdownTimeout, 0, longest, ""),
		},

		{
			name: "LOG_LEVEL", group: groupObserve, def: "info", help: "debug, info, warn or error",
			more:  "`debug` has a line for each request.",
			value: logLevel(&s.LogLevel),
		},
		{
			name: "OTEL_EXPORTER_OTLP_ENDPOINT", group: groupObserve, help: "OpenTelemetry collector for traces",
			more: "As in `http://collector:4318`, which is sent OTLP over HTTP at `/v1/traces`. The further variables of OpenTelemetry, such as `OTEL_SERVICE_NAME`, " +
				"`OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_TRACES_SAMPLER`, are read from the environment. Empty: no traces.",
			value: otlpEndpoint(&s.TraceEndpoint),
		},
		{
			name: "LOG_FORMAT", group: groupObserve, def: "auto", help: "auto, json or text; auto = text on a terminal",
			value: choice(&s.LogFormat, "auto", "json", "text"),
		},
		{
			name: "ENABLE_METRICS", group: groupObserve, def: "true", help: "serve /metrics on the admin address",
			value: toggle(&s.EnableMetrics),
		},
		{
			name: "METRICS_ENDPOINTS", group: groupObserve, def: "true", help: "label histograms with the endpoint",
			more: "`false` leaves the label `endpoint` out of `riftrelay_upstream_duration_seconds`, and the endpoint out of the label `bucket` of " +
				"`riftrelay_queue_wait_seconds`. [Metrics](metrics.md#how-many-series) says how many series that saves.",
			value: toggle(&s.MetricsEndpoints),
		},
		{
			name: "METRICS_ON_RELAY", group: groupObserve, help: "serve /metrics on the relay's port as well", unset: "false",
			more:  "Empty: as `ENABLE_METRICS`, if that is set; otherwise `/metrics` there says where they are.",
			value: toggle(&s.MetricsOnRelay),
		},
		{
			name: "ENABLE_SWAGGER", group: groupObserve, def: "true", help: "serve /swagger/ on the relay: methods to try",
			more:  "[The explorer](explorer.md): calls from there are real, and wait for the limits as all others do. It works without the internet.",
			value: toggle(&s.EnableSwagger),
		},
		{
			name: "ENABLE_PPROF", group: groupObserve, def: "false", help: "serve /debug/pprof on the admin address",
			value: toggle(&s.EnablePprof),
		},
	}
}
