package riftrelay

import "log/slog"

// LogChange writes the line of a change, as Config.Logger has it.
func LogChange(log *slog.Logger, e ChangeEvent) { changeLogger(log)(e) }
