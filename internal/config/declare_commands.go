package config

import (
	"time"

	"riftrelay"
)

func demoOptions(o *DemoOptions) []setting {
	return options([]setting{
		{name: "FOR", def: "0", help: "how long; 0 = until Ctrl-C", value: duration(&o.For, 0, longest, "until Ctrl-C")},
		{name: "RATE_LIMIT", def: "20:1,100:10", help: "application limit of the simulated edge", value: quotas(&o.RateLimit)},
		{name: "PACING", def: "balanced", help: "balanced, spread, burst, or 0 to 1", value: pacing(&o.Pacing)},
		{name: "REPLICAS", def: "1", help: "relays that share the key, 1 to 8", value: replicas(&o.Replicas)},
		{name: "SEED", def: "1", help: "seed of the load; the same seed, the same calls", value: seed(&o.Seed)},
	})
}

func simOptions(o *SimOptions) []setting {
	return options([]setting{
		{name: "ADDR", def: "127.0.0.1:9000", help: "address to listen on", value: hostPort(&o.Addr)},
		{name: "APP_LIMIT", def: riftrelay.DefaultAppLimit, help: "application limit", value: quotas(&o.AppLimit)},
		{name: "WINDOW", def: "fixed", help: "fixed, sliding or aligned windows", value: choice(&o.Window, "fixed", "sliding", "aligned")},
		{name: "DELAY", def: "50ms", help: "round trip", value: duration(&o.Delay, 0, time.Minute, "")},
		{name: "JITTER", def: "0", help: "greatest addition to the round trip", value: duration(&o.Jitter, 0, time.Minute, "")},
		{name: "KEY", help: "keys to accept: a,b", unset: "every key", secret: true, value: simKeys(&o.Keys)},
	})
}

func validateOptions(o *ValidateOptions) []setting {
	return options([]setting{
		{name: "ONLINE", def: "false", help: "try each key by one cheap call to Riot", value: toggle(&o.Online)},
		{name: "FROM_ENV", help: "report on the first version's .env or compose file", value: text(&o.FromEnv, "a file")},
	})
}

func completionOptions(o *string) []setting {
	return options([]setting{
		{name: "SHELL", argument: true, help: "bash, zsh or fish", value: choice(o, "bash", "zsh", "fish")},
	})
}

func topOptions(o *TopOptions) []setting {
	return options([]setting{
		{name: "ADDR", unset: "ADMIN_ADDR", help: "admin listener to watch, also another machine's", value: text(&o.Addr, "host:port or a URL")},
		{name: "TOKEN", secret: true, help: "bearer token, for what stands before the relay", value: adminToken(&o.Token)},
	})
}

func statusOptions(o *StatusOptions) []setting {
	return options([]setting{
		{name: "ADDR", unset: "ADMIN_ADDR", help: "admin listener to ask, also another machine's", value: text(&o.Addr, "host:port or a URL")},
		{name: "JSON", def: "false", help: "print the answer as it came", value: toggle(&o.JSON)},
	})
}

func options(list []setting) []setting {
	for i := range list {
		list[i].flagOnly = true
	}
	return list
}
