package redisstore

import (
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// link is the connections to the server.
type link struct {
	name    string   // without a password
	secrets []string // that no text may contain
	dial    func() redis.UniversalClient
	state   *linkState
}

type linkState struct {
	mu      sync.Mutex
	client  redis.UniversalClient
	renewed chan struct{} // closed when client is replaced
	closed  bool
}

func newLink(o Options) (link, error) {
	switch {
	case o.Client != nil && o.URL != "":
		return link{}, errors.New("redisstore: both URL and Client are set; allowed: one of them")
	case o.Client != nil:
		if err := checkClient(o.Client); err != nil {
			return link{}, err
		}
		return link{name: "a client of the caller's", state: &linkState{client: o.Client, renewed: make(chan struct{})}}, nil
	case o.URL == "":
		return link{}, errors.New("redisstore: neither URL nor Client is set")
	}
	a, err := ParseURL(o.URL)
	if err != nil {
		return link{}, err
	}
	trusted, err := a.authorities()
	if err != nil {
		return link{}, err
	}
	dial := func() redis.UniversalClient { return a.client(o.Timeout, trusted) }
	return link{
		name: a.String(), secrets: a.secrets(), dial: dial,
		state: &linkState{client: dial(), renewed: make(chan struct{})},
	}, nil
}

// checkClient refuses clients of which a call could hang.
func checkClient(c redis.UniversalClient) error {
	hangs := false
	switch c := c.(type) {
	case *redis.Client:
		hangs = !c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		hangs = !c.Options().ContextTimeoutEnabled
	}
	if hangs {
		return errors.New("redisstore: Client's ContextTimeoutEnabled is false; allowed: true")
	}
	return nil
}

func (l *link) client() redis.UniversalClient {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return l.state.client
}

// renewals returns a channel that is closed when the client is replaced.
func (l *link) renewals() <-chan struct{} {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return l.state.renewed
}

// renew closes all connections and begins anew. A caller's own client is left
// as it is.
func (l *link) renew() {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	if l.dial == nil || l.state.closed {
		return
	}
	_ = l.state.client.Close() // it isn't used any longer
	l.state.client = l.dial()
	close(l.state.renewed)
	l.state.renewed = make(chan struct{})
}

func (l *link) close() error {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	l.state.closed = true
	if l.dial == nil {
		return nil
	}
	return l.state.client.Close()
}
