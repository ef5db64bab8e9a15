package dashboard

import (
	"encoding/json"

	"riftrelay"
)

// general writes what is said of all, of the keys and of the clients. Exposed is
// the address at which anybody can use the keys, if there is one.
func general(s *riftrelay.Snapshot, clients *clientRows, exposed string, connections Connections) []byte {
	type key struct {
		Name    string   `json:"name"`
		Group   string   `json:"group"`
		State   string   `json:"state"`
		Probe   int64    `json:"probe"` // until the next probe
		Reasons []string `json:"reasons"`
	}
	type store struct {
		Replica  string `json:"replica"`
		Replicas int    `json:"replicas"`
		Trip     int64  `json:"trip"`
		Away     string `json:"away"`
		For      int64  `json:"for"`
		Alone    bool   `json:"alone"`
	}
	v := struct {
		Margin   float64 `json:"margin"`
		Pacing   float64 `json:"pacing"`
		Draining bool    `json:"draining"`
		Panics   int     `json:"panics"`
		Store    *store  `json:"store"`
		Exposed  string  `json:"exposed"`
		Keys     []key   `json:"keys"`

		Clients     *clientRows `json:"clients"` // null when nobody needs a token
		Connections Connections `json:"connections"`
	}{
		Margin: float64(s.Margin.Milliseconds()), Pacing: s.Pacing, Draining: s.Draining, Panics: s.HookPanics,
		Exposed: exposed, Keys: make([]key, len(s.Keys)), Clients: clients, Connections: connections,
	}
	if s.Store != nil {
		v.Store = &store{s.Store.Replica, s.Store.Replicas, s.Store.Trip.Milliseconds(), s.Store.Away, s.Store.For.Milliseconds(), s.Store.Alone}
	}
	for i, k := range s.Keys {
		v.Keys[i] = key{k.Name, k.Group, string(k.State), k.NextProbe.Milliseconds(), append([]string{}, k.Reasons...)}
	}
	return encode(v)
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return text
}
