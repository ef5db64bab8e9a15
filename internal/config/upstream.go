package config

import (
	"net/url"
	"strings"
)

// riotsOwn is where Riot is.
const riotsOwn = "https://{host}.api.riotgames.com"

func upstreamURL(to *string) value {
	return value{
		allowed: "http:// or https://, a host and a port if need be, as in https://{host}.api.riotgames.com or http://127.0.0.1:9000",
		read: func(text string) error {
			text = strings.TrimSuffix(text, "/")
			u, err := url.Parse(strings.ReplaceAll(text, "{host}", "euw1"))
			// A path would come before the call's own, a query after it: neither is Riot's form.
			if err != nil || !plainURL(u, "http", "https") || u.User != nil {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

func otlpEndpoint(to *string) value {
	return value{
		allowed: "http:// or https://, a host, a port and a path if need be, as in http://127.0.0.1:4318",
		read: func(text string) error {
			text = strings.TrimSuffix(text, "/")
			u, err := url.Parse(text)
			if err != nil || u.User != nil {
				return errNotAllowed
			}
			u.Path, u.RawPath = "", ""
			if !plainURL(u, "http", "https") {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

func proxyURL(to **url.URL) value {
	return value{
		allowed: "http://, https:// or socks5://, a host and a port, as in http://user:password@proxy:3128",
		show: func() string {
			if *to == nil {
				return ""
			}
			return (*to).Redacted()
		},
		read: func(text string) error {
			u, err := url.Parse(strings.TrimSuffix(text, "/"))
			if err != nil || !plainURL(u, "http", "https", "socks5", "socks5h") {
				return errNotAllowed
			}
			*to = u
			return nil
		},
	}
}

// plainURL reports whether u is scheme://host:port and nothing else, a user apart.
func plainURL(u *url.URL, schemes ...string) bool {
	known := false
	for _, s := range schemes {
		known = known || u.Scheme == s
	}
	port := u.Port()
	_, _, ok := splitAddress("x:" + port)
	return known && isHost(u.Hostname()) && (port == "" && !strings.HasSuffix(u.Host, ":") || ok) &&
		u.Opaque == "" && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}
