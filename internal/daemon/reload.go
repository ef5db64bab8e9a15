package daemon

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"riftrelay/internal/admin"
	"riftrelay/internal/config"
	"riftrelay/internal/proxy"
)

// reload takes over the keys as they are written now and returns what changed.
// What is wrong with them is logged, and the old ones stay.
func (r *relay) reload(why string) (admin.Reloaded, error) {
	r.reloads.Lock()
	defer r.reloads.Unlock()
	keys, err := r.settings.ReloadKeys()
	old := *r.keys.Load()
	if err == nil && why == "file" && slices.Equal(keys, old) {
		return admin.Changes(old, keys), nil // one writing makes several events
	}
	if err == nil {
		guardOf(r.log).know(slices.Concat(old, keys)) // the old ones may still be told of
		err = r.limiter.SetKeys(keys)
	}
	r.meters.Reloaded(err == nil)
	if err != nil {
		err = errors.New(hideKeys(oneLine(err)))
		r.log.Error("keys are as they were: they can't be read again", "why", why, "error", err.Error())
		return admin.Reloaded{}, err
	}
	r.keys.Store(&keys)
	r.health.forget()
	changes := admin.Changes(old, keys)
	r.log.Info("keys read again", "why", why, "keys", len(keys), "names", listed(keyNames(keys)),
		"added", len(changes.Added), "replaced", len(changes.Replaced), "removed", len(changes.Removed))
	return changes, nil
}

// errOpened is a reload that would let everybody in.
var errOpened = errors.New("all tokens of clients are gone; allowed: at least one, or a restart without any")

// reloadClients takes over the clients' tokens as they are written now. What is
// wrong with them is logged, and the old ones stay.
func (r *relay) reloadClients(why string) {
	r.reloads.Lock()
	defer r.reloads.Unlock()
	list, err := r.settings.ReloadClients()
	if err == nil && reflect.DeepEqual(list, r.clients) || err != nil && len(r.clients) == 0 {
		return // nothing new, or nothing about clients: reload says what is wrong
	}
	if err == nil && len(list) == 0 {
		err = errOpened
	}
	r.meters.Reloaded(err == nil)
	if err != nil {
		r.log.Error("clients are as they were: their tokens can't be read again", "why", why, "error", hideKeys(oneLine(err)))
		return
	}
	r.clients = list
	r.handler.SetClients(clientsOf(list))
	r.log.Info("tokens of clients read again", "why", why, "clients", clientNames(list))
}

// reloadCertificate takes over the relay's certificate as it is written now.
func (r *relay) reloadCertificate(why string) {
	if r.certificate == nil {
		return
	}
	changed, err := r.certificate.load()
	if err == nil && !changed {
		return
	}
	r.meters.Reloaded(err == nil)
	if err != nil {
		r.log.Error("the certificate is as it was: it can't be read again", "why", why, "error", hideKeys(oneLine(err)))
		return
	}
	r.log.Info("certificate read again", "why", why, "until", r.certificate.until())
}

// clientsOf are the settings' clients as the proxy takes them.
func clientsOf(list []config.Client) []proxy.Client {
	clients := make([]proxy.Client, len(list))
	for i, c := range list {
		clients[i] = proxy.Client{Name: c.Name, Tokens: c.Tokens, Budget: c.Budget, NoHigh: c.NoHigh}
		for _, p := range c.Patterns {
			clients[i].Allow = append(clients[i].Allow, proxy.Allowance(p))
		}
	}
	return clients
}

func clientNames(list []config.Client) string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return listed(names)
}

func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		parts = append(parts, strings.TrimSpace(line))
	}
	return strings.Join(parts, "; ")
}
