package riftrelay

import "riftrelay/internal/limit"

// Store shares limits between replicas: see Config.Store. Package redisstore
// makes one. Its methods are the engine's own, so no other package can.
type Store interface{ limit.Store }
