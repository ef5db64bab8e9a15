package config

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"riftrelay"
	"riftrelay/route"
)

// finish turns what was only read into settings, and checks what depends on several of them.
func (d *draft) finish(in *Invocation, cmd command, env Env, sources []source, r *report) {
	s := in.Settings
	host, port, _ := splitAddress(d.listen)
	if port == "" {
		port = strconv.Itoa(d.port)
	}
	s.Listen, s.Admin, s.KeyFile = net.JoinHostPort(host, port), d.admin, d.keyFile
	s.TokenFile = d.tokenFile
	for _, addr := range []*string{&in.Status.Addr, &in.Top.Addr} {
		if *addr == "" && s.Admin != "" {
			*addr = localURL(s.Admin)
		}
	}
	if (cmd.name == Status && in.Status.Addr == "" || cmd.name == Top && in.Top.Addr == "") && !r.wrong["ADMIN_ADDR"] {
		r.bad("ADMIN_ADDR", "ADMIN_ADDR is off, so there is nobody to ask; allowed: --addr with the ADMIN_ADDR of a relay that has one")
	}
	if !cmd.strict {
		return
	}
	aboutKeys := r
	if env.reloads == onlyClients {
		aboutKeys = &report{} // a token can be revoked whatever is wrong with the keys
	}
	d.readKeyFile(env, cmd, sources, aboutKeys)
	list, token := d.keys, d.adminToken
	s.keys = func() []riftrelay.Key { return slices.Clone(list) }
	s.adminToken = func() string { return token }

	complain := func(name string, err error) {
		for _, known := range cmd.settings {
			if known.name == name {
				f, _ := known.find(sources, &report{})
				known.complain(f, err, r)
			}
		}
	}
	if s.Admin != "" && sameListener(s.Listen, s.Admin) && !r.wrong["ADMIN_ADDR"] && !r.wrong["PORT"] && !r.wrong["LISTEN_ADDR"] {
		complain("ADMIN_ADDR", fmt.Errorf("the relay's own is %s", s.Listen))
	}
	if given("ENABLE_METRICS", sources, cmd.settings) && !given("METRICS_ON_RELAY", sources, cmd.settings) {
		s.MetricsOnRelay = s.EnableMetrics // as the relay's first version did
	}
	finishMargins(s, sources, cmd.settings, complain)
	d.buildTable(s, env, complain)
	d.finishProxy(s, r)
	if s.UpstreamProxy != nil && strings.HasPrefix(s.UpstreamProxy.Scheme, "http") && strings.HasPrefix(s.UpstreamURL, "http://") {
		// Such a proxy gets the whole URL, and makes the Host header of it: not Riot's.
		complain("UPSTREAM_PROXY", fmt.Errorf("UPSTREAM_URL is %s, plain http, for which no proxy of this kind can be used; socks5:// can", s.UpstreamURL))
	}
	d.finishBudgets(s, cmd.settings, complain, r)
	if env.reloads != onlyKeys {
		d.finishClients(s, env, cmd, sources, complain, r)
	}
	d.finishAccess(s, env, complain)
	if d.caFile != "" {
		pem, err := env.ReadFile(d.caFile)
		if err == nil {
			s.UpstreamCAs = x509.NewCertPool()
			if !s.UpstreamCAs.AppendCertsFromPEM(pem) {
				err = errors.New("no certificate in it")
			}
		}
		if err != nil {
			complain("UPSTREAM_CA_FILE", err)
		}
	}
	if len(s.Groups) > 0 && len(list) > 0 {
		if _, err := riftrelay.New(riftrelay.Config{Keys: list, Groups: s.Groups}); err != nil {
			complain("KEY_ROUTES", errors.New(strings.ReplaceAll(err.Error(), "riftrelay: ", "")))
		}
	}
	if len(list) == 0 && aboutKeys == r && !r.wrong["RIOT_TOKEN"] && !r.wrong["RIOT_TOKEN_FILE"] && !r.wrong[".env"] && !r.wrong["CONFIG_FILE"] { // it may be in there
		r.bad("RIOT_TOKEN", "RIOT_TOKEN is not set; allowed: a key from https://developer.riotgames.com, or several (without one, try: riftrelay demo)")
	}
}

// sameListener reports whether two addresses can't be listened on at once.
func sameListener(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && portA != "0" && (hostA == hostB || everywhere(hostA) || everywhere(hostB) ||
		strings.EqualFold(hostA, localhost) && onLoopback(b) || strings.EqualFold(hostB, localhost) && onLoopback(a))
}

func everywhere(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

// buildTable makes the route table. Each of its settings is tried alone first, to know which one is wrong.
func (d *draft) buildTable(s *Settings, env Env, complain func(string, error)) {
	o := route.Options{ForwardUnknownHosts: s.ForwardUnknownHosts, ForwardUnknownPaths: s.ForwardUnknownPaths}
	var file []byte
	if d.methodsFile != "" {
		var err error
		if file, err = env.ReadFile(d.methodsFile); err == nil {
			_, err = route.New(route.Options{Methods: bytes.NewReader(file)})
		}
		if err != nil {
			complain("METHODS_FILE", err)
			file = nil
		}
	}
	if _, err := route.New(route.Options{Hosts: d.hosts}); err != nil {
		complain("HOSTS", err)
		return
	}
	o.Hosts = d.hosts
	if file != nil {
		o.Methods = bytes.NewReader(file)
	}
	table, err := route.New(o)
	if err != nil {
		complain("METHODS_FILE", err)
	}
	s.Table = table
}
