package proxy

import (
	"net/http"
	"testing"
	"time"

	"riftrelay"
)

func TestOwner(t *testing.T) {
	for _, tt := range []struct {
		client *Client
		addr   string
		want   string
	}{
		{&Client{Name: "web"}, "192.0.2.1:80", "web"},
		{nil, "192.0.2.1:80", "192.0.2.1"},
		{nil, "[::ffff:192.0.2.1]:80", "192.0.2.1"},
		{nil, "[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64"},
		{nil, "[2001:db8:1:2:ffff::1]:443", "2001:db8:1:2::/64"},
		{nil, "[fe80::1%eth0]:80", "fe80::/64"},
		{nil, "@", "@"},
		{nil, "pipe", "pipe"},
		{nil, "", ""},
	} {
		c := &call{client: tt.client}
		if got := c.owner(&http.Request{RemoteAddr: tt.addr}); got != tt.want {
			t.Errorf("%v %q: %q, want %q", tt.client, tt.addr, got, tt.want)
		}
	}
}

// X-Max-Wait never extends the wait beyond the relay's own bound.
func TestMaxWaitIsCapped(t *testing.T) {
	for _, tt := range []struct {
		longest time.Duration
		header  string
		want    time.Duration
	}{
		{5 * time.Minute, "8s", 8 * time.Second},
		{5 * time.Minute, "1000h", 5 * time.Minute},
		{5 * time.Minute, "300", 5 * time.Minute},
		{5 * time.Minute, "0", riftrelay.NowOrNever},
		{0, "1000h", 1000 * time.Hour},
	} {
		h := &Handler{maxWait: tt.longest}
		o, err := h.control(http.Header{"X-Max-Wait": {tt.header}})
		if err != nil || o.MaxWait != tt.want {
			t.Errorf("%v, X-Max-Wait: %s: %v %v, want %v", tt.longest, tt.header, o.MaxWait, err, tt.want)
		}
	}
}
