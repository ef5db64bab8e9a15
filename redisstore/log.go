package redisstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo has what the Redis client says by itself, of connections that broke for
// one, go to a logger at debug level. Without it the client writes to stderr.
// It holds for the whole process, also for clients of others: so it is for a
// program's beginning, not for a library's.
func LogTo(l *slog.Logger) { redis.SetLogger(clientLog{l}) }

type clientLog struct{ to *slog.Logger }

// Printf is what the client calls.
func (c clientLog) Printf(ctx context.Context, format string, args ...any) {
	if c.to.Enabled(ctx, slog.LevelDebug) {
		c.to.DebugContext(ctx, "the store's client", "says", fmt.Sprintf(format, args...))
	}
}
