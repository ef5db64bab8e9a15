package dashboard

import (
	"net/http/httptest"
	"testing"
	"time"

	"riftrelay/internal/dashboard/browsertest"
)

// 28 hosts with 60 methods, each called once a second: the page stays under 5 %
// of a core in the browser.
func TestPageIsCheapInABrowser(t *testing.T) {
	d := New(Options{})
	limiter, call := busy(t, 28, 60, d)
	d.Watch(limiter.Snapshot)
	s := httptest.NewServer(d.Handler())
	defer s.Close()
	defer d.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		go d.Run(t.Context())
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			call()
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	t.Log(browsertest.Run(t, "cpu.mjs", 2*time.Minute, "PAGE="+s.URL))
}
