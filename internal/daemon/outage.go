package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"riftrelay"
)

// outages log when a host of Riot's can't be reached: a line when that begins,
// one a minute while it lasts, and one when it is over.
type outages struct {
	log *slog.Logger
	mu  sync.Mutex
	by  map[string]*outage // host → what is the matter with it
}

type outage struct {
	since, told time.Time
	failures    int
}

// mostOutages bounds the map where HOSTS=forward lets clients name hosts.
const mostOutages = 100

func (o *outages) hooks() riftrelay.Hooks { return riftrelay.Hooks{Answer: o.answer} }

func (o *outages) answer(_ context.Context, e riftrelay.AnswerEvent) {
	host := e.Route.Host
	if errors.Is(e.Err, context.Canceled) {
		return // the client left; that tells nothing of the host
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now, at := o.by[host], e.At
	switch {
	case e.Err == nil && now == nil:
	case e.Err == nil:
		delete(o.by, host)
		o.log.Info("Riot answers again", "host", host, "after", at.Sub(now.since).Round(time.Millisecond).String(), "failures", now.failures)
	case now == nil:
		if len(o.by) >= mostOutages {
			return
		}
		if o.by == nil {
			o.by = make(map[string]*outage)
		}
		o.by[host] = &outage{since: at, told: at, failures: 1}
		o.log.Warn("Riot can't be reached", "host", host, "why", failureClass(e.Err), "error", e.Err.Error())
	default:
		now.failures++
		if at.Sub(now.told) >= quietFor {
			now.told = at
			o.log.Warn("Riot still can't be reached", "host", host, "why", failureClass(e.Err), "for", at.Sub(now.since).Round(time.Second).String(), "failures", now.failures)
		}
	}
}

// failureClass is one of few words for why there was no answer.
func failureClass(err error) string {
	var (
		dns     *net.DNSError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		timeout net.Error
	)
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "descriptors"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &verify), errors.As(err, &record), errors.As(err, &alert), errors.As(err, &unknown), errors.As(err, &name):
		return "tls"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, riftrelay.ErrUpstreamTimeout), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "reset"
	}
	return "other"
}
