package daemon

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// What an upstream sends unasked, net/http's client quotes in its own log.
func TestLibrariesLogThroughTheFilter(t *testing.T) {
	log := &buffer{}
	w := &libraryWriter{newLogger(log, &config.Settings{LogFormat: "json"}, true)}
	if _, err := w.Write([]byte("Unsolicited response: " + canary + strings.Repeat("x", 1000))); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); strings.Contains(got, canary) || !strings.HasPrefix(got, "{") || len(got) > 800 {
		t.Errorf("log: %s", got)
	}
}

// 5,000 bad handshakes are two lines.
func TestLogIsBoundedPerCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &buffer{}
		l := serverLog(newLogger(log, &config.Settings{LogFormat: "json"}, true), "front")
		for range 5000 {
			l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
		}
		l.Print("http: something of another kind")
		time.Sleep(quietFor + time.Second)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, `"more":4999`) {
			t.Errorf("log:\n%s", got)
		}
		time.Sleep(3 * quietFor)
		l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
		if got := log.String(); strings.Count(got, "\n") != 4 {
			t.Errorf("after minutes of silence:\n%s", got)
		}
		time.Sleep(3 * quietFor)
	})
}

func TestGuessesSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &buffer{}
		g := &guesses{log: &sparing{log: newLogger(log, &config.Settings{LogFormat: "json"}, true)}}
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		began := time.Now()
		for range freeGuesses {
			g.wrong(r, "admin")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first ones wait %v", took)
		}
		for range 60 {
			g.wrong(r, "admin")
		}
		if took := time.Since(began); took < 100*time.Second {
			t.Errorf("65 wrong tokens take %v only", took)
		}
		other := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		other.RemoteAddr = "198.51.100.7:1"
		began = time.Now()
		if g.wrong(other, "admin"); time.Since(began) != 0 {
			t.Error("another address waits")
		}
		for i := range 3 * mostAddresses {
			g.count(net.IPv4(10, 0, byte(i>>8), byte(i)).String())
		}
		if len(g.by) > mostAddresses {
			t.Errorf("%d addresses are remembered", len(g.by))
		}
		if n := strings.Count(log.String(), "\n"); n < 2 || n > 5 {
			t.Errorf("log:\n%s", log.String())
		}
		time.Sleep(10 * quietFor)
	})
}

func TestOutagesAreLoggedPerChange(t *testing.T) {
	log := &buffer{}
	o := &outages{log: newLogger(log, &config.Settings{LogFormat: "json"}, true)}
	at := time.Unix(1_000_000, 0)
	tell := func(after time.Duration, err error) {
		o.answer(t.Context(), riftrelay.AnswerEvent{At: at.Add(after), Route: route.Route{Host: "kr"}, Err: err})
	}
	tell(0, nil)
	for i := range 150 {
		tell(time.Duration(i)*time.Second, syscall.ECONNREFUSED)
	}
	tell(151*time.Second, nil)
	tell(152*time.Second, nil)
	got := log.String()
	if strings.Count(got, "\n") != 4 || !strings.Contains(got, `"why":"refused"`) || strings.Count(got, "still can't") != 2 || !strings.Contains(got, `"failures":150`) {
		t.Errorf("log:\n%s", got)
	}
}

func TestFailureClass(t *testing.T) {
	for want, err := range map[string]error{
		"dns": &net.OpError{Err: &net.DNSError{}}, "refused": &net.OpError{Err: syscall.ECONNREFUSED}, "descriptors": &net.OpError{Err: syscall.EMFILE}, "tls": &tls.CertificateVerificationError{},
		"timeout": riftrelay.ErrUpstreamTimeout, "reset": syscall.ECONNRESET, "other": errors.New("?"),
	} {
		if got := failureClass(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

// A relay that can't reach Riot says so at level info, once.
func TestUnreachableUpstreamIsLogged(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"UPSTREAM_URL": "http://127.0.0.1:1"})
	for range 3 {
		if a := g.get(g.front + status); a.status != http.StatusBadGateway {
			t.Fatal(a)
		}
	}
	if log := g.log.String(); strings.Count(log, "Riot can't be reached") != 1 || !strings.Contains(log, `"why":"refused"`) {
		t.Errorf("log:\n%s", log)
	}
}

// Guessing the admin's token leaves a line, and the command line isn't served.
func TestAdminGuessesAndProfiles(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"ADMIN_TOKEN": "correct-horse-42", "ENABLE_PPROF": "true"})
	for range 2 {
		resp, err := g.client.Post(g.admin+"/api/v1/reload", "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if log := g.log.String(); strings.Count(log, "wrong or missing token") != 1 {
		t.Errorf("log:\n%s", log)
	}
	if a := g.get(g.admin + "/debug/pprof/cmdline"); a.status != http.StatusNotFound {
		t.Errorf("the command line: status %d", a.status)
	}
}

// A relay that refuses calls says so at the default level, once a minute for each reason.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &buffer{}
		f := &refusals{&sparing{log: newLogger(log, &config.Settings{LogFormat: "json"}, true)}}
		r := route.Route{Host: "kr", Method: &route.Method{Template: "/lol/x"}}
		for _, reason := range []riftrelay.Reason{riftrelay.ReasonQueueFull, riftrelay.ReasonQueueFull, riftrelay.ReasonDeadline, riftrelay.ReasonInvalidRoute} {
			f.admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Outcome: riftrelay.OutcomeRejected, Reason: reason})
		}
		f.admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Outcome: riftrelay.OutcomeAdmitted})
		time.Sleep(quietFor + time.Second)
		synctest.Wait()
		got := log.String()
		if strings.Count(got, "\n") != 3 || strings.Count(got, "calls are refused: queue_full") != 2 || !strings.Contains(got, `"more":1`) || !strings.Contains(got, `"host":"kr","method":"/lol/x"`) {
			t.Errorf("log:\n%s", got)
		}
		time.Sleep(3 * quietFor)
	})
}
