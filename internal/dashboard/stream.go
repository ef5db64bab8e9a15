package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// frame is what one sample brings to viewers. They wait for it one after
// another, each at his own speed: a slow one keeps the frames that he has yet
// to read, but not for longer than he may take for one.
type frame struct {
	ready chan struct{}
	text  []byte // once ready
	next  *frame
}

func newFrame() *frame { return &frame{ready: make(chan struct{})} }

const (
	mostViewers = 64
	// writeWithin is how long a viewer may take for what is written to him.
	writeWithin = 5 * time.Second
)

// publish returns viewers their next frame. d.mu is held.
func (d *Dashboard) publish(body []byte) {
	events := d.feed.after(d.told)
	if n := len(events); n > 0 {
		d.told = events[n-1].N
	}
	b := make([]byte, 0, len(body)+256)
	b = append(b, "event: tick\ndata: {"...)
	b = append(b, body...)
	b = append(b, `,"events":`...)
	b = append(b, encode(events)...)
	b = append(b, "}\n\n"...)
	f := d.tail
	f.text, f.next = b, newFrame()
	d.tail = f.next
	close(f.ready)
}

// join takes a viewer in, if there is room. He is told hello at once, and then
// everything from frame f on.
func (d *Dashboard) join(build string) (hello []byte, f *frame, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closed:
		return nil, nil, false
	default:
	}
	if d.viewers == mostViewers {
		return nil, nil, false
	}
	if d.hello == nil {
		d.hello = d.greet(build)
	}
	d.viewers++
	d.streams.Add(1)
	return d.hello, d.tail, true
}

// greet writes all that there is to know. d.mu is held.
func (d *Dashboard) greet(build string) []byte {
	if d.viewers == 0 {
		d.told = 0
	}
	events := d.feed.after(0)
	if d.viewers > 0 {
		// What is newer comes to everybody with the next frame.
		for len(events) > 0 && events[len(events)-1].N > d.told {
			events = events[:len(events)-1]
		}
	} else if n := len(events); n > 0 {
		d.told = events[n-1].N
	}
	relay := ""
	if d.options.Relay != nil {
		relay = d.options.Relay()
	}
	b := []byte("retry: 1000\nevent: hello\ndata: {")
	for _, field := range [...][2]string{{"build", build}, {"boot", d.boot}, {"version", d.options.Version}, {"relay", relay}} {
		b = append(b, '"')
		b = append(b, field[0]...)
		b = append(b, `":`...)
		b = append(appendText(b, field[1]), ',')
	}
	b = append(strconv.AppendBool(append(b, `"explorer":`...), d.options.Explorer), ',')
	b = append(strconv.AppendBool(append(b, `"metrics":`...), d.options.Metrics), ',')
	b = d.all(b)
	b = append(b, `,"events":`...)
	b = append(b, encode(events)...)
	return append(b, "}\n\n"...)
}

func (d *Dashboard) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.viewers--
	d.streams.Done()
}

// stream serves one viewer until he goes, reads too slowly, or the relay ends.
func (d *Dashboard) stream(build string, w http.ResponseWriter, r *http.Request) {
	hello, f, ok := d.join(build)
	if !ok {
		http.Error(w, fmt.Sprintf("the relay ends, or as many pages are open as may: %d", mostViewers), http.StatusServiceUnavailable)
		return
	}
	defer d.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // for a proxy that would hold it back
	control := http.NewResponseController(w)
	write := func(text []byte) bool {
		// Where there are no deadlines, as in some tests, there are none.
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	for text := hello; write(text); f = f.next {
		select {
		case <-f.ready:
			text = f.text
		case <-r.Context().Done():
			return
		case <-d.closed:
			write([]byte("event: bye\ndata: {}\n\n"))
			return
		}
	}
}

// windows tells the past of one row's windows.
func (d *Dashboard) windows(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d.mu.Lock()
	b := []byte(`{"windows":[`)
	if row := d.rows[name{q.Get("key"), q.Get("host"), q.Get("method")}]; row != nil {
		for i := range row.past {
			if i > 0 {
				b = append(b, ',')
			}
			p := &row.past[i]
			b = append(appendText(append(b, `{"kind":`...), p.kind), `,"window":`...)
			b = append(strconv.AppendInt(b, p.window.Milliseconds(), 10), `,"past":`...)
			b = append(p.past.appendJSON(b), '}')
		}
	}
	d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(append(b, "]}\n"...))
}

// ownPage keeps pages of other origins from taking the places of viewers; they
// can't read what they get.
func ownPage(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
			next(w, r)
		default:
			http.Error(w, "the call comes from a page of another origin; allowed: the relay's own page, and programs", http.StatusForbidden)
		}
	}
}
