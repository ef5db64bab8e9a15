package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"riftrelay/internal/config"
	"riftrelay/internal/limit"
	"riftrelay/internal/metrics"
	"riftrelay/redisstore"
)

// newStore connects to the store that all replicas share; nil without one. A
// server that is away now is no error: the relay goes on within its share.
func newStore(s *config.Settings, log *slog.Logger, meters *metrics.Metrics) (limit.Store, error) {
	if s.StoreURL == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	redisstore.LogTo(log)
	store, err := redisstore.New(ctx, redisstore.Options{URL: s.StoreURL, OnCall: meters.Store()})
	if err != nil {
		return nil, fmt.Errorf("STORE_URL: %w", err)
	}
	return store, nil
}

func closeStore(s limit.Store) {
	if s != nil {
		_ = s.Close() // whatever it says, it is not used any longer
	}
}

// replicaName tells replicas apart in logs and in the store: the machine's or
// the container's name, and the process.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "relay"
	}
	return fmt.Sprintf("%.40s-%d-%x", host, os.Getpid(), time.Now().UnixNano()&0xffff)
}
