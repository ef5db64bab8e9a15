package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Settings are the relay's settings, checked and typed. They print with keys and passwords hidden.
type Settings struct {
	Listen string // the relay's address, "localhost:8985"; that host is all loopback addresses, and an empty one all interfaces
	Admin  string // the admin listener's; "" = none

	TrustDir         string   // of the local authority; "" = neither CONNECT nor TLS
	TunnelHosts      []string // where CONNECT leads besides the API, in lower case
	StripRateHeaders bool     // RATE_HEADERS=strip
	MaxBody          int      // MAX_BODY: bytes of a request's body
	MaxConnections   int      // MAX_CONNECTIONS; 0 = as many as descriptors allow
	MaxPerAddress    int      // MAX_CONNECTIONS_PER_ADDRESS; 0 = three quarters of them

	Clients     []Client // of CLIENT_TOKENS or its file, sorted by name; none = everybody may call
	TokenFile   string   // CLIENT_TOKENS_FILE, to be watched; "" = none
	Origins     []string // of CORS_ORIGINS
	Hosts       []string // of ALLOWED_HOSTS, or what is its default
	CertFile    string   // TLS_CERT_FILE, to be watched; "" = no certificate
	CertKeyFile string   // TLS_KEY_FILE, to be watched

	KeyFile string            // RIOT_TOKEN_FILE, to be watched; "" = none
	Groups  []riftrelay.Group // of KEY_ROUTES
	Aliases []riftrelay.Alias // of SCOPE_ALIASES

	Budgets []riftrelay.Budget // of RATE_BUDGET_<id>, sorted by id

	QueueCapacity    int           // calls of one client, budget and priority that may wait for one host and method; 0 = none
	QueueTotal       int           // calls that may wait in all; 0 = none
	AdmissionTimeout time.Duration // longest wait for admission; 0 = no bound
	Margin           time.Duration // MARGIN
	MaxMargin        time.Duration // MARGIN_MAX, at least Margin
	ViolationLimit   int           // own 429s a minute in one scope; 0 = none
	DefaultAppLimit  string        // "20:1,100:120"
	Pacing           riftrelay.Pacing

	Table               *route.Table // of HOSTS, METHODS_FILE and the two below; nil for Healthcheck
	ForwardUnknownHosts bool
	ForwardUnknownPaths bool

	UpstreamURL     string                           // without a trailing slash; may contain {host}
	UpstreamProxy   *url.URL                         // nil = none
	ProxyOf         func(*url.URL) (*url.URL, error) // of HTTPS_PROXY and NO_PROXY; nil = none
	UpstreamCAs     *x509.CertPool                   // the authorities of UPSTREAM_CA_FILE; nil = the system's
	UpstreamHTTP2   bool
	UpstreamTimeout time.Duration // 0 = none
	Retry           riftrelay.Retry

	StoreURL  string // as redisstore.ParseURL takes it; "" = none. It may contain a password
	StoreLoss string // "share" or "closed"

	StateFile       string        // "" = none
	ShutdownTimeout time.Duration // 0 = refuse what is queued at once

	TraceEndpoint    string // OTEL_EXPORTER_OTLP_ENDPOINT, without a trailing slash; "" = no traces
	EnableMetrics    bool
	EnablePprof      bool
	EnableSwagger    bool
	MetricsOnRelay   bool
	MetricsEndpoints bool
	LogLevel         slog.Level
	LogFormat        string // "auto", "json" or "text"

	effective []Effective

	// keys is a func because package fmt can't look into one: where it prints a Settings in an unexported field of
	// another struct, it goes past String and GoString.
	keys       func() []riftrelay.Key
	reload     func(reloaded) (*Settings, error)
	adminToken func() string // as keys

	certificate func() (*tls.Certificate, error)
}

// AdminToken is what changes through the admin API need; "" = none is set.
func (s Settings) AdminToken() string {
	if s.adminToken == nil {
		return ""
	}
	return s.adminToken()
}

// Keys are the keys of RIOT_TOKEN or RIOT_TOKEN_FILE, at least one for Serve and Validate. Every one has a name.
func (s Settings) Keys() []riftrelay.Key {
	if s.keys == nil {
		return nil
	}
	return s.keys()
}

// ReloadKeys reads the keys again from where they came. The error says what is wrong, never a key.
func (s Settings) ReloadKeys() ([]riftrelay.Key, error) {
	again, err := s.reload(onlyKeys)
	if err != nil {
		return nil, err
	}
	return again.Keys(), nil
}

// ReloadClients reads the clients again from where they came. The error says what is wrong, never a token.
func (s Settings) ReloadClients() ([]Client, error) {
	again, err := s.reload(onlyClients)
	if err != nil {
		return nil, err
	}
	return again.Clients, nil
}

// Certificate reads the certificate of TLS_CERT_FILE, anew each time; nil if there is none.
func (s Settings) Certificate() (*tls.Certificate, error) {
	if s.certificate == nil {
		return nil, nil
	}
	return s.certificate()
}

