package daemon

import (
	"context"
	"log/slog"

	"riftrelay"
)

// refusals log that calls of clients are refused which Riot's limits or the keys leave no room for: the first one for a
// reason, then once a minute how many there were more.
type refusals struct{ log *sparing }

func (f *refusals) hooks() riftrelay.Hooks { return riftrelay.Hooks{Admission: f.admission} }

func (f *refusals) admission(_ context.Context, e riftrelay.AdmissionEvent) {
	if e.Outcome != riftrelay.OutcomeRejected {
		return
	}
	switch e.Reason {
	case riftrelay.ReasonQueueFull, riftrelay.ReasonDeadline, riftrelay.ReasonTimeout, riftrelay.ReasonNoKey:
		f.log.say(slog.LevelInfo, string(e.Reason), "calls are refused: "+string(e.Reason), "host", e.Route.Host, "method", e.Route.Method.Template)
	default: // the call is wrong, or the relay stops
	}
}
