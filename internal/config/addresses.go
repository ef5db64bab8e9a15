package config

import (
	"net"
	"strconv"
	"strings"
)

// address is a host, or host:port; draft.finish puts a port to it.
func address(to *string) value {
	return value{
		allowed: "host or host:port, as in localhost, 10.0.0.1:8985, [::1]:8985 or * for all interfaces",
		read: func(text string) error {
			if _, _, ok := splitAddress(text); !ok || text == "" {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

// hostPortOrOff is hostPort, or none: empty or off.
func hostPortOrOff(to *string) value {
	v := hostPort(to)
	v.allowed += ", or off"
	read := v.read
	v.read = func(text string) error {
		if text == "" || strings.EqualFold(text, "off") {
			*to = ""
			return nil
		}
		return read(text)
	}
	return v
}

func hostPort(to *string) value {
	return value{
		allowed: "host:port, as in 127.0.0.1:8986 or :8986",
		read: func(text string) error {
			host, port, ok := splitAddress(text)
			if !ok || port == "" {
				return errNotAllowed
			}
			*to = net.JoinHostPort(host, port)
			return nil
		},
	}
}

// localhost stands for all loopback addresses of this machine.
const localhost = "localhost"

// splitAddress splits host, host:port, [v6]:port, [v6] and a bare v6. The port is "" where there is none, and the host is "" where it is *.
func splitAddress(text string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = text, ""
		if inner, found := strings.CutPrefix(text, "["); found {
			if host, found = strings.CutSuffix(inner, "]"); !found || net.ParseIP(host) == nil {
				return "", "", false
			}
		}
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 || port[0] == '+' || port[0] == '-' {
		return "", "", false
	}
	if host == everyone {
		host = ""
	}
	// A host made of digits is a port that somebody forgot the colon of.
	return host, port, host == "" || isHost(host) && strings.Trim(host, "0123456789") != ""
}

// isHost takes IP addresses, with a zone if they have one, and host names by their characters.
func isHost(host string) bool {
	if strings.Contains(host, ":") {
		ip, _, _ := strings.Cut(host, "%")
		return net.ParseIP(ip) != nil
	}
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return len(host) > 0 && len(host) <= 253
}
