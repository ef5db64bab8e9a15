package riftrelay

import "riftrelay/internal/limit"

// LimitKind names what a 429 of Riot's, or the cool-down after it, is about. It
// is Riot's word (X-Rate-Limit-Type), "server" included, or "none" for a 429
// without one. It is empty where there was no 429.
type LimitKind string

// The kinds that Riot documents, and LimitOther for a word that this version
// does not know.
const (
	LimitApplication LimitKind = "application"
	LimitMethod      LimitKind = "method"
	LimitService     LimitKind = "service"
	LimitOther       LimitKind = "other"
)

func limitKind(k limit.Kind) LimitKind { return LimitKind(k.String()) }
