package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"riftrelay"
)

// Connect is what CONNECT leads to: hosts of the API, which the relay itself
// speaks for, and a list of others, for which it only passes bytes.
type Connect struct {
	// Terminate takes over a connection whose client has been told to speak TLS
	// with name, "euw1.api.riotgames.com", and serves what comes. Required.
	Terminate func(c net.Conn, name string)

	// Tunnels are the others. Nil means none.
	Tunnels *Tunnels
}

// serveConnect answers CONNECT. What is refused is told to the observer like a
// refused call; what is served shows by the calls within, or not at all.
func (h *Handler) serveConnect(w http.ResponseWriter, r *http.Request, c *call) {
	name, ours, err := h.destination(r)
	if err == nil && !ours {
		err = h.admitTunnel(r)
	}
	var there net.Conn
	if err == nil && !ours {
		there, err = h.connect.Tunnels.reach(r.Context(), name)
	}
	if err != nil {
		c.url.Host = name
		defer h.finish(r, c)
		h.refuse(w, r, c, err)
		return
	}
	here, err := established(w)
	if err != nil { // the client is gone
		if there != nil {
			h.connect.Tunnels.release(there)
		}
		return
	}
	if ours {
		h.connect.Terminate(here, name)
		return
	}
	h.connect.Tunnels.join(name, here, there)
}

// destination reads what CONNECT asks for, and whether the relay speaks for it.
func (h *Handler) destination(r *http.Request) (name string, ours bool, err error) {
	refuse := func(why string) (string, bool, error) {
		return "", false, invalidRoute(http.StatusForbidden, "CONNECT to "+showName(r.RequestURI)+" is not allowed"+why)
	}
	if r.TLS != nil {
		return refuse(" within TLS")
	}
	if r.ContentLength != 0 {
		return refuse(" with a body")
	}
	name, found := strings.CutSuffix(strings.ToLower(r.RequestURI), ":443")
	if !found {
		return refuse("; allowed: port 443, as in euw1" + domain + ":443")
	}
	if h.connect.Tunnels.has(name) {
		return name, false, nil
	}
	if _, n := readName(name); n == riotName {
		if err := h.Serves(name); err != nil {
			return refuse(": " + problem(err).Detail)
		}
		return name, true, nil
	}
	return refuse("; allowed: " + allowedNames + " and the hosts of TUNNEL_HOSTS")
}

// established tells the client that it is connected, and takes the connection
// over, with whatever the client has sent too early.
func established(w http.ResponseWriter) (net.Conn, error) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	early, err := early(buffered.Reader)
	if err == nil {
		_, err = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	if len(early) > 0 {
		return &begun{Conn: c, begin: early}, nil
	}
	return c, nil
}

// early returns what a reader has in its buffer.
func early(r *bufio.Reader) ([]byte, error) {
	b, err := r.Peek(r.Buffered())
	return append([]byte(nil), b...), err
}

// begun is a connection of which some bytes have been read.
type begun struct {
	net.Conn
	begin []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.begin) > 0 {
		n := copy(p, b.begin)
		b.begin = b.begin[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// NetConn returns the connection below.
func (b *begun) NetConn() net.Conn { return b.Conn }

// CloseWrite says to the other side that nothing more will come.
func (b *begun) CloseWrite() error { return closeWrite(b.Conn) }

// closeWrite ends one direction, or all if the connection can't do that.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// tooMany is the refusal of one more tunnel.
func tooMany(most int) error {
	return &riftrelay.RejectedError{
		Reason: riftrelay.ReasonQueueFull, RetryAfter: time.Second,
		Detail: "there are " + strconv.Itoa(most) + " tunnels, and no room for another",
	}
}

// isPrivate reports whether a connection failed for where it would have gone.
func isPrivate(err error) bool { return errors.Is(err, errNotPublic) }
