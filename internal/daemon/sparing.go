package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sparing logs the first event of a cause, and then once a minute how many there
// were more: whoever can make the relay log could otherwise fill its disk. The
// causes are words of ours, so there are few.
type sparing struct {
	log *slog.Logger
	mu  sync.Mutex
	by  map[string]*silence
}

// silence is how many events of a cause weren't logged.
type silence struct{ more int }

// quietFor is the time between two lines of a cause.
const quietFor = time.Minute

func (s *sparing) say(level slog.Level, cause, message string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.by[cause]; q != nil {
		q.more++
		return
	}
	if s.by == nil {
		s.by = make(map[string]*silence)
	}
	s.by[cause] = &silence{}
	s.log.Log(context.Background(), level, message, args...)
	time.AfterFunc(quietFor, func() { s.summarise(level, cause, message) })
}

// summarise ends a minute. One without events ends the silence too.
func (s *sparing) summarise(level slog.Level, cause, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.by[cause]
	if q.more == 0 {
		delete(s.by, cause)
		return
	}
	s.log.Log(context.Background(), level, message, "more", q.more, "within", quietFor.String())
	q.more = 0
	time.AfterFunc(quietFor, func() { s.summarise(level, cause, message) })
}
