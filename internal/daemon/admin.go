package daemon

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"riftrelay/internal/admin"
	"riftrelay/internal/config"
)

// newAdmin makes what the admin listener serves. metrics may be nil.
func newAdmin(s *config.Settings, l admin.Limiter, h *health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	paths := []string{"/healthz", "/readyz"}
	mux.HandleFunc("/healthz", h.alive)
	mux.HandleFunc("/readyz", h.ready)
	api := admin.Handler(l, s.Table)
	for _, path := range admin.Paths {
		paths = append(paths, path)
		mux.Handle(path, api)
	}
	if metrics != nil {
		paths = append(paths, "/metrics")
		mux.Handle("/metrics", metrics)
	}
	if s.EnablePprof {
		paths = append(paths, "/debug/pprof/")
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	slices.Sort(paths)
	index := fmt.Sprintf("RiftRelay %s, for operators\n\n%s\n", config.BuildVersion(), strings.Join(paths, "\n"))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte(index))
	})
	return mux
}
