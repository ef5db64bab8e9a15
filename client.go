package riftrelay

import "net/http"

// Client is an http.Client whose calls keep Riot's limits, and its Limiter.
// Close it when no more calls come.
type Client struct {
	*http.Client
	Limiter *Limiter
}

// NewClient makes a Client with a Transport of its own. To set more of it, make
// a Limiter with New, and a Transport around it. The error is New's.
func NewClient(cfg Config) (*Client, error) {
	l, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{&http.Client{Transport: &Transport{Limiter: l}}, l}, nil
}

// Close rejects what waits, and all further calls.
func (c *Client) Close() error {
	c.CloseIdleConnections()
	return c.Limiter.Close()
}
