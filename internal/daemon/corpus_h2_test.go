package daemon

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Step is one line of an HTTP/2 case.
type h2Step struct {
	word  string   // h, request, send, data or frame
	args  []string // escapes are resolved, macros aren't
	times int
}

// readStep reads a line like "request GET $get" or "*100 frame 6 0 0 12345678".
func readStep(word, rest string) (s h2Step, err error) {
	s.times = 1
	if n, found := strings.CutPrefix(word, "*"); found {
		if s.times, err = strconv.Atoi(n); err != nil {
			return s, err
		}
		word, rest, _ = strings.Cut(rest, " ")
	}
	parts, known := map[string]int{"h": 2, "request": 2, "send": 1, "data": 2, "frame": 4}[word]
	if !known {
		return s, fmt.Errorf("unknown word %q", word)
	}
	s.word, s.args = word, strings.SplitN(rest, " ", parts)
	for len(s.args) < parts {
		s.args = append(s.args, "")
	}
	for i := range s.args {
		if s.args[i], err = unescape(s.args[i]); err != nil {
			return s, err
		}
	}
	return s, nil
}

// h2Sender writes the steps of a case.
type h2Sender struct {
	f      *http2.Framer
	enc    *hpack.Encoder
	block  bytes.Buffer
	stream uint32
	fill   func(string) string
	way    way
	id     string
}

func (s *h2Sender) field(name, value string) error {
	return s.enc.WriteField(hpack.HeaderField{Name: name, Value: s.fill(value)})
}

// request begins a header block as browsers do.
func (s *h2Sender) request(verb, path string) error {
	for _, h := range [][2]string{{":method", verb}, {":scheme", "https"}, {":authority", s.way.host}, {":path", path}, {"user-agent", s.id}} {
		if err := s.field(h[0], h[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *h2Sender) headers(ended bool) error {
	defer s.block.Reset()
	s.stream += 2
	const most = 16 << 10 // of a frame
	first := s.block.Next(most)
	err := s.f.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, BlockFragment: first, EndStream: ended, EndHeaders: s.block.Len() == 0})
	for err == nil && s.block.Len() > 0 {
		next := s.block.Next(most)
		err = s.f.WriteContinuation(s.stream, s.block.Len() == 0, next)
	}
	return err
}

func (s *h2Sender) do(step h2Step) error {
	a := step.args
	switch step.word {
	case "h":
		return s.field(a[0], a[1])
	case "request":
		return s.request(a[0], a[1])
	case "send":
		return s.headers(a[0] == "end")
	case "data":
		return s.f.WriteData(s.stream, a[0] == "end", []byte(a[1]))
	}
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(a[i], 10, 31); err != nil {
			return err
		}
	}
	return s.f.WriteRawFrame(http2.FrameType(n[0]), http2.Flags(n[1]), uint32(n[2]), []byte(a[3]))
}

// all writes the steps, and a polite request behind them.
func (s *h2Sender) all(conn net.Conn, steps []h2Step) error {
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return err
	}
	if err := s.f.WriteSettings(); err != nil {
		return err
	}
	for _, step := range steps {
		for range step.times {
			if err := s.do(step); err != nil {
				return err
			}
		}
	}
	if err := s.request("GET", "$base/lol/tournament/v5/codes/marker"); err != nil {
		return err
	}
	return s.headers(true)
}

// exchangeFrames runs an HTTP/2 case. It returns how each stream ended, in order,
// the polite request's last; or that the connection did, if it did.
func (c *corpusCase) exchangeFrames(conn net.Conn, w way) ([]string, error) {
	defer conn.Close()
	streams := 1
	for _, step := range c.frames {
		if step.word == "send" {
			streams += step.times
		}
	}
	s := &h2Sender{f: http2.NewFramer(conn, nil), way: w, id: "case-" + c.name}
	s.stream--
	s.f.AllowIllegalWrites = true
	s.fill = func(text string) string { return w.fill(text, c.name) }
	s.enc = hpack.NewEncoder(&s.block)
	written := make(chan error, 1)
	go func() { written <- s.all(conn, c.frames) }()
	defer func() { conn.Close(); <-written }()

	f := http2.NewFramer(nil, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	ended := map[uint32]string{}
	status := map[uint32]string{}
	for len(ended) < streams {
		frame, err := f.ReadFrame()
		if err != nil {
			return []string{"closed"}, nil
		}
		id := frame.Header().StreamID
		if int(id) >= 2*streams && frame.Header().Type != http2.FrameGoAway {
			continue // a frame of the case's own opened it
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if status[id] == "" {
				status[id] = h2Answer(frame)
			}
			if frame.StreamEnded() {
				ended[id] = status[id]
			}
		case *http2.DataFrame:
			if bytes.Contains(bytes.ToUpper(frame.Data()), []byte("CANARY")) {
				return nil, fmt.Errorf("the answer has a secret: %q", frame.Data())
			}
			if frame.StreamEnded() {
				ended[id] = status[id]
			}
		case *http2.RSTStreamFrame:
			if ended[id] == "" {
				ended[id] = strings.TrimSpace(status[id] + " reset")
			}
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				return []string{"goaway " + frame.ErrCode.String()}, nil
			}
		}
	}
	var ids []uint32
	for id := range ended {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var answers []string
	for _, id := range ids {
		answers = append(answers, ended[id])
	}
	return answers, nil
}

// h2Answer is an answer's status, and the reason of the relay's own.
func h2Answer(frame *http2.MetaHeadersFrame) string {
	answer := frame.PseudoValue("status")
	for _, h := range frame.RegularFields() {
		if strings.Contains(strings.ToUpper(h.Value), "CANARY") {
			return answer + " with a secret"
		}
		if h.Name == "x-riftrelay-reason" {
			answer += " " + h.Value
		}
	}
	return answer
}
