package riftrelay

import (
	"io"
	"net/http"

	"riftrelay/route"
)

// outgoing makes the request that goes to Riot.
func (a *attempt) outgoing() error {
	c := a.call
	req, out, u, to := c.req, &a.out, &a.url, &c.to
	*out, *u = *req, *req.URL
	u.Scheme, u.Host, u.User, u.Path, u.RawPath = to.scheme, to.dial, nil, "", ""
	u.Opaque = to.prefix + c.path // R23: the escaped path, byte for byte
	u.Fragment, u.RawFragment = "", ""
	out.URL, out.Host = u, to.host
	out.RequestURI = ""
	out.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		// R5: a player's token goes with RSO calls only, and never with a key.
		if name == "X-Riot-Token" || name == "Authorization" && c.route.Method.Auth != route.AuthRSO {
			continue
		}
		out.Header[name] = values
	}
	if a.framed = c.http2 && c.barewrite(); a.framed {
		out.Body = noContent{}
	}
	if c.body != nil {
		var err error
		if out.Body, err = c.body.reader(); err != nil {
			return err
		}
	}
	out.GetBody = nil // nothing is sent a second time below admission
	if key := a.permit.key; key != nil {
		a.token[0] = key.Value
		out.Header["X-Riot-Token"] = a.token[:]
	}
	return nil
}

// barewrite reports whether the call is a POST or the like without a body.
//
// Over HTTP/2, net/http sends such a request again by itself, after failures that
// Riot has not processed and after others that it may have, and doesn't tell which.
// With a body, though it is empty, net/http returns the failure instead: see
// takenBack. Over HTTP/1 an empty body would be chunks, so there it is none.
func (c *call) barewrite() bool { return c.body == nil && !repeatable(c.req) }

// noContent is a body of no bytes.
type noContent struct{}

func (noContent) Read([]byte) (int, error) { return 0, io.EOF }
func (noContent) Close() error             { return nil }
