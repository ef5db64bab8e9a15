package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"riftrelay"
)

// health answers those who ask whether to restart us (/healthz) and whether to
// send us calls (/readyz).
type health struct {
	draining atomic.Bool
	state    func() riftrelay.Snapshot
	exposed  func() string // the relay's address if anybody there can use the keys, otherwise ""

	mu   sync.Mutex
	at   time.Time // of last
	last condition
}

// freshness is for how long an answer about keys and limits holds: a snapshot
// of many limits is no small thing, and anybody may ask.
const freshness = time.Second

// now returns the condition, not older than freshness.
func (h *health) now() condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.at) >= freshness {
		h.last, h.at = conditionOf(h.state()), now
	}
	return h.last
}

// forget has the keys looked at anew.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Time{}
}

// alive says that the process is up, whatever else is the matter.
func (h *health) alive(w http.ResponseWriter, r *http.Request) {
	if readOnly(w, r) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Riftrelay-Source", "relay")
		w.WriteHeader(http.StatusNoContent)
	}
}

// What /readyz tells on the relay's port, where anybody may ask.
const (
	codeDraining = "draining"
	codeNoKey    = "no_usable_key"
	codeNoTokens = "no_client_tokens"
)

// public is ready for the relay's port: codes only, without names of keys and
// without what the network says of the store.
func (h *health) public(w http.ResponseWriter, r *http.Request) {
	reasons, warnings := []string{}, []string(nil)
	if h.draining.Load() {
		reasons = append(reasons, codeDraining)
	}
	if !h.now().usable {
		reasons = append(reasons, codeNoKey)
	}
	if h.exposed() != "" {
		warnings = append(warnings, codeNoTokens)
	}
	report(w, r, reasons, warnings)
}

// ready says whether calls are welcome, and if not, why. As long as any key is
// usable they are: what doesn't concern all calls is a warning.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	reasons := []string{}
	if h.draining.Load() {
		reasons = append(reasons, codeDraining)
	}
	c := h.now()
	if !c.usable {
		reasons = append(append(reasons, "no usable key"), c.keys...)
	}
	if at := h.exposed(); at != "" {
		c.warnings = append(slices.Clip(c.warnings), "whoever reaches "+at+" can use the keys: CLIENT_TOKENS is not set, and LISTEN_ADDR is not localhost")
	}
	report(w, r, reasons, c.warnings)
}

func report(w http.ResponseWriter, r *http.Request, reasons, warnings []string) {
	if !readOnly(w, r) {
		return
	}
	status := http.StatusOK
	if len(reasons) > 0 {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, struct {
		Ready    bool     `json:"ready"`
		Reasons  []string `json:"reasons"`
		Warnings []string `json:"warnings,omitempty"`
	}{len(reasons) == 0, reasons, warnings})
}

func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "GET or HEAD only", http.StatusMethodNotAllowed)
	return false
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Riftrelay-Source", "relay")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

// healthcheck asks a running relay for its health. Its error says what was
// wrong.
func healthcheck(ctx context.Context, url string, out io.Writer) error {
	const patience = 3 * time.Second // as the image's HEALTHCHECK
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("unhealthy: %w", err)
	}
	// Not http.DefaultClient: that one would go through a proxy of the
	// environment.
	t := &http.Transport{DisableKeepAlives: true}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("unhealthy: %s: %w", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusOK { // 200: relays before v0.2
		return fmt.Errorf("unhealthy: %s answers %s", url, resp.Status)
	}
	_, err = fmt.Fprintf(out, "healthy: %s\n", url)
	return err
}
