package admin

import (
	"errors"
	"net/http"

	"riftrelay"
)

// Reloaded is what a reload of the keys changed, by their names.
type Reloaded struct {
	Keys     []string `json:"keys"`     // all that are in use now
	Added    []string `json:"added"`    // names that are new
	Replaced []string `json:"replaced"` // names that stand for another key now
	Removed  []string `json:"removed"`  // names that are no more
}

// Changes tells old keys from new ones.
func Changes(from, to []riftrelay.Key) Reloaded {
	// Never null, for those who read the answer.
	r := Reloaded{Keys: []string{}, Added: []string{}, Replaced: []string{}, Removed: []string{}}
	old := make(map[string]string, len(from))
	for _, k := range from {
		old[k.Name] = k.Value
	}
	for _, k := range to {
		r.Keys = append(r.Keys, k.Name)
		switch value, known := old[k.Name]; {
		case !known:
			r.Added = append(r.Added, k.Name)
		case value != k.Value:
			r.Replaced = append(r.Replaced, k.Name)
		}
		delete(old, k.Name)
	}
	for _, k := range from {
		if _, gone := old[k.Name]; gone {
			r.Removed = append(r.Removed, k.Name)
		}
	}
	return r
}

func reload(do func() (Reloaded, error)) (status int, v any) {
	r, err := do()
	if err != nil {
		return http.StatusUnprocessableEntity, problem{"the keys are as they were: " + err.Error()}
	}
	return http.StatusOK, r
}

// operate does something to a key and returns how the key is then.
func operate(l Limiter, name string, do func(string) error) (status int, v any) {
	err := do(name)
	if errors.Is(err, riftrelay.ErrUnknownKey) {
		return http.StatusNotFound, problem{err.Error()}
	}
	if err != nil {
		return http.StatusInternalServerError, problem{err.Error()}
	}
	for _, k := range l.Snapshot().Keys {
		if k.Name == name {
			return http.StatusOK, keyOf(k)
		}
	}
	return http.StatusNotFound, problem{"the key was removed meanwhile"}
}
