package riftrelay

import (
	"bytes"
	"compress/gzip"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"riftrelay/route"
)

// choice is on which keys of its group a call goes, where that is Transport's
// to decide: an id belongs to the key that gave it (R17), and a call that one
// key can't serve another may.
type choice struct {
	path   string  // unescaped, of a call that no template describes
	only   *held   // the key to go on; nil: any
	first  bool    // the first of the group that is any good
	known  bool    // only is the key that the id belongs to
	moved  bool    // went to another key after a 401 or 403
	id     uint64  // stands for the player's id in the path; 0 without
	failed []*held // can't decrypt the id
}

// Estimate is Limiter.Estimate for calls with this escaped path, which says
// more of it than the route: on which key a player's id has to go, and to which
// group of keys a path belongs that the table doesn't list.
func (t *Transport) Estimate(r route.Route, path string, n int, o Options) (time.Duration, Wait, error) {
	if r.Method != nil {
		o.choice = t.choose(r, path, &o)
	}
	return t.Limiter.Estimate(r, n, o)
}

// choose makes the choice for a call: nil where there is none.
func (t *Transport) choose(r route.Route, path string, o *Options) *choice {
	l := t.Limiter
	list := l.keys.Load()
	if r.Method.Auth == route.AuthRSO || len(list.places) < 2 {
		return nil
	}
	c := &choice{}
	if !strings.HasPrefix(r.Method.Template, "/") {
		c.path = plainPath(path)
	}
	with := *o
	with.choice = c
	group := list.groups[l.grouping.of(r, &with)]
	if len(group) < 2 {
		return c
	}
	id := playerID(r.Method.Template, path)
	if len(id) < encrypted {
		return c
	}
	c.id = l.ids17.hash(id)
	if o.Key != (Key{}) {
		return c
	}
	if key, known := l.ids17.get(c.id); known {
		for _, h := range group {
			if h.id == key {
				c.only, c.known = h, true
				return c
			}
		}
	}
	c.first = true
	return c
}

// encrypted is the least length of an id that a key is needed to read: puuids
// have 78 characters, summoner ids some 47 to 63.
const encrypted = 40

// playerID returns the part of a path that stands for a player: what Riot
// encrypts for each key anew. Empty if there is none.
func playerID(template, path string) string {
	for template != "" && path != "" {
		var name, value string
		name, template, _ = strings.Cut(template[1:], "/")
		value, path, _ = strings.Cut(path[1:], "/")
		if n := len(name); n > 2 && name[0] == '{' {
			switch strings.ToLower(name[1 : n-1]) {
			case "puuid", "encryptedpuuid", "summonerid", "encryptedsummonerid", "accountid", "encryptedaccountid":
				return value
			}
		}
		if template != "" {
			template = "/" + template
		}
		if path != "" {
			path = "/" + path
		}
	}
	return ""
}

// tryOtherKey decides whether a call that its key could not serve is tried on
// another one, and notes what the answer says of ids and keys. elsewhere is the
// key that the limiter proposes, if any.
func (c *call) tryOtherKey(p Permit, resp *http.Response, elsewhere *held) bool {
	l, k := c.t.Limiter, c.options.choice
	if resp == nil || p.key == nil {
		return false
	}
	undecryptable := false
	if resp.StatusCode == http.StatusBadRequest {
		text := peek(resp)
		if strings.Contains(text, "unknown apikey") { // R18
			elsewhere = p.deny(c.route, resp.StatusCode)
		}
		undecryptable = strings.Contains(text, "exception decrypting") // R17
	}
	if k == nil {
		return false
	}
	if k.id != 0 && (resp.StatusCode/100 == 2 || k.known && !undecryptable) {
		l.ids17.put(k.id, p.key.id)
	}
	switch {
	case c.options.Key != (Key{}):
	case undecryptable:
		k.failed = append(k.failed, p.key)
		if next := l.nextOf(c.route, &c.options, k.failed); next != nil {
			k.only, k.known = next, false
			return true
		}
	case elsewhere != nil && !k.moved && !k.known:
		k.only, k.moved = elsewhere, true
		return true
	}
	return false
}

// nextOf returns the first key of a call's group that is any good, but for some.
func (l *Limiter) nextOf(r route.Route, o *Options, but []*held) *held {
	l.mu.Lock()
	defer l.mu.Unlock()
search:
	for _, h := range l.keys.Load().groups[l.grouping.of(r, o)] {
		for _, b := range but {
			if b.id == h.id {
				continue search
			}
		}
		if l.machine.KeyHealth(h.id).Good() {
			return h
		}
	}
	return nil
}

// maxPeek is how much of a 400's body is looked at.
const maxPeek = 4 << 10

// peek returns the beginning of a body in lower case, and leaves the body whole.
func peek(resp *http.Response) string {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPeek))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(data), rest), resp.Body}
	if strings.EqualFold(first(resp.Header, "Content-Encoding"), "gzip") {
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, _ = io.ReadAll(io.LimitReader(z, maxPeek)) // as far as it goes
		}
	}
	return strings.ToLower(string(data))
}

// idMemory knows which key gave which id, of the 100,000 or so put last. The
// zero value is not ready: use newIDMemory.
type idMemory struct {
	seed       maphash.Seed
	mu         sync.Mutex
	young, old map[uint64]int // hash of an id → id of a key
}

const maxIDs = 50_000 // in each of the two

func newIDMemory() *idMemory {
	return &idMemory{seed: maphash.MakeSeed(), young: map[uint64]int{}}
}

func (m *idMemory) hash(id string) uint64 { return max(1, maphash.String(m.seed, id)) }

func (m *idMemory) get(id uint64) (key int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key, ok = m.young[id]; ok {
		return key, true
	}
	key, ok = m.old[id]
	return key, ok
}

func (m *idMemory) put(id uint64, key int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(id, key)
}

// add notes an id among the young; when they are too many, they become the old
// ones, and the old ones are forgotten.
func (m *idMemory) add(id uint64, key int) {
	if len(m.young) >= maxIDs {
		m.old, m.young = m.young, make(map[uint64]int)
	}
	m.young[id] = key
}
