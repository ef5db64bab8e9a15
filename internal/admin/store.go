package admin

import "strings"

// Store is the store that all replicas share.
type Store struct {
	Replica  string  `json:"replica"`  // this one
	Replicas int     `json:"replicas"` // that live, this one among them
	Trip     Seconds `json:"trip_seconds"`
	Away     string  `json:"away"` // why it can't be reached; empty while it can
	For      Seconds `json:"away_seconds"`
	Alone    bool    `json:"alone"` // this replica goes on within its share of the limits

	Elsewhere []string `json:"elsewhere,omitempty"` // parts of the store with other relays in them, which share no limits with this one
}

func (p *printer) store(s *Store) {
	if s == nil {
		return
	}
	if s.Away == "" {
		noun := "replicas"
		if s.Replicas == 1 {
			noun = "replica"
		}
		p.printf("store    %s  %d %s, %s there and back\n", p.style("32", "up"), s.Replicas, noun, inWords(s.Trip))
		if len(s.Elsewhere) > 0 {
			p.printf("         %s  relays there share no limits with this one\n", p.style("31", strings.Join(s.Elsewhere, "; ")))
		}
		return
	}
	p.printf("store    %s  for %s: %s; ", p.style("31", "away"), inWords(s.For), s.Away)
	switch {
	case !s.Alone:
		p.WriteString("nothing is sent\n")
	case s.Replicas > 1:
		p.printf("going on within the share of one of %d replicas\n", s.Replicas)
	default:
		p.WriteString("going on as the only replica\n")
	}
}
