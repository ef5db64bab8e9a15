// Package replicas holds the tests of several relays on one key: real
// processes, a real redis-server, and a simulated edge whose counters are the
// judge. There is nothing in it to use.
//
//   - rig_test.go: the edge, the store, the relays and their callers.
//   - network_test.go: what lies between a relay and its store, with all that can
//     go wrong there.
//   - share_test.go: use of the limit, fairness, priority.
//   - fault_test.go, store_test.go, clock_test.go, failover_test.go,
//     cluster_test.go: faults of
//     replicas, of the store, of the way between them.
//   - cost_test.go: what a call costs the store.
//   - chaos_proxy_test.go, chaos_test.go: connections of clients, to Riot and to the
//     store that are held up, dripped, cut, reset, half-closed or swallowed.
//   - mixed_test.go: clients of all kinds, and what a relay holds.
//   - hours_test.go: all of that for an hour, which make soak runs.
//
// Each test prints what it measured. With -long the repeats are made that take
// minutes:
//
//	go test ./internal/replicas -v
//	go test ./internal/replicas -v -long -timeout 30m
package replicas