// Effective is one setting in force, for people.
type Effective struct {
	Name   string
	Value  string // keys and passwords hidden; "" = nothing is set
	Unset  string // what nothing means: "all interfaces"; "" = none
	Source string // "by default", "in the environment", "in .env" …
}

// Effective lists every setting of the command in force, in the order of the help.
func (s Settings) Effective() []Effective { return append([]Effective(nil), s.effective...) }

// Limiter returns the settings that concern the library's Limiter. Hooks are left to the caller.
func (s Settings) Limiter() riftrelay.Config {
	return riftrelay.Config{
		Keys:             s.Keys(),
		Groups:           s.Groups,
		Aliases:          s.Aliases,
		Budgets:          s.Budgets,
		Table:            s.Table,
		Pacing:           s.Pacing,
		Margin:           s.Margin,
		MaxMargin:        s.MaxMargin,
		ViolationLimit:   noneIsNegative(s.ViolationLimit),
		DefaultAppLimit:  s.DefaultAppLimit,
		QueueCapacity:    noneIsNegative(s.QueueCapacity),
		QueueTotal:       noneIsNegative(s.QueueTotal),
		AdmissionTimeout: noneIsNegative(s.AdmissionTimeout),
		StoreLoss:        riftrelay.StoreLoss(s.StoreLoss),
	}
}

// noneIsNegative translates: a setting of 0 is none, while the library's zero is the default and its negative none.
func noneIsNegative[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// HealthURL is where Healthcheck asks: /healthz on the relay's own listener, over loopback if it listens everywhere.
func (s Settings) HealthURL() string { return s.LocalURL() + "/healthz" }

// LocalURL is the relay as a client on this machine calls it, as in "http://127.0.0.1:8985".
func (s Settings) LocalURL() string { return localURL(s.Listen) }

func localURL(address string) string {
	host, port, _ := net.SplitHostPort(address)
	switch strings.ToLower(host) {
	case "", "0.0.0.0", localhost:
		host = "127.0.0.1" // not "localhost": an image made from scratch may be unable to look it up
	case "::":
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Describe lists the settings in force, a line each, for a terminal.
func (s Settings) Describe() string {
	name, value := 0, 0
	for _, e := range s.effective {
		name, value = max(name, len(e.Name)), max(value, min(len(orElse(e.Value, e.Unset)), 32))
	}
	var b strings.Builder
	for _, e := range s.effective {
		fmt.Fprintf(&b, "%-*s  %-*s  %s\n", name, e.Name, value, orElse(e.Value, orElse(e.Unset, "-")), e.Source)
	}
	return b.String()
}

// String lists the settings in force as NAME=value, with keys hidden.
func (s Settings) String() string {
	var b strings.Builder
	for i, e := range s.effective {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%q", e.Name, e.Value)
	}
	return b.String()
}

// GoString is String: %#v must not give a key away either.
func (s Settings) GoString() string { return "config.Settings{" + s.String() + "}" }

// MarshalJSON returns an object of the settings in force, with keys hidden.
func (s Settings) MarshalJSON() ([]byte, error) {
	m := make(map[string]string, len(s.effective))
	for _, e := range s.effective {
		m[e.Name] = e.Value
	}
	return json.Marshal(m)
}

// LogValue makes slog print what String does.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// DemoOptions are the flags of the demo.
type DemoOptions struct {
	For       time.Duration // 0 = until interrupted
	RateLimit string        // application limit of the simulated edge, "20:1,100:120"
	Pacing    riftrelay.Pacing
	Replicas  int    // relays that share the key; 0 is 1
	Seed      uint64 // of the load
}

// ValidateOptions are the flags of the check of the settings.
type ValidateOptions struct {
	Online  bool   // try each key
	FromEnv string // the .env or compose file of the relay's first version to report on
	Report  string // what there is to say of it
}

// TopOptions are the flags of the live view of a running relay.
type TopOptions struct {
	Addr  string // of its admin listener: host:port or a URL
	Token string `json:"-"` // sent along; "" = none
}

// String leaves the token out.
func (o TopOptions) String() string { return "addr=" + o.Addr }

// GoString is String.
func (o TopOptions) GoString() string { return "config.TopOptions{" + o.String() + "}" }

// StatusOptions are the flags of the question for a running relay's state.
type StatusOptions struct {
	Addr string // of its admin listener: host:port or a URL
	JSON bool   // print the answer as it came
}

// SimOptions are the flags of the stand-alone simulated edge.
type SimOptions struct {
	Addr     string        // to listen on
	AppLimit string        // "20:1,100:120"
	Window   string        // "fixed", "sliding" or "aligned"
	Delay    time.Duration // round trip before jitter
	Jitter   time.Duration // greatest addition to Delay
	Keys     []string      `json:"-"` // keys that are accepted; empty = every key
}

// String leaves the keys out.
func (o SimOptions) String() string {
	return fmt.Sprintf("addr=%s app-limit=%s window=%s delay=%v jitter=%v keys=%d", o.Addr, o.AppLimit, o.Window, o.Delay, o.Jitter, len(o.Keys))
}

// GoString is String.
func (o SimOptions) GoString() string { return "config.SimOptions{" + o.String() + "}" }
