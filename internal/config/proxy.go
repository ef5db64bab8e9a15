package config

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// proxyOrOff is proxyURL, or none: off.
func proxyOrOff(to **url.URL, off *bool) value {
	v := proxyURL(to)
	v.allowed += ", or off"
	read := v.read
	v.read = func(text string) error {
		if *off = strings.EqualFold(text, "off"); *off {
			return nil
		}
		return read(text)
	}
	return v
}

// environmentProxy takes what Go takes: a URL, or host:port.
func environmentProxy(to *string) value {
	var u *url.URL
	v := proxyURL(&u)
	read := v.read
	v.read = func(text string) error {
		full := text
		if !strings.Contains(text, "://") {
			full = "http://" + text
		}
		if err := read(full); err != nil {
			return err
		}
		*to = text
		return nil
	}
	return v
}

// finishProxy has the environment's proxy used for calls to Riot, unless UPSTREAM_PROXY has decided.
func (d *draft) finishProxy(s *Settings, r *report) {
	if d.httpsProxy == "" || d.noProxy || s.UpstreamProxy != nil || !strings.HasPrefix(s.UpstreamURL, "https://") || s.Table == nil {
		return
	}
	proxy := (&httpproxy.Config{HTTPSProxy: d.httpsProxy, NoProxy: d.exceptions}).ProxyFunc()
	for _, host := range s.Table.Hosts() {
		to, err := url.Parse(strings.ReplaceAll(s.UpstreamURL, "{host}", host))
		if err != nil {
			continue
		}
		if through, err := proxy(to); err == nil && through != nil {
			s.ProxyOf = proxy
			r.warn(fmt.Sprintf("calls to Riot go through HTTPS_PROXY, %s; UPSTREAM_PROXY=off sends them straight", through.Redacted()))
			return
		}
	}
}
