# What people run by hand. CI runs .ci/run, which does all of the first three.

.PHONY: test lint bench long soak docs deploy newcomer weight mutants

# The README's test command with what CI adds to it.
test:
	go test -race -shuffle=on ./...

# The first run builds golangci-lint, a minute or so on two cores.
lint:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	go tool -modfile=tools/go.mod golangci-lint run ./...

# Figures to quote. COUNT=10 and benchstat to compare two commits.
bench:
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),1) ./...

# 24 virtual hours for each set of limits with all that can go wrong; then
# replicas killed × 20, Sentinel failed over × 5, the store away for a minute; then
# everything again, many times, each time in another order.
long:
	go test . -run 'TestSoak|TestConnectionEndsAtAnEdgeProxy' -v -timeout 1h -soak 24
	go test ./internal/replicas -v -timeout 1h -long
	go test -race -shuffle=on -count $(or $(COUNT),20) -timeout 2h ./...

# Two relays, a store and a simulated Riot for an hour, with faults of all kinds: a line a minute and a summary.
soak:
	go test ./internal/replicas -run 'TestHours$$' -v -soak $(or $(FOR),60m) -timeout 24h

# Dashboard, alerts, compose file, image, unit, chart, release, and every command of the docs.
deploy:
	cd deploy/check && go test ./...

# The README's first lines in an empty home, and the seconds that they take.
newcomer:
	deploy/newcomer.sh

# Writes docs/settings.md and .env.example from the declarations of the settings.
docs:
	go test ./internal/config -update

# What each dependency adds to the program, for docs/dependencies.md.
weight:
	go -C tools/proof run ./weight

# Seeded faults, each of which the tests must notice: see tools/proof/mutants.
mutants:
	go -C tools/proof run ./mutants
